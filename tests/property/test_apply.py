"""Properties of server-side apply: it is idempotent, no manager loses ownership, and only unowned fields are removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.api.apply import apply_merge, comparison, extraction, field_managers, field_sets
from probate.api.apply.comparison import Difference
from probate.api.apply.field_managers import ApplyRequest, DifferencesByVersion
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import Entry, FieldManager
from probate.api.apply.schema_shapes import Shape
from probate.api.objects import Object
from probate.api.structural import parse

TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"k": TEXT, "v": TEXT, "w": TEXT}}
SPEC = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "n": {"type": "integer"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM},
        "atom": {"type": "array", "items": TEXT},
        "gran": {"type": "object", "additionalProperties": TEXT},
        "one": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
    },
}
SHAPE = Shape(parse.parse_root({"type": "object", "properties": {"spec": SPEC}}), meta=parse.parse({"type": "object"}))
VALUES = st.sampled_from(["1", "2"])
KEYS = st.sampled_from("pqrs")


def items(*fields: str) -> st.SearchStrategy[list[Object]]:
    item = st.fixed_dictionaries({"k": KEYS}, optional=dict.fromkeys(fields, VALUES))
    return st.lists(item, min_size=1, max_size=4, unique_by=lambda one: one["k"])


def string_maps(prefix: str) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(KEYS.map(lambda key: prefix + key), VALUES, min_size=1, max_size=3)


ANYTHING = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 2),
        "set": st.lists(KEYS, min_size=1, unique=True),
        "map": items("v", "w"),
        "atom": st.lists(VALUES, min_size=1, max_size=2),
        "gran": string_maps(""),
        "one": st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES}),
        "unknown": string_maps(""),
    },
)
"""Specs that any manager may apply."""
FIRST_MANAGER_SPECS = st.fixed_dictionaries(
    {}, optional={"n": st.integers(0, 2), "map": items("v"), "gran": string_maps("m"), "unknown": string_maps("m")}
)
SECOND_MANAGER_SPECS = st.fixed_dictionaries(
    {},
    optional={
        "one": st.just({"a": "1"}),
        "map": items("w"),
        "gran": string_maps("y"),
        "set": st.lists(KEYS, min_size=1, unique=True),
    },
)
"""Specs of two managers that set different fields of one object."""


class State:
    """An object and its managed fields entries."""

    def __init__(self) -> None:
        self.object: Object = {"metadata": {}}
        self.entries: list[Entry] = []
        self.time = 0

    def apply(self, manager: str, spec: Object, *, is_forced: bool = True) -> None:
        self.time += 1
        document = {"spec": spec} if spec else {}
        request = ApplyRequest(document, self.object, SHAPE, FieldManager(manager, "v1"), f"{self.time:03}")
        result = field_managers.apply(request, self.entries, self._differences, is_forced=is_forced)
        self.object, self.entries = without_nulls(result.object), result.entries

    def update(self, manager: str, spec: Object) -> None:
        self.time += 1
        new = {"metadata": {}, "spec": spec}
        self.entries = field_managers.track_update(
            self.entries, self._differences(new), FieldManager(manager, "v1"), now=f"{self.time:03}"
        )
        self.object = new

    def _differences(self, new: Object) -> DifferencesByVersion:
        difference = comparison.compare(self.object, new, SHAPE)

        def by_version(_: str) -> Difference:
            return difference

        return by_version

    def owned(self, manager: str) -> FieldSet:
        fields: FieldSet = {}
        for entry in self.entries:
            if entry["manager"] == manager:
                fields = field_sets.union(fields, entry["fieldsV1"])
        return fields


def without_nulls(value: Any) -> Any:
    """Removes nulls: to most kinds, null and absent are the same."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


def leaves(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    for key, node in fields.items():
        if node:
            yield from leaves(node, f"{prefix}/{key}")
        elif key != ".":
            yield f"{prefix}/{key}"


def all_leaves(object_: Object) -> set[str]:
    return set(leaves(extraction.extract_fields(object_, SHAPE, is_checked=False)))


@given(updated=ANYTHING, first=ANYTHING, second=ANYTHING)
def test_apply_is_idempotent(updated: Object, first: Object, second: Object) -> None:
    state = State()
    state.apply("b", first)
    state.update("u", updated)
    state.apply("a", second)
    before = state.object, state.entries
    state.apply("a", second, is_forced=False)
    assert (state.object, state.entries) == before


@given(
    steps=st.lists(
        st.one_of(st.tuples(st.just("mine"), FIRST_MANAGER_SPECS), st.tuples(st.just("yours"), SECOND_MANAGER_SPECS)), max_size=6
    )
)
def test_managers_of_different_fields_never_lose_ownership(steps: list[tuple[str, Object]]) -> None:
    state = State()
    last_applied: dict[str, Object] = {}
    for manager, spec in steps:
        state.apply(manager, spec, is_forced=False)
        last_applied[manager] = spec
        for owner, owned_spec in last_applied.items():
            document = {"spec": owned_spec} if owned_spec else {}
            again = apply_merge.merge_document(state.object, document, SHAPE)
            assert comparison.compare(state.object, again, SHAPE) == comparison.NO_DIFFERENCE, owner
            assert state.owned(owner) == extraction.extract_fields(document, SHAPE)


@given(updated=ANYTHING, others=ANYTHING, last=ANYTHING)
def test_an_empty_apply_removes_exactly_the_fields_that_only_its_manager_owned(
    updated: Object, others: Object, last: Object
) -> None:
    state = State()
    state.apply("b", others)
    state.update("u", {**(state.object.get("spec") or {}), **updated})
    state.apply("a", last)
    before = all_leaves(state.object)
    owned_by_others = field_sets.union(state.owned("b"), state.owned("u"))
    exclusive = set(leaves(field_sets.difference(state.owned("a"), owned_by_others)))
    state.apply("a", {}, is_forced=False)
    assert state.owned("a") == {}
    removed = before - all_leaves(state.object)
    assert removed == {leaf for leaf in before if leaf in exclusive}
    emptied = all_leaves(state.object) - before  # a container whose fields were all removed stays, and is empty
    assert all(any(leaf_removed.startswith(f"{leaf}/") for leaf_removed in removed) for leaf in emptied)


@given(left_spec=ANYTHING, right_spec=ANYTHING)
def test_field_sets_obey_the_laws_of_sets(left_spec: Object, right_spec: Object) -> None:
    a, b = (extraction.extract_fields({"spec": spec}, SHAPE) for spec in (left_spec, right_spec))
    both, rest = field_sets.intersection(a, b), field_sets.difference(a, b)
    assert field_sets.union(both, rest) == a
    assert not field_sets.intersection(rest, b)
    assert set(field_sets.paths(field_sets.union(a, b))) == {*field_sets.paths(a), *field_sets.paths(b)}
    assert field_sets.parse(a) == a


@given(old=ANYTHING, new=ANYTHING)
def test_comparison_is_symmetric(old: Object, new: Object) -> None:
    before, after = {"metadata": {}, "spec": old}, {"metadata": {}, "spec": new}
    forward = comparison.compare(before, after, SHAPE)
    backward = comparison.compare(after, before, SHAPE)
    assert not field_sets.intersection(forward.changed, forward.removed)
    assert set(leaves(forward.removed)) <= set(leaves(backward.changed))
    assert (forward == comparison.NO_DIFFERENCE) == (before == after or sort_keyed_lists(before) == sort_keyed_lists(after))


def sort_keyed_lists(value: Any) -> Any:
    """Sorts lists whose items have keys, since their order is not compared."""
    spec = dict(value["spec"])
    for name, key in (("set", str), ("map", lambda item: item["k"])):
        if name in spec:
            spec[name] = sorted(spec[name], key=key)
    return spec
