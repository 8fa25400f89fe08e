from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.kinds.builtin import catalog
from probate.server.openapi import custom_definitions, protobuf
from probate.server.openapi.definitions import parts

CONFIG_MAP = catalog.definitions()["io.k8s.api.core.v1.ConfigMap"]["properties"]
SHARED = ("apiVersion", "kind", "metadata")
"""What every object has: it is described in the same words, whatever its kind."""
META = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1."
NAME = "com.example.stable.v1.CronTab"


def crd(schema: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True}
    if schema is not None:
        version["schema"] = {"openAPIV3Schema": schema}
    names = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"}
    spec = {"group": "stable.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "crontabs.stable.example.com"}, "spec": spec | more}


def with_field(field: dict[str, Any]) -> dict[str, Any]:
    return crd({"type": "object", "properties": {"spec": {"type": "object", "properties": {"it": field}}}})


def v2_field(field: dict[str, Any]) -> Any:
    return custom_definitions.v2_definitions(with_field(field))[NAME]["properties"]["spec"]["properties"]["it"]


def v3_field(field: dict[str, Any]) -> Any:
    return custom_definitions.v3_definitions(with_field(field))[NAME]["properties"]["spec"]["properties"]["it"]


def test_the_kind_has_its_schema_and_what_every_object_has() -> None:
    spec = {"type": "object", "description": "What to run.", "required": ["when"], "properties": {"when": {"type": "string"}}}
    written = {
        "type": "object",
        "description": "Runs things.",
        "required": ["spec"],
        "properties": {"spec": spec, "metadata": {"type": "object"}},
    }
    for made in (custom_definitions.v2_definitions(crd(written))[NAME], custom_definitions.v3_definitions(crd(written))[NAME]):
        assert made["description"] == "Runs things."
        assert made["required"] == ["spec"]
        assert made["properties"]["spec"] == spec
        assert {made["properties"][one]["type"] for one in ("apiVersion", "kind")} == {"string"}
        assert made["properties"]["metadata"]["$ref"] == META + "ObjectMeta"
        assert {name: made["properties"][name] for name in SHARED} == {name: CONFIG_MAP[name] for name in SHARED}
        assert made["x-kubernetes-group-version-kind"] == [{"group": "stable.example.com", "version": "v1", "kind": "CronTab"}]


def test_the_list_is_called_as_the_definition_says_and_holds_the_kind() -> None:
    names = {"plural": "crontabs", "kind": "CronTab", "listKind": "CronTabListing"}
    made = custom_definitions.v2_definitions(crd({"type": "object"}, names=names))["com.example.stable.v1.CronTabListing"]
    assert made["properties"]["items"]["items"] == {"$ref": "#/definitions/" + NAME}
    assert made["properties"]["metadata"]["$ref"] == META + "ListMeta"
    assert made["required"] == ["items"]
    assert made["x-kubernetes-group-version-kind"] == [{"group": "stable.example.com", "version": "v1", "kind": "CronTabListing"}]


def test_only_served_versions_are_described() -> None:
    versions = [
        {"name": name, "served": name != "v2", "schema": {"openAPIV3Schema": {"type": "object"}}} for name in ("v1", "v2", "v3")
    ]
    made = custom_definitions.v3_definitions(crd(None, versions=versions))
    assert {one for one in made if one.endswith("CronTab")} == {NAME, "com.example.stable.v3.CronTab"}


def test_a_kind_that_keeps_unknown_fields_lists_none_in_version_2() -> None:
    written = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    assert set(custom_definitions.v2_definitions(crd(written))[NAME]) == {"type", "x-kubernetes-group-version-kind"}
    assert set(custom_definitions.v3_definitions(crd(written))[NAME]["properties"]) == {"a", "apiVersion", "kind", "metadata"}
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert "properties" not in custom_definitions.v2_definitions(crd(plain, preserveUnknownFields=True))[NAME]
    assert "properties" not in custom_definitions.v2_definitions(crd(None))[NAME]


def test_an_object_that_keeps_unknown_fields_lists_none_in_version_2() -> None:
    field = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    assert v2_field(field) == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert v3_field(field) == field


def test_what_may_be_null_has_no_type_in_version_2() -> None:
    field = {"type": "object", "nullable": True, "description": "Maybe.", "properties": {"a": {"type": "string"}}}
    assert v2_field(field) == {"description": "Maybe."}
    assert v3_field(field) == field


def test_int_or_string_has_no_type_in_version_2() -> None:
    field = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert v2_field(field) == {"x-kubernetes-int-or-string": True}
    assert v3_field(field) == field


def test_logic_is_only_in_version_3() -> None:
    logic = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "allOf": [{"minProperties": 1}], "not": {"required": ["c"]}}
    field = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert v2_field(field | logic) == field
    assert v3_field(field | logic) == field | logic


def test_an_embedded_resource_has_a_head_of_its_own() -> None:
    field = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["spec"],
        "properties": {"spec": {"type": "object"}},
    }
    for made in (v2_field(field), v3_field(field)):
        assert set(made["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
        assert made["required"] == ["spec", "kind", "apiVersion"]
    assert "properties" not in v2_field(field | {"x-kubernetes-preserve-unknown-fields": True})


def test_limits_defaults_lists_and_rules_are_kept() -> None:
    field = {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-validations": [{"rule": "self.size() > 0"}],
        "items": {"type": "object", "properties": {"name": {"type": "string", "enum": ["a", "b"], "default": "a", "maxLength": 3}}},
    }
    assert v2_field(field) == field
    assert v3_field(field) == field


def test_keywords_without_an_openapi_equivalent_are_omitted() -> None:
    assert v3_field({"type": "string", "example": "a", "externalDocs": {"url": "u"}, "id": "i"}) == {"type": "string"}


def test_a_list_without_items_takes_any_in_version_2() -> None:
    assert v2_field({"type": "array"}) == {"type": "array", "items": {}}


fields = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object", "boolean"]),
            "nullable": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
            "default": st.none() | st.integers(-(2**63), 2**64 - 1) | st.text(),  # what JSON can be read into
            "minimum": st.integers(-5, 5),
            "oneOf": st.just([{"minLength": 1}]),
            "example": st.text(),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array"])},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "$ref", "x-b", "properties"]), inner),
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "nullable": st.booleans(),
            "not": inner,
            "anyOf": st.lists(inner, max_size=2),
            "x-kubernetes-preserve-unknown-fields": st.booleans(),
            "x-kubernetes-embedded-resource": st.booleans(),
        },
    ),
    max_leaves=10,
)


def all_nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for one in parts(schema):
        yield from all_nodes(one)


@given(fields)
def test_version_2_says_only_what_it_can_and_old_clients_can_read_it(field: dict[str, Any]) -> None:
    made = custom_definitions.v2_definitions(with_field(field))
    protobuf.encode({"definitions": made})  # refuses keys that version 2 does not have
    for node in (one for schema in made.values() for one in all_nodes(schema)):
        assert node.get("type") != "array" or "items" in node
        assert not (node.get("x-kubernetes-preserve-unknown-fields") and "properties" in node)
        assert node.get("properties") != {}


@given(fields)
def test_definitions_are_made_without_changing_what_was_written(field: dict[str, Any]) -> None:
    written, kept = with_field(field), repr(field)
    custom_definitions.v2_definitions(written)
    custom_definitions.v3_definitions(written)
    assert repr(field) == kept
