"""What is written is what Kubernetes writes, byte for byte, and is read as it was: every field of every built-in kind."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.kinds import omitempty
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode, encode
from support.protobuf_objects import Filler, whole_objects

RECORDED = json.loads((Path(__file__).parents[3] / "data" / "protobuf" / "kubectl-1.37.json").read_bytes())
META = "meta.k8s.io"


def answered_kinds() -> Iterator[tuple[str, str]]:
    """Everything that an answer may be."""
    yield from (("v1", "Status"), (f"{META}/v1", "PartialObjectMetadata"), (f"{META}/v1", "PartialObjectMetadataList"))
    yield f"{META}/v1beta1", "PartialObjectMetadataList"
    for resource in filter(lambda one: one.has_protobuf, catalog.load()):
        yield str(resource.group_version), resource.kind
        if "list" in resource.verbs:
            yield str(resource.group_version), f"{resource.kind}List"
        for part in resource.subresources:
            if not part.kind.endswith("Options"):
                yield str(GroupVersion(part.group or resource.group, part.version or resource.version)), part.kind


KINDS = sorted(set(answered_kinds()))


def read(body: bytes) -> dict[str, Any]:
    unknown: list[str] = []
    found = decode.decode(body, encode.schema, on_unknown=unknown.append)
    assert unknown == []
    return found


def written(object_: dict[str, Any]) -> bytes:
    body = encode.encode(object_)
    assert body is not None
    return body


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=lambda text: text)
def test_every_field_of_every_kind_is_read_as_it_was_written(api_version: str, kind: str) -> None:
    schema = encode.schema(api_version, kind)
    assert schema is not None
    whole = {"apiVersion": api_version, "kind": kind, **Filler().object(schema)}
    assert read(written(whole)) == whole


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=lambda text: text)
def test_empty_message_has_the_always_written_fields(api_version: str, kind: str) -> None:
    nothing = {"apiVersion": api_version, "kind": kind}
    assert read(written(nothing)) == with_what_is_always_written(nothing)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(whole_objects())
def test_what_was_written_is_read(thing: dict[str, Any]) -> None:
    assert read(written(thing)) == with_what_is_always_written(thing)


def with_what_is_always_written(object_: dict[str, Any]) -> Any:
    """What Go makes of the object. (Null cannot be told from what is not there.)"""
    made = copy.deepcopy(object_)
    schema = encode.schema(object_["apiVersion"], object_["kind"])
    assert schema is not None
    struct = omitempty.struct(schema)
    if struct is not None:
        struct.write(made)
    return without_nulls(made, schema)


def without_nulls(value: Any, schema: Schema) -> Any:
    """The value less null fields of structs: what is in the JSON of others, or in a list, is theirs."""
    if schema.items is not None:
        return [without_nulls(one, schema.items) for one in value]
    if schema.values is not None:
        return {key: without_nulls(one, schema.values) for key, one in value.items()}
    if not isinstance(value, dict) or not schema.properties:
        return value
    known = schema.properties
    kept = {name: one for name, one in value.items() if one is not None}
    return {name: without_nulls(one, known[name]) if name in known else one for name, one in kept.items()}


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["command"].removeprefix("kubectl "))
def test_kubectl_wrote_the_same_bytes(row: dict[str, Any]) -> None:
    body = base64.b64decode(row["body"])
    if b'"f:metadata": ' in body:  # this one was made by hand, with blanks that a server leaves out
        assert read(written(row["object"])) == row["object"]
    else:
        assert written(row["object"]) == body


def test_a_kind_without_a_protobuf_form_is_not_written() -> None:
    assert encode.encode({"apiVersion": "example.com/v1", "kind": "Widget"}) is None
    assert encode.encode({"apiVersion": f"{META}/v1", "kind": "Table"}) is None


@pytest.mark.parametrize(
    ("time", "is_micro", "expected"),
    [
        ("1970-01-01T00:00:00Z", False, b"\x08\x00\x10\x00"),
        ("1970-01-01T02:00:00+02:00", False, b"\x08\x00\x10\x00"),
        ("1969-12-31T23:59:59Z", False, b"\x08" + b"\xff" * 9 + b"\x01\x10\x00"),
        ("0001-01-01T00:00:00Z", False, b""),
        ("1970-01-01T00:00:01.999999Z", False, b"\x08\x01\x10\x00"),
        ("1970-01-01T00:00:01.000001Z", True, b"\x08\x01\x10\xe8\x07"),
    ],
)
def test_times_are_seconds_and_nanoseconds(time: str, is_micro: bool, expected: bytes) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    thing = {**lease, **({"spec": {"renewTime": time}} if is_micro else {"metadata": {"creationTimestamp": time}})}
    assert bytes([0x22 if is_micro else 0x42, len(expected)]) + expected in written(thing)


def test_maps_are_in_the_order_of_their_keys_and_lists_of_numbers_are_not_packed() -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "2", "a": "1", "é": "3", "Z": "0"}}
    places = [written(data).index(b"\x0a%b%b" % (bytes([len(key.encode())]), key.encode())) for key in ("Z", "a", "b", "é")]
    assert places == sorted(places)
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"securityContext": {"supplementalGroups": [1, 300, -1]}}}
    assert b"\x20\x01\x20\xac\x02\x20" + b"\xff" * 9 + b"\x01" in written(pod)


def test_an_event_of_a_watch_is_a_frame_with_the_whole_envelope_in_it() -> None:
    object_ = written({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    frame = encode.event(b"ADDED", object_)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert frame[4:] == b"\x0a\x05ADDED\x12" + bytes([len(object_) + 2]) + b"\x0a" + bytes([len(object_)]) + object_
