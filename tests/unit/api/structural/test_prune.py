"""What the schema does not know goes, and it is said what went; what the schema knows better comes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from probate.api.structural.defaults import default, has_defaults
from probate.api.structural.parse import parse, parse_root
from probate.api.structural.prune import prune

STRING = {"type": "string"}
KNOWN = {"type": "object", "properties": {"a": STRING, "b": {"type": "object", "properties": {"c": STRING}}}}
KEEPING = {**KNOWN, "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("written", "value", "left", "dropped"),
    [
        (KNOWN, {"a": "1", "x": 1, "b": {"c": "1", "y": 1}}, {"a": "1", "b": {"c": "1"}}, ["b.y", "x"]),
        (KEEPING, {"x": {"y": 1}, "b": {"c": "1", "y": 1}}, {"x": {"y": 1}, "b": {"c": "1"}}, ["b.y"]),
        ({"type": "object"}, {"x": 1}, {}, ["x"]),
        ({"type": "array", "items": KNOWN}, [{"a": "1", "x": 1}, {"y": 1}], [{"a": "1"}, {}], ["[0].x", "[1].y"]),
        ({"type": "object", "additionalProperties": KNOWN}, {"k": {"a": "1", "x": 1}}, {"k": {"a": "1"}}, ["k.x"]),
        ({"type": "object", "additionalProperties": True}, {"k": 1, "l": {"x": 1}}, {"k": 1, "l": {}}, ["l.x"]),
        ({"x-kubernetes-preserve-unknown-fields": True}, [{"x": [1]}], [{"x": [1]}], []),
        (
            {"type": "array", "items": KNOWN, "x-kubernetes-preserve-unknown-fields": True},
            [{"x": 1, "b": {"y": 1}}],
            [{"x": 1, "b": {}}],
            ["[0].b.y"],
        ),
        (
            {**KNOWN, "x-kubernetes-embedded-resource": True},
            {"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}, "spec": {}},
            {"apiVersion": "v1", "kind": "K", "metadata": {"x": 1}},
            ["spec"],
        ),
        (STRING, {"not": "a string"}, {}, ["not"]),
    ],
)
def test_pruning(written: dict[str, Any], value: Any, left: Any, dropped: list[str]) -> None:
    assert prune(value, parse(written)) == dropped
    assert value == left


def test_the_object_itself_keeps_what_every_object_has() -> None:
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "a": "1", "status": {}}
    assert prune(value, parse_root(KNOWN)) == ["status"]
    assert value == {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "a": "1"}


@pytest.mark.parametrize(
    ("written", "value", "expected"),
    [
        ({"a": {"type": "string", "default": "x"}}, {}, {"a": "x"}),
        ({"a": {"type": "string", "default": "x"}}, {"a": ""}, {"a": ""}),
        ({"a": {"type": "string", "default": "x"}}, {"a": None}, {"a": "x"}),
        ({"a": {"type": "string", "default": "x", "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {"type": "string"}}, {"a": None}, {}),
        ({"a": {"type": "string", "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {"type": "string", "default": None}}, {}, {}),
        ({"a": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}}, {}, {}),
        ({"a": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "x"}}}}, {}, {"a": {"b": "x"}}),
        (
            {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}}},
            {"a": [{}, {"b": "y"}]},
            {"a": [{"b": "x"}, {"b": "y"}]},
        ),
        ({"a": {"type": "array", "items": {"type": "string", "default": "x"}}}, {"a": [None]}, {"a": ["x"]}),
        ({"a": {"type": "array", "items": {"type": "string"}}}, {"a": [None]}, {"a": [None]}),
        (
            {
                "a": {
                    "type": "object",
                    "additionalProperties": {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}},
                }
            },
            {"a": {"k": {}, "l": None}},
            {"a": {"k": {"b": "x"}}},
        ),
    ],
)
def test_defaulting(written: dict[str, Any], value: Any, expected: Any) -> None:
    schema = parse({"type": "object", "properties": written})
    default(value, schema)
    assert value == expected


def test_a_default_is_copied_each_time() -> None:
    schema = parse({"type": "object", "properties": {"a": {"type": "array", "items": STRING, "default": ["x"]}}})
    first: dict[str, Any] = {}
    default(first, schema)
    first["a"].append("y")
    second: dict[str, Any] = {}
    default(second, schema)
    assert second == {"a": ["x"]}


def test_whether_there_is_anything_to_default() -> None:
    deep = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}}
    assert has_defaults(parse({"type": "object", "properties": {"a": deep}}))
    without = copy.deepcopy(deep)
    del without["items"]["additionalProperties"]["default"]  # type: ignore[index]
    assert not has_defaults(parse({"type": "object", "properties": {"a": without}}))
