from __future__ import annotations

import struct
from typing import Any

import pytest

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode

VARINT, FIXED64, BYTES = 0, 1, 2


def resolve(api_version: str, kind: str) -> Schema | None:
    return catalog.schema(*GroupVersion.parse(api_version), kind)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def entry(key: str, value: str | bytes) -> bytes:
    return field(1, key) + field(2, value)


def body(api_version: str, kind: str, raw: bytes, *more: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + b"".join(more)


def read(api_version: str, kind: str, raw: bytes) -> dict[str, Any]:
    found = decode.decode(body(api_version, kind, raw), resolve)
    assert (found.pop("apiVersion"), found.pop("kind")) == (api_version, kind)
    return found


def of_lease(spec: bytes) -> Any:
    return read("coordination.k8s.io/v1", "Lease", field(2, spec))["spec"]


def of_service_port(port: bytes) -> Any:
    return read("v1", "Service", field(2, field(1, port)))["spec"]["ports"][0]


def of_schema(schema: bytes) -> Any:
    version = field(1, "v1") + field(4, field(1, schema))
    found = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
    return found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


# The envelope.


def test_a_body_that_does_not_begin_as_kubernetes_does_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match="6b 38 73 00"):
        decode.decode(b'{"kind": "ConfigMap"}', resolve)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(errors.BadRequest, match='no kind "Widget" is registered for version "example'):
        decode.decode(body("example.com/v1", "Widget", b""), resolve)


def test_a_custom_kind_has_no_protobuf_form() -> None:
    with pytest.raises(errors.UnsupportedMediaType, match="application/json"):
        decode.decode(body("example.com/v1", "Widget", b""), lambda *_: Schema(type="object"))


def test_a_body_without_a_kind_leaves_it_to_the_caller() -> None:
    config_map = catalog.schema("", "v1", "ConfigMap")
    found = decode.decode(b"k8s\x00" + field(2, field(2, entry("a", "b"))), lambda *_: config_map)
    assert found == {"data": {"a": "b"}}


def test_an_envelope_may_hold_json() -> None:
    raw = b'{"apiVersion": "example.com/v1", "kind": "Widget"}'
    found = decode.decode(body("", "", raw, field(4, "application/json")), resolve)
    assert found == {"apiVersion": "example.com/v1", "kind": "Widget"}


@pytest.mark.parametrize(("number", "text"), [(3, "gzip"), (4, "text/plain")])
def test_an_object_that_is_packed_otherwise_is_refused(number: int, text: str) -> None:
    with pytest.raises(errors.BadRequest, match=text):
        decode.decode(body("v1", "ConfigMap", b"", field(number, text)), resolve)


def test_json_in_an_envelope_must_be_an_object() -> None:
    with pytest.raises(errors.BadRequest, match="no object"):
        decode.decode(body("", "", b"[]", field(4, "application/json")), resolve)


# Values.


def test_unset_fields_are_omitted_and_set_ones_stay() -> None:
    metadata = field(1, "") + field(7, 0) + field(8, b"")
    assert read("apps/v1", "Deployment", field(1, metadata) + field(2, field(1, 0))) == {"metadata": {}, "spec": {"replicas": 0}}


def test_times_are_written_as_in_json() -> None:
    metadata = field(8, field(1, 1893553445) + field(2, 999_999_999))
    assert read("v1", "Namespace", field(1, metadata)) == {"metadata": {"creationTimestamp": "2030-01-02T03:04:05Z"}}


def test_micro_times_have_six_digits() -> None:
    assert of_lease(field(3, field(1, -1) + field(2, 6_700))) == {"acquireTime": "1969-12-31T23:59:59.000006Z"}


@pytest.mark.parametrize("seconds", [-(2**63), 2**63 - 1, -62_135_596_801, 253_402_300_800])
def test_a_time_that_json_cannot_say_is_refused(seconds: int) -> None:
    with pytest.raises(errors.BadRequest, match=r"spec\.acquireTime: this time"):
        of_lease(field(3, field(1, seconds)))


@pytest.mark.parametrize("nothing", [b"", field(1, -62_135_596_800) + field(2, 0)])
def test_a_time_that_means_none_is_left_out(nothing: bytes) -> None:
    assert of_lease(field(3, nothing)) == {}


def test_early_years_have_four_digits() -> None:
    assert of_lease(field(3, field(1, -62_135_596_799))) == {"acquireTime": "0001-01-01T00:00:01.000000Z"}


def test_integers_are_signed() -> None:
    assert of_lease(field(2, -7)) == {"leaseDurationSeconds": -7}


def test_an_int_or_string_is_either() -> None:
    assert of_service_port(field(4, field(1, 0) + field(2, 80) + field(3, ""))) == {"targetPort": 80}
    assert of_service_port(field(4, field(1, 1) + field(2, 0) + field(3, "http"))) == {"targetPort": "http"}
    with pytest.raises(errors.BadRequest, match=r"spec\.ports\[0\]\.targetPort: 2 is not a type of an IntOrString"):
        of_service_port(field(4, field(1, 2)))


def test_bytes_are_base64() -> None:
    assert read("v1", "Secret", field(2, entry("a", b"\xff\x00"))) == {"data": {"a": "/wA="}}


def test_an_entry_of_a_map_may_lack_its_key_or_its_value() -> None:
    assert read("v1", "ConfigMap", field(2, b"") + field(2, field(1, "a"))) == {"data": {"": "", "a": ""}}


def test_a_list_within_a_map_is_unwrapped() -> None:
    extra = entry("scopes", field(1, "a") + field(1, "b")), entry("none", b"")
    found = read("authorization.k8s.io/v1", "SubjectAccessReview", field(2, b"".join(field(5, one) for one in extra)))
    assert found["spec"]["extra"] == {"scopes": ["a", "b"], "none": []}


def test_fields_of_an_inlined_message_are_the_owners() -> None:
    volume = field(1, "v") + field(2, field(2, field(1, "Memory")))
    found = read("v1", "Pod", field(2, field(1, volume)))
    assert found["spec"]["volumes"] == [{"name": "v", "emptyDir": {"medium": "Memory"}}]


def test_an_inlined_message_must_be_one() -> None:
    with pytest.raises(errors.BadRequest, match=r"spec\.volumes\[0\]: field 2 has the wrong wire type"):
        read("v1", "Pod", field(2, field(1, field(1, "v") + field(2, 1))))


@pytest.mark.parametrize("groups", [field(4, 1) + field(4, 2), field(4, varint(1) + varint(2)), field(4, 1) + field(4, varint(2))])
def test_a_list_of_numbers_may_be_packed(groups: bytes) -> None:
    found = read("v1", "Pod", field(2, field(14, groups)))
    assert found["spec"]["securityContext"]["supplementalGroups"] == [1, 2]


def test_a_message_in_parts_is_merged() -> None:
    found = read("v1", "ConfigMap", field(1, field(1, "a")) + field(1, field(3, "b")) + field(1, field(1, "c")))
    assert found == {"metadata": {"name": "c", "namespace": "b"}}


def test_invalid_utf8_is_repaired() -> None:
    assert read("v1", "ConfigMap", field(2, entry("a", b"caf\xc3"))) == {"data": {"a": "caf�"}}


def test_an_object_of_any_form_is_the_json_that_it_holds() -> None:
    assert read("apps/v1", "ControllerRevision", field(2, field(1, '{"spec": [1]}'))) == {"data": {"spec": [1]}}
    with pytest.raises(errors.BadRequest, match=r"data: .*JSON"):
        read("apps/v1", "ControllerRevision", field(2, field(1, "{")))


# Schemas of custom resources: choices that OpenAPI is silent about.


def test_schemas_may_be_within_schemas() -> None:
    text = field(5, "string")
    assert of_schema(field(29, entry("a", text))) == {"properties": {"a": {"type": "string"}}}
    assert of_schema(field(28, field(28, text))) == {"not": {"not": {"type": "string"}}}
    assert of_schema(field(30, field(2, text))) == {"additionalProperties": {"type": "string"}}
    assert of_schema(field(30, field(1, 1))) == {"additionalProperties": True}
    assert of_schema(field(30, field(1, 0))) == {"additionalProperties": False}
    assert of_schema(field(24, field(1, text))) == {"items": {"type": "string"}}
    assert of_schema(field(24, field(2, text) + field(2, b""))) == {"items": [{"type": "string"}, {}]}
    assert of_schema(field(32, entry("a", field(2, "b")))) == {"dependencies": {"a": ["b"]}}
    assert of_schema(field(32, entry("a", field(1, text)))) == {"dependencies": {"a": {"type": "string"}}}


def test_whole_numbers_are_integers_as_in_json() -> None:
    found = of_schema(double(9, 5.0) + double(11, 0.5) + double(19, 1e21))
    assert found == {"maximum": 5, "minimum": 0.5, "multipleOf": 1e21}
    assert isinstance(found["maximum"], int)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_number_that_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(errors.BadRequest, match="is not a number in JSON"):
        of_schema(double(9, value))


def test_defaults_and_enums_are_any_json() -> None:
    found = of_schema(field(8, field(1, '{"a": null}')) + field(20, field(1, "1")) + field(20, field(1, "null")))
    assert found == {"default": {"a": None}, "enum": [1, None]}


@pytest.mark.parametrize("wrap", [lambda inner: field(28, inner), lambda inner: field(30, field(2, inner))])
def test_what_is_nested_too_deep_is_refused(wrap: Any) -> None:
    schema = b""
    for _ in range(20):
        schema = wrap(schema)
    of_schema(schema)
    for _ in range(2000):
        schema = wrap(schema)
    with pytest.raises(errors.BadRequest, match="deeper than 100"):
        of_schema(schema)


# What is wrong.


def test_unknown_fields_are_skipped_and_reported() -> None:
    unknown: list[str] = []
    container = field(1, "c") + field(4000, "?") + double(4001, 1.5)
    raw = field(2, field(2, container)) + field(99, 1)
    found = decode.decode(body("v1", "Pod", raw), resolve, on_unknown=unknown.append)
    assert found["spec"] == {"containers": [{"name": "c"}]}
    assert unknown == ["spec.containers[0]: field 4000", "spec.containers[0]: field 4001", "io.k8s.api.core.v1.Pod: field 99"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (field(2, field(1, "3")), r"spec\.replicas: field 1 has the wrong wire type"),
        (field(2, 1), "spec: field 2 has the wrong wire type"),
        (field(1, field(1, 1)), r"metadata\.name: field 1 has the wrong wire type"),
        (field(1, field(11, 1)), r"metadata\.labels: field 11 has the wrong wire type"),
        (field(1, field(14, 1)), r"metadata\.finalizers: field 14 has the wrong wire type"),
        (field(1, field(11, b"\x0a\x05a")), r"metadata\.labels: a field of 5 bytes extends beyond the end"),
        (field(1, b"\x0a\x05a"), "metadata: a field of 5 bytes extends beyond the end"),
        (b"\x0a", "it ends within a number"),
        (b"\x00\x00", "0 is not a field number"),
        (b"\x0b\x0c", "wire type 3 is not supported"),
        (b"\xff" * 11, "a number is longer than 64 bits"),
    ],
)
def test_unreadable_values_are_refused_with_their_path(raw: bytes, message: str) -> None:
    with pytest.raises(errors.BadRequest, match=message):
        read("apps/v1", "Deployment", raw)
