"""Which schemas are refused, and where the mistake is said to be."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.field_errors import FieldPath
from probate.api.structural.schema_check import check, is_structural

REQUIRED, FORBIDDEN, INVALID, UNSUPPORTED = (
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotSupported",
)
STRING = {"type": "string"}


def problems_of(field: dict[str, Any]) -> list[tuple[str, str]]:
    """Of a schema with one field, `a`; the paths are below that field."""
    found = check({"type": "object", "properties": {"a": field}}, FieldPath("S"))
    return [(one.field.removeprefix("S.properties[a].").replace("S.properties[a]", "."), one.reason) for one in found]


def root_problems(written: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.field, one.reason) for one in check(written, FieldPath("S"))]


@pytest.mark.parametrize(
    "field",
    [
        STRING,
        {"type": "array", "items": STRING},
        {"type": "object", "additionalProperties": STRING},
        {"type": "object", "additionalProperties": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}]},
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "properties": {"x": STRING}, "anyOf": [{"required": ["x"]}, {"properties": {"x": {"minLength": 1}}}]},
        {"type": "string", "default": "x", "enum": ["x"]},
        {"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "y"}}},
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "items": {"type": "object", "properties": {"k": STRING, "d": {"type": "integer", "default": 1}}, "required": ["k"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "d"],
        },
        {"type": "integer", "x-kubernetes-validations": [{"rule": "self == 1", "message": "no"}]},
        {"type": "string", "description": "d", "title": "t", "example": 1, "externalDocs": {"url": "u"}, "nullable": True},
    ],
)
def test_good_schemas(field: dict[str, Any]) -> None:
    assert problems_of(field) == []


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({}, [("type", REQUIRED)]),
        ({"properties": {"b": STRING}}, [("type", REQUIRED)]),
        ({"type": "array"}, [("items", REQUIRED)]),
        ({"type": "array", "items": {}}, [("items.type", REQUIRED)]),
        ({"type": "object", "additionalProperties": {}}, [("additionalProperties.type", REQUIRED)]),
        ({"type": "text"}, [("type", UNSUPPORTED)]),
        ({"type": "null"}, [("type", UNSUPPORTED), ("type", FORBIDDEN)]),
        ({"type": "object", "properties": {"b": STRING}, "additionalProperties": STRING}, [("additionalProperties", FORBIDDEN)]),
        ({"type": "object", "properties": {"b": STRING}, "additionalProperties": False}, [("additionalProperties", FORBIDDEN)]),
        ({"type": "array", "items": STRING, "uniqueItems": True}, [("uniqueItems", FORBIDDEN)]),
        ({"type": "object", "$ref": "#/x"}, [("$ref", FORBIDDEN)]),
        ({"type": "object", "definitions": {"x": STRING}}, [("definitions", FORBIDDEN)]),
        ({"type": "object", "patternProperties": {"x": STRING}}, [("patternProperties", FORBIDDEN)]),
        ({"type": "array", "items": [STRING]}, [("items", FORBIDDEN)]),
        ({"type": "string", "pattern": "(?=x)"}, [("pattern", INVALID)]),
        ({"x-kubernetes-preserve-unknown-fields": False, "type": "object"}, [("x-kubernetes-preserve-unknown-fields", INVALID)]),
        ({"type": "string", "anyOf": [{"type": "string"}]}, [("anyOf[0].type", FORBIDDEN)]),
        ({"type": "string", "not": {"description": "x"}}, [("not.description", FORBIDDEN)]),
        ({"type": "string", "allOf": [{"default": "x"}]}, [("allOf[0].default", FORBIDDEN)]),
        ({"type": "string", "oneOf": [{"nullable": True}]}, [("oneOf[0].nullable", FORBIDDEN)]),
        (
            {"type": "object", "properties": {"x": STRING}, "anyOf": [{"properties": {"x": {"type": "string"}}}]},
            [("anyOf[0].properties[x].type", FORBIDDEN)],
        ),
        ({"type": "object", "allOf": [{"additionalProperties": {"minLength": 1}}]}, [("allOf[0].additionalProperties", FORBIDDEN)]),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, [("properties", REQUIRED)]),
        (
            {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            [("type", REQUIRED)],
        ),
        (
            {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
            [("x-kubernetes-preserve-unknown-fields", INVALID)],
        ),
        (
            {"x-kubernetes-int-or-string": True, "allOf": [{"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}]},
            [("allOf[0].allOf[0].anyOf[0].type", FORBIDDEN), ("allOf[0].allOf[0].anyOf[1].type", FORBIDDEN)],
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}},
                    }
                },
            },
            [("properties[metadata].properties[labels].additionalProperties.default", FORBIDDEN)],
        ),
        ({"type": "string", "x-kubernetes-list-type": "set"}, [("type", INVALID)]),
        ({"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"}, [("x-kubernetes-list-type", UNSUPPORTED)]),
        ({"type": "object", "x-kubernetes-map-type": "bag"}, [("x-kubernetes-map-type", UNSUPPORTED)]),
        ({"type": "array", "items": STRING, "x-kubernetes-list-map-keys": ["k"]}, [("x-kubernetes-list-type", REQUIRED)]),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            [("x-kubernetes-list-map-keys", REQUIRED)],
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            [("x-kubernetes-list-map-keys", INVALID)],
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": STRING}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            [("items.properties[k].default", REQUIRED)],
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "object"}}, "required": ["k"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            [("items.properties[k].type", INVALID)],
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            [("items.x-kubernetes-map-type", INVALID)],
        ),
        (
            {"type": "array", "items": {"type": "string", "nullable": True}, "x-kubernetes-list-type": "set"},
            [("items.nullable", FORBIDDEN)],
        ),
        ({"type": "string", "default": 1}, [("default", "FieldValueTypeInvalid")]),
        ({"type": "object", "default": {"x": 1}}, [("default", INVALID)]),
        (
            {"type": "object", "default": {"x": {"y": 1}}, "properties": {"x": {"type": "object", "properties": {"y": STRING}}}},
            [("default.x.y", "FieldValueTypeInvalid")],
        ),
        ({"type": "integer", "default": 1, "anyOf": [{"minimum": 5}]}, [("default", INVALID), ("default", INVALID)]),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "default": {"kind": "A"},
            },
            [("default.apiVersion", REQUIRED)],
        ),
        ({"type": "object", "x-kubernetes-validations": [{"rule": " "}]}, [("x-kubernetes-validations[0].rule", REQUIRED)]),
        (
            {
                "type": "object",
                "x-kubernetes-validations": [{"rule": "a\n&& b"}, {"rule": "a", "message": "b\nc"}, {"rule": "a", "reason": "x"}],
            },
            [
                ("x-kubernetes-validations[0].message", REQUIRED),
                ("x-kubernetes-validations[1].message", INVALID),
                ("x-kubernetes-validations[2].reason", UNSUPPORTED),
            ],
        ),
    ],
)
def test_bad_schemas(field: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems_of(field) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, [("S.type", REQUIRED)]),
        ({"type": "string"}, [("S.type", INVALID)]),
        ({"type": "object", "additionalProperties": STRING}, [("S.additionalProperties", FORBIDDEN)]),
        ({"type": "object", "properties": {"metadata": {"type": "object"}}}, []),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}},
            },
            [],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}},
            [("S.properties[metadata]", FORBIDDEN)],
        ),
        ({"type": "object", "properties": {"kind": {"type": "integer"}}}, [("S.properties[kind].type", INVALID)]),
        (
            {"type": "object", "properties": {"kind": {"type": "string", "default": "x"}}},
            [("S.properties[kind].default", FORBIDDEN)],
        ),
        (
            {"type": "object", "anyOf": [{"properties": {"x": {"minLength": 1}}}]},
            [("S.properties[x]", REQUIRED)],
        ),
        (
            {
                "type": "object",
                "allOf": [{"properties": {"metadata": {"required": ["name"]}}}],
                "properties": {"metadata": {"type": "object"}},
            },
            [("S.allOf[0].properties[metadata]", FORBIDDEN)],
        ),
        ({"type": "object", "$schema": "x"}, [("S", INVALID)]),
    ],
)
def test_the_root(written: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert root_problems(written) == expected


def test_two_problems_are_both_reported() -> None:
    found = root_problems({"type": "object", "properties": {"a": {}, "b": {"type": "array", "items": STRING, "uniqueItems": True}}})
    assert found == [("S.properties[a].type", REQUIRED), ("S.properties[b].uniqueItems", FORBIDDEN)]


def test_is_structural() -> None:
    assert is_structural({"type": "object", "properties": {"a": STRING}})
    assert not is_structural({"properties": {"a": STRING}})
    assert not is_structural(None)
