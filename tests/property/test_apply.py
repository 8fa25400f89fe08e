"""What holds of server-side apply, whatever is applied: again changes nothing, nobody loses theirs, what goes was nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.api.apply import comparison, extraction, field_managers, field_sets, merge
from probate.api.apply.comparison import Difference
from probate.api.apply.field_managers import Application, Differences
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import Entry, Who
from probate.api.apply.schema_shapes import Shape
from probate.api.structural import parse

Object = dict[str, Any]

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


def keyed(prefix: str) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(KEYS.map(lambda key: prefix + key), VALUES, min_size=1, max_size=3)


ANYTHING = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 2),
        "set": st.lists(KEYS, min_size=1, unique=True),
        "map": items("v", "w"),
        "atom": st.lists(VALUES, min_size=1, max_size=2),
        "gran": keyed(""),
        "one": st.fixed_dictionaries({"a": VALUES}, optional={"b": VALUES}),
        "unknown": keyed(""),
    },
)
"""What any manager may say."""
MINE = st.fixed_dictionaries({}, optional={"n": st.integers(0, 2), "map": items("v"), "gran": keyed("m"), "unknown": keyed("m")})
YOURS = st.fixed_dictionaries(
    {}, optional={"one": st.just({"a": "1"}), "map": items("w"), "gran": keyed("y"), "set": st.lists(KEYS, min_size=1, unique=True)}
)
"""What two managers may say who want different things of one object."""


class State:
    """An object, and who owns what of it."""

    def __init__(self) -> None:
        self.object: Object = {"metadata": {}}
        self.entries: list[Entry] = []
        self.moments = 0

    def apply(self, manager: str, spec: Object, *, is_forced: bool = True) -> None:
        self.moments += 1
        document = {"spec": spec} if spec else {}
        wish = Application(document, self.object, SHAPE, Who(manager, "v1"), f"{self.moments:03}")
        done = field_managers.applied(wish, self.entries, self._differences, is_forced=is_forced)
        self.object, self.entries = without_nulls(done.object), done.entries

    def update(self, manager: str, spec: Object) -> None:
        self.moments += 1
        new = {"metadata": {}, "spec": spec}
        self.entries = field_managers.updated(self.entries, self._differences(new), Who(manager, "v1"), f"{self.moments:03}")
        self.object = new

    def _differences(self, new: Object) -> Differences:
        found = comparison.difference(self.object, new, SHAPE)

        def at(_: str) -> Difference:
            return found

        return at

    def owned(self, manager: str) -> FieldSet:
        found: FieldSet = {}
        for entry in self.entries:
            if entry["manager"] == manager:
                found = field_sets.union(found, entry["fieldsV1"])
        return found


def without_nulls(value: Any) -> Any:
    """Null and absent are the same to most kinds."""
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
    return set(leaves(extraction.fields_of(object_, SHAPE, is_checked=False)))


@given(updated=ANYTHING, first=ANYTHING, second=ANYTHING)
def test_the_same_apply_again_changes_nothing(updated: Object, first: Object, second: Object) -> None:
    state = State()
    state.apply("b", first)
    state.update("u", updated)
    state.apply("a", second)
    before = state.object, state.entries
    state.apply("a", second, is_forced=False)
    assert (state.object, state.entries) == before


@given(steps=st.lists(st.one_of(st.tuples(st.just("mine"), MINE), st.tuples(st.just("yours"), YOURS)), max_size=6))
def test_managers_of_different_fields_never_lose_theirs(steps: list[tuple[str, Object]]) -> None:
    state = State()
    wanted: dict[str, Object] = {}
    for manager, spec in steps:
        state.apply(manager, spec, is_forced=False)
        wanted[manager] = spec
        for one, said in wanted.items():
            document = {"spec": said} if said else {}
            again = merge.merged(state.object, document, SHAPE)
            assert comparison.difference(state.object, again, SHAPE) == comparison.NONE, one
            assert state.owned(one) == extraction.fields_of(document, SHAPE)


@given(updated=ANYTHING, others=ANYTHING, last=ANYTHING)
def test_who_applies_nothing_takes_along_what_was_theirs_alone(updated: Object, others: Object, last: Object) -> None:
    state = State()
    state.apply("b", others)
    state.update("u", {**(state.object.get("spec") or {}), **updated})
    state.apply("a", last)
    before = all_leaves(state.object)
    theirs = field_sets.union(state.owned("b"), state.owned("u"))
    own = set(leaves(field_sets.difference(state.owned("a"), theirs)))
    state.apply("a", {}, is_forced=False)
    assert state.owned("a") == {}
    gone = before - all_leaves(state.object)
    assert gone == {leaf for leaf in before if leaf in own}
    emptied = all_leaves(state.object) - before  # what held nothing else stays, and is empty
    assert all(any(one.startswith(f"{leaf}/") for one in gone) for leaf in emptied)


@given(one=ANYTHING, other=ANYTHING)
def test_sets_of_fields_are_sets(one: Object, other: Object) -> None:
    a, b = (extraction.fields_of({"spec": spec}, SHAPE) for spec in (one, other))
    both, left = field_sets.intersection(a, b), field_sets.difference(a, b)
    assert field_sets.union(both, left) == a
    assert not field_sets.intersection(left, b)
    assert set(field_sets.paths(field_sets.union(a, b))) == {*field_sets.paths(a), *field_sets.paths(b)}
    assert field_sets.read(a) == a


@given(old=ANYTHING, new=ANYTHING)
def test_what_differs_is_what_has_to_be_written_again(old: Object, new: Object) -> None:
    before, after = {"metadata": {}, "spec": old}, {"metadata": {}, "spec": new}
    there = comparison.difference(before, after, SHAPE)
    back = comparison.difference(after, before, SHAPE)
    assert not field_sets.intersection(there.changed, there.removed)
    assert set(leaves(there.removed)) <= set(leaves(back.changed))
    assert (there == comparison.NONE) == (before == after or all_in_order(before) == all_in_order(after))


def all_in_order(value: Any) -> Any:
    """The order in a list whose items have names is nobody's."""
    spec = dict(value["spec"])
    for name, key in (("set", str), ("map", lambda item: item["k"])):
        if name in spec:
            spec[name] = sorted(spec[name], key=key)
    return spec
