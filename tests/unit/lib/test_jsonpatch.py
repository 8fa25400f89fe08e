"""JSON patches: what each operation does, what is refused and how, and laws."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.core import errors
from probate.lib import jsonpatch

DOCUMENT = {"data": {"a": "1", "a/b": "2", "m~n": "3", "": "4"}, "~1": "5", "list": ["x", "y"], "none": None}


def patched(*operations: dict[str, Any]) -> dict[str, Any]:
    return jsonpatch.apply(DOCUMENT, list(operations))


@pytest.mark.parametrize(
    ("operation", "field", "result"),
    [
        ({"op": "add", "path": "/new", "value": 1}, "new", 1),
        ({"op": "add", "path": "/new"}, "new", None),
        ({"op": "add", "path": "/list", "value": 1}, "list", 1),
        ({"op": "add", "path": "/list/0", "value": "n"}, "list", ["n", "x", "y"]),
        ({"op": "add", "path": "/list/2", "value": "n"}, "list", ["x", "y", "n"]),
        ({"op": "add", "path": "/list/-", "value": "n"}, "list", ["x", "y", "n"]),
        ({"op": "remove", "path": "/list/0"}, "list", ["y"]),
        ({"op": "remove", "path": "/data/a~1b"}, "data", {"a": "1", "m~n": "3", "": "4"}),
        ({"op": "remove", "path": "/data/m~0n"}, "data", {"a": "1", "a/b": "2", "": "4"}),
        ({"op": "remove", "path": "/data/"}, "data", {"a": "1", "a/b": "2", "m~n": "3"}),
        ({"op": "replace", "path": "/list/1", "value": "n"}, "list", ["x", "n"]),
        ({"op": "replace", "path": "/none", "value": 1}, "none", 1),
        ({"op": "replace", "path": "/~01", "value": 1}, "~1", 1),
        ({"op": "move", "from": "/list/0", "path": "/list/1"}, "list", ["y", "x"]),
        ({"op": "move", "from": "/list/0", "path": "/list/-"}, "list", ["y", "x"]),
        ({"op": "move", "from": "/list", "path": "/list"}, "list", ["x", "y"]),
        ({"op": "move", "from": "/list/1", "path": "/none"}, "none", "y"),
        ({"op": "copy", "from": "/list", "path": "/list/-"}, "list", ["x", "y", ["x", "y"]]),
        ({"op": "copy", "from": "/data/a", "path": "/none"}, "none", "1"),
    ],
)
def test_an_operation_changes_its_place(operation: dict[str, Any], field: str, result: Any) -> None:
    assert patched(operation)[field] == result


def test_the_whole_object_can_be_replaced_and_tested() -> None:
    assert patched({"op": "test", "path": "", "value": DOCUMENT}, {"op": "replace", "path": "", "value": {"a": 1}}) == {"a": 1}
    assert patched({"op": "add", "path": "", "value": {"a": 1}}) == {"a": 1}


def test_operations_see_what_those_before_them_did() -> None:
    result = patched(
        {"op": "add", "path": "/new", "value": {"deep": []}},
        {"op": "add", "path": "/new/deep/-", "value": 1},
        {"op": "test", "path": "/new/deep", "value": [1]},
        {"op": "move", "from": "/new", "path": "/moved"},
        {"op": "add", "path": "/moved/deep/0", "value": 0},
    )
    assert result == {**DOCUMENT, "moved": {"deep": [0, 1]}}


def test_a_copy_is_independent_of_its_source() -> None:
    result = patched(
        {"op": "add", "path": "/data/z", "value": "9"},
        {"op": "copy", "from": "/data", "path": "/twin"},
        {"op": "remove", "path": "/twin/z"},
        {"op": "replace", "path": "/data/a", "value": "changed"},
    )
    assert result["data"] == {**DOCUMENT["data"], "z": "9", "a": "changed"}  # type: ignore[dict-item]
    assert result["twin"] == DOCUMENT["data"]


def test_a_value_used_by_the_patch_is_not_changed_by_later_operations() -> None:
    value: dict[str, Any] = {"l": []}
    patch = [{"op": "add", "path": "/v", "value": value}, {"op": "add", "path": "/v/l/-", "value": 1}]
    assert jsonpatch.apply({}, patch) == {"v": {"l": [1]}}
    assert value == {"l": []}


@pytest.mark.parametrize(
    ("path", "value"),
    [("/data/a", "1"), ("/list", ["x", "y"]), ("/list/1", "y"), ("/none", None), ("/data/absent", None), ("/data/m~0n", "3")],
)
def test_a_test_that_holds_changes_nothing(path: str, value: Any) -> None:
    assert patched({"op": "test", "path": path, "value": value}) == DOCUMENT


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {}, False),
        (None, False, False),
        ("1", 1, False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, is_equal: bool) -> None:
    assert jsonpatch.is_equal(one, other) is is_equal
    assert jsonpatch.is_equal(other, one) is is_equal


@pytest.mark.parametrize("patch", [{"op": "add"}, None, "x", 1, [1], [None], [[]]])
def test_patch_that_is_not_a_list_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(errors.BadRequest):
        jsonpatch.apply(DOCUMENT, patch)


@pytest.mark.parametrize(
    "operation",
    [
        {},
        {"op": "fly", "path": "/data/a"},
        {"op": ["add"], "path": "/data/a"},
        {"path": "/data/a"},
        {"op": "remove"},
        {"op": "remove", "path": 1},
        {"op": "remove", "path": None},
        {"op": "remove", "path": "data"},
        {"op": "remove", "path": "/data/m~2n"},
        {"op": "remove", "path": "/data/m~"},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/data/none"},
        {"op": "remove", "path": "/list/2"},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": "/data/a/b"},
        {"op": "replace", "path": "/data/none", "value": 1},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "replace", "path": "", "value": []},
        {"op": "add", "path": "", "value": None},
        {"op": "add", "path": "/absent/a", "value": 1},
        {"op": "add", "path": "/none/a", "value": 1},
        {"op": "add", "path": "/data/a/b", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/-1", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/+1", "value": 1},
        {"op": "add", "path": "/list/1e0", "value": 1},
        {"op": "add", "path": "/list/", "value": 1},
        {"op": "add", "path": "/list/\u0661", "value": 1},
        {"op": "add", "path": "/list/" + "9" * 5000, "value": 1},
        {"op": "test", "path": "/data/a", "value": "9"},
        {"op": "test", "path": "/data/a"},
        {"op": "test", "path": "/absent/a", "value": None},
        {"op": "test", "path": "/list/2", "value": None},
        {"op": "test", "path": "/absent", "value": 1},
        {"op": "move", "path": "/a"},
        {"op": "move", "from": "/data/none", "path": "/a"},
        {"op": "move", "from": "/data", "path": "/data/a"},
        {"op": "move", "from": "", "path": "/a"},
        {"op": "move", "from": "/absent", "path": "/absent"},
        {"op": "move", "from": "/data/a", "path": "/absent/a"},
        {"op": "copy", "path": "/a"},
        {"op": "copy", "from": "/data/none", "path": "/a"},
    ],
    ids=lambda operation: json.dumps(operation)[:60],
)
def test_what_cannot_be_done_is_invalid_without_causes(operation: dict[str, Any]) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        patched({"op": "test", "path": "/none", "value": None}, operation)
    assert refusal.value.details.causes == ()


def test_the_operation_that_cannot_be_done_is_named() -> None:
    with pytest.raises(errors.Invalid, match=r"operation 1 .* /data/none does not exist"):
        patched({"op": "remove", "path": "/data/a"}, {"op": "remove", "path": "/data/none"})


def test_a_patch_has_at_most_ten_thousand_operations() -> None:
    one = {"op": "test", "path": "/data/a", "value": "1"}
    assert jsonpatch.apply(DOCUMENT, [one] * jsonpatch.MAX_OPERATIONS) == DOCUMENT
    with pytest.raises(errors.TooLarge):
        jsonpatch.apply(DOCUMENT, [one] * (jsonpatch.MAX_OPERATIONS + 1))


def test_copies_cannot_exceed_the_size_limit() -> None:
    doubling = {"op": "copy", "from": "/list", "path": "/list/-"}
    assert len(jsonpatch.apply(DOCUMENT, [doubling] * 10)["list"]) == 12
    with pytest.raises(errors.Invalid, match="bytes"):
        jsonpatch.apply(DOCUMENT, [doubling] * 60)


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "copy", "from": "/a", "path": "/a/b"}] * 300,
        [{"op": "copy", "from": "/a", "path": "/a/b"}] * jsonpatch.MAX_DEPTH,
        [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(2, 2_000)],
        [{"op": "add", "path": "/a" * depth, "value": {}} for depth in range(2, 900)] + [{"op": "test", "path": "/a", "value": 1}],
        [{"op": "add", "path": "/b" * depth, "value": {}} for depth in range(1, 900)]
        + [{"op": "copy", "from": "/b", "path": "/c"}],
    ],
    ids=["copied into itself", "just over", "added", "then tested", "then copied"],
)
def test_a_patch_cannot_nest_an_object_too_deep(patch: list[dict[str, Any]]) -> None:
    with pytest.raises(errors.Invalid):
        jsonpatch.apply({"a": {}}, patch)


def test_an_object_may_be_as_deep_as_the_limit() -> None:
    patch = [{"op": "copy", "from": "/a", "path": "/a/b"}] * (jsonpatch.MAX_DEPTH - 2)
    assert jsonpatch.apply({"a": {}}, patch)["a"]["b"]["b"]


def test_a_long_patch_of_a_long_list_leaves_the_rest_alone() -> None:
    document = {"list": list(range(2_000)), "other": {}}
    patch = [{"op": "replace", "path": f"/list/{number}", "value": -number} for number in range(2_000)]
    result = jsonpatch.apply(document, patch)
    assert result["list"] == [-number for number in range(2_000)]
    assert document["list"] == list(range(2_000))
    assert result["other"] is document["other"]


keys = st.sampled_from(["a", "b", "a/b", "m~n", "", "0", "-"])
scalars = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from("xy")
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8)
objects = st.dictionaries(keys, values, max_size=3)


def places(value: Any, path: str = "") -> list[str]:
    """The pointers to everything inside a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, inner in inside:
        deeper = path + "/" + str(key).replace("~", "~0").replace("/", "~1")
        found += [deeper, *places(inner, deeper)]
    return found


@st.composite
def patches(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An object and operations at places that it has, or nearly: some can be done, others not."""
    document = draw(objects)
    paths = st.sampled_from(["/new", "/a/-", *places(document)])
    operations = st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": paths,
            "from": paths,
            "value": values,
        }
    )
    return document, draw(st.lists(operations, max_size=5))


@given(patches())
def test_neither_the_object_nor_the_patch_is_changed(drawn: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    copy = json.dumps(drawn)
    with contextlib.suppress(errors.Invalid):
        jsonpatch.apply(*drawn)
    assert json.dumps(drawn) == copy


@given(objects, st.lists(values, max_size=4), values, st.data())
def test_adding_and_removing_changes_nothing(document: dict[str, Any], items: list[Any], value: Any, data: st.DataObject) -> None:
    document = {**document, "list": items}
    path = data.draw(st.sampled_from(["/new", *(f"/list/{number}" for number in range(len(items) + 1))]))
    add = {"op": "add", "path": path, "value": value}
    assert jsonpatch.apply(document, [add, {"op": "remove", "path": path}]) == document


@given(objects, st.data())
def test_moving_there_and_back_changes_nothing(document: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([*places(document), "/new"]))
    there, back = {"op": "move", "from": path, "path": "/elsewhere"}, {"op": "move", "from": "/elsewhere", "path": path}
    assert jsonpatch.apply({**document, "new": 1}, [there, back]) == {**document, "new": 1}


@given(objects)
def test_everything_in_an_object_can_be_found_and_taken_out(document: dict[str, Any]) -> None:
    for path in places(document):
        copied = jsonpatch.apply(document, [{"op": "copy", "from": path, "path": "/found"}])
        value = copied["found"]
        assert jsonpatch.apply(document, [{"op": "test", "path": path, "value": value}]) == document
        taken = jsonpatch.apply(document, [{"op": "remove", "path": path}])
        assert jsonpatch.apply(taken, [{"op": "add", "path": path, "value": value}]) == document
