"""JSON merge patches: the RFC's own examples, then laws."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.core import errors
from probate.lib import mergepatch

RFC_7386 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]

scalars = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from("xy")
keys = st.sampled_from("abc")
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3), max_leaves=6)
objects = st.dictionaries(keys, values, max_size=3)


def without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7386)
def test_the_examples_of_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert mergepatch.merge(target, patch) == result


@pytest.mark.parametrize("patch", [None, [], "x", 1, True])
def test_an_object_cannot_be_patched_into_something_else(patch: Any) -> None:
    with pytest.raises(errors.BadRequest):
        mergepatch.apply({"a": 1}, patch)


@given(objects, objects)
def test_neither_the_object_nor_the_patch_is_changed(target: dict[str, Any], patch: dict[str, Any]) -> None:
    copies = json.loads(json.dumps([target, patch]))
    mergepatch.apply(target, patch)
    assert [target, patch] == copies


@given(objects, objects)
def test_a_patch_applied_again_changes_nothing(target: dict[str, Any], patch: dict[str, Any]) -> None:
    once = mergepatch.apply(target, patch)
    assert mergepatch.apply(once, patch) == once


@given(objects)
def test_an_empty_patch_changes_nothing(target: dict[str, Any]) -> None:
    assert mergepatch.apply(target, {}) == target


@given(objects)
def test_what_is_new_comes_without_nulls(patch: dict[str, Any]) -> None:
    assert mergepatch.apply({}, patch) == without_nulls(patch)


@given(objects, objects)
def test_deleting_all_fields_first_gives_the_patch_alone(target: dict[str, Any], patch: dict[str, Any]) -> None:
    emptied = mergepatch.apply(target, dict.fromkeys(target))
    assert mergepatch.apply(emptied, patch) == without_nulls(patch)
