"""Values are held against schemas as Kubernetes does it: which problem, where, in which words."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.structural.parse import parse, parse_root
from probate.api.structural.validate import validate


def problems_of(written: dict[str, Any], value: Any, old: Any = None) -> list[tuple[str, str]]:
    schema = parse_root({"type": "object", "properties": {"spec": written}})
    before = None if old is None else {"spec": old}
    return [(one.field, one.reason) for one in validate({"spec": value}, schema, before)]


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ({"type": "integer"}, [1, 1.0, -(2**63), 0]),
        ({"type": "number"}, [1, 1.5, 2**70]),
        ({"type": "string"}, ["", "x"]),
        ({"type": "boolean"}, [True, False]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a"]]),
        ({"type": "object"}, [{}, {"a": 1}]),
        ({"type": "string", "nullable": True}, [None, "a"]),
        ({"x-kubernetes-int-or-string": True}, [1, "50%"]),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1, "a", None, [], {"a": None}]),
        ({"type": "string", "enum": ["a", "b"]}, ["a"]),
        ({"type": "integer", "enum": [1, 2]}, [1, 2.0]),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, [None]),
        ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, [1.01]),
        ({"type": "number", "multipleOf": 0.1}, [0.3, 1]),
        ({"type": "string", "maxLength": 2}, ["äö"]),
        ({"type": "string", "pattern": "b"}, ["abc"]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"x": 1}]),
        ({"type": "string", "format": "int32"}, ["anything"]),
        ({"type": "integer", "format": "int32"}, [2**40]),
        ({"type": "string", "format": "no such format"}, ["anything"]),
        ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}]),
        ({"type": "object", "not": {"required": ["a"]}}, [{}]),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            [[{}]],
        ),
    ],
)
def test_right_values(written: dict[str, Any], right: list[Any]) -> None:
    for value in right:
        assert problems_of(written, value) == []


INVALID, TYPE, REQUIRED = "FieldValueInvalid", "FieldValueTypeInvalid", "FieldValueRequired"


@pytest.mark.parametrize(
    ("written", "value", "expected"),
    [
        ({"type": "integer"}, "1", [("spec", TYPE)]),
        ({"type": "integer"}, 1.5, [("spec", TYPE)]),
        ({"type": "integer"}, True, [("spec", TYPE)]),
        ({"type": "integer"}, 2**63, [("spec", TYPE)]),
        ({"type": "string"}, None, [("spec", TYPE)]),
        ({"type": "boolean"}, 0, [("spec", TYPE)]),
        ({"x-kubernetes-int-or-string": True}, 1.5, [("spec", TYPE)]),
        ({"type": "object", "required": ["a"]}, {}, [("spec.a", REQUIRED)]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": 1}, [("spec.a", TYPE)]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"x.y": 1}, [("spec.x.y", TYPE)]),
        ({"type": "array", "items": {"type": "object", "required": ["k"]}}, [{"k": 1}, {}], [("spec[1].k", REQUIRED)]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, [["a", 1]], [("spec[0][1]", TYPE)]),
        ({"type": "string", "enum": ["a"]}, "b", [("spec", "FieldValueNotSupported")]),
        ({"type": "integer", "enum": [1]}, True, [("spec", TYPE), ("spec", "FieldValueNotSupported")]),
        ({"type": "integer", "minimum": 3, "multipleOf": 2}, 1, [("spec", INVALID), ("spec", INVALID)]),
        ({"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 3, [("spec", INVALID)]),
        ({"type": "string", "maxLength": 1, "pattern": "b"}, "aa", [("spec", "FieldValueTooLong")]),
        ({"type": "string", "minLength": 1}, "", [("spec", INVALID)]),
        ({"type": "string", "pattern": "^b$"}, "b\n", [("spec", INVALID)]),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a", "b"], [("spec", "FieldValueTooMany")]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], [("spec", INVALID)]),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, [("spec", "FieldValueTooMany")]),
        ({"type": "object", "minProperties": 1}, {}, [("spec", INVALID)]),
        ({"type": "object", "additionalProperties": False}, {"a": 1}, [("spec", INVALID)]),
        ({"type": "string", "format": "date-time"}, "yesterday", [("spec", TYPE)]),
        ({"type": "string", "format": "date-time"}, 5, [("spec", TYPE)]),
        ({"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]}, 3, [("<nil>", INVALID), ("spec", INVALID)]),
        ({"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 9}]}, 3, [("spec", INVALID), ("<nil>", INVALID)]),
        ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, [("<nil>", INVALID), ("spec.a", REQUIRED)]),
        ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, [("<nil>", INVALID)]),
        ({"type": "object", "not": {"required": ["a"]}}, {"a": 1}, [("<nil>", INVALID)]),
    ],
)
def test_wrong_values(written: dict[str, Any], value: Any, expected: list[tuple[str, str]]) -> None:
    assert problems_of(written, value) == expected


def test_the_sentences_are_the_known_ones() -> None:
    schema = parse_root({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}})
    (problem,) = validate({"spec": {"n": "x"}}, schema)
    assert problem.message == 'Invalid value: "string": spec.n in body must be of type integer: "string"'


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("byte", "YWJj", "YWJ"),
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "2024-02-29T10:00:00.5+01:00", "2024-02-29T24:00:00Z"),
        ("datetime", "2024-02-29t10:00:00z", "2024-02-29 10:00:00Z"),
        ("duration", "1h30m", "h"),
        ("duration", "3 weeks", "3 moons and 1 sun"),
        ("email", "a.b@example.com", "a@"),
        ("email", "A B <a@b>", "A B a@b"),
        ("hostname", "a-b.example.com", "-a.com"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("mac", "00:1a:2b:3c:4d:5e", "00:1a:2b"),
        ("uri", "https://example.com/a?b", "example.com"),
        ("uuid", "8e7f1d4a-0000-4000-8000-000000000000", "8e7f1d4a"),
        ("uuid4", "8e7f1d4a-0000-4000-8000-000000000000", "8e7f1d4a-0000-5000-8000-000000000000"),
        ("isbn", "978-3-16-148410-0", "978-3-16-148410-1"),
        ("isbn10", "0-306-40615-2", "0-306-40615-3"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("hexcolor", "#fff", "#ffff"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(1, 2, 256)"),
        ("ssn", "123-45-6789", "123-45"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
    ],
)
def test_formats(name: str, right: str, wrong: str) -> None:
    written = {"type": "string", "format": name}
    assert problems_of(written, right) == []
    assert problems_of(written, wrong) == [("spec", TYPE)]


def test_an_item_of_a_set_is_there_once() -> None:
    written = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    assert problems_of(written, ["a", "b", "a", "a"]) == [("spec[2]", "FieldValueDuplicate")]


def test_a_key_of_a_map_is_there_once() -> None:
    written = {
        "type": "array",
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "n"],
    }
    value = [{"k": "a", "n": 1}, {"k": "a", "n": 2}, {"k": "a", "n": 1.0, "x": 1}]
    assert problems_of(written, value) == [("spec[2]", "FieldValueDuplicate")]
    assert problems_of({"type": "object", "additionalProperties": written}, {"m": value}) == [("spec[m][2]", "FieldValueDuplicate")]


def test_unchanged_values_are_not_validated_again() -> None:
    written = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 3}, "b": {"type": "integer", "maximum": 3}}}
    assert problems_of(written, {"a": 9, "b": 1}, old={"a": 9, "b": 2}) == []
    assert problems_of(written, {"a": 9, "b": 9}, old={"a": 9, "b": 2}) == [("spec.b", INVALID)]
    assert problems_of(written, {"a": True}, old={"a": 1}) == [("spec.a", TYPE)]


def test_items_are_compared_by_their_keys() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 3}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old, new = [{"k": "a", "n": 9}], [{"k": "b", "n": 1}, {"k": "a", "n": 9}]
    assert problems_of(keyed, new, old=old) == []
    assert problems_of({"type": "array", "items": item}, new, old=old) == [("spec[1].n", INVALID)]


def test_old_duplicates_do_not_block_updates() -> None:
    written = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    assert problems_of(written, ["a", "a", "b"], old=["a", "a"]) == []


def test_an_embedded_resource_says_what_it_is() -> None:
    written = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    right = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"b": "c"}}}
    assert problems_of(written, right) == []
    wrong = {"kind": "a b", "metadata": {"name": "..", "labels": {"b": "c d"}}}
    expected = {
        ("spec.apiVersion", REQUIRED),
        ("spec.kind", INVALID),
        ("spec.metadata.name", INVALID),
        ("spec.metadata.labels", INVALID),
    }
    assert set(problems_of(written, wrong)) == expected
    assert problems_of(written, {"apiVersion": "a/b/c", "kind": "Pod"}) == [("spec.apiVersion", INVALID)]
    assert problems_of(written, {"apiVersion": 1, "kind": "Pod", "metadata": "x"}) == [
        ("spec.apiVersion", INVALID),
        ("spec.metadata", INVALID),
    ]


def test_rules_are_collected_where_they_stand() -> None:
    rules = [{"rule": "self.nope == 1"}]
    schema = parse({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-validations": rules}}})
    assert schema.properties["spec"].validation_rules == tuple(rules)
