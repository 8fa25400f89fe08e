"""The decision what to do with an object: the table of docs/collector.md against the code, for all owner states."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from probate.api.deletion import PropagationPolicy
from probate.api.object_keys import object_key
from probate.api.ownership import (
    Action,
    Delete,
    Item,
    ObjectMeta,
    OwnerReference,
    OwnerState,
    RemoveOwnerReferences,
    ResolvedOwner,
    Uid,
)
from probate.gc import decide
from support import doc_tables

ROWS = doc_tables.read_table("collector.md", "unknown or unresolvable")
COLUMNS = ({OwnerState.UNKNOWN, OwnerState.UNRESOLVABLE}, {OwnerState.SOLID}, {OwnerState.WAITING}, {OwnerState.DANGLING})

Owners = list[tuple[OwnerReference, ResolvedOwner]]


def owner(state: OwnerState, number: int = 0) -> tuple[OwnerReference, ResolvedOwner]:
    name = f"{state.name.lower()}-{number}"
    found = Item(object_key("configmaps", "a", name), 7, ObjectMeta(name=name, namespace="a", uid=Uid(f"uid-{name}")))
    exists = state in {OwnerState.SOLID, OwnerState.WAITING}
    return OwnerReference("v1", "ConfigMap", name, Uid(f"uid-{name}")), ResolvedOwner(state, found if exists else None)


def item(*finalizers: str, deleting: bool = False) -> Item:
    meta = ObjectMeta(
        name="x", namespace="a", uid=Uid("uid-x"), finalizers=list(finalizers), deletion_timestamp="now" if deleting else None
    )
    return Item(object_key("configmaps", "a", "x"), 9, meta)


def decision(owners: Owners, dependent: Item, *, has_dependents: bool) -> Action | None:
    return decide.decide(dependent, decide.owner_status(owners), has_dependents=has_dependents)


def all_combinations() -> Iterator[Owners]:
    """Yields up to three owners, in any states and any order."""
    for count in range(4):
        for states in itertools.product(OwnerState, repeat=count):
            yield [owner(state, number) for number, state in enumerate(states)]


def row(owners: Owners, *, has_dependents: bool) -> str:
    """Returns what happens according to the table: the first row that fits."""
    states = {resolved.state for _, resolved in owners}
    for *cells, dependents, outcome in ROWS:
        fits = all(cell == "any" or (cell == "some") == bool(states & column) for cell, column in zip(cells, COLUMNS, strict=True))
        if fits and dependents in {"any", "yes" if has_dependents else "no"}:
            return outcome.partition(":")[0]
    raise AssertionError(f"the table does not say what happens if owners are {states}")


OWN_POLICIES = {
    (): PropagationPolicy.BACKGROUND,
    ("a/x",): PropagationPolicy.BACKGROUND,
    ("a/x", "orphan"): PropagationPolicy.ORPHAN,
    ("foregroundDeletion",): PropagationPolicy.FOREGROUND,
    ("CollectingGarbage", "a/x"): PropagationPolicy.FOREGROUND,
    ("GarbageCollectionInProgress",): PropagationPolicy.FOREGROUND,
}


@pytest.mark.parametrize("finalizers", OWN_POLICIES, ids=str)
@pytest.mark.parametrize("has_dependents", [True, False])
def test_code_does_what_the_table_says(finalizers: tuple[str, ...], *, has_dependents: bool) -> None:
    seen = set()
    for owners in all_combinations():
        about, what = item(*finalizers), row(owners, has_dependents=has_dependents)
        action = decision(owners, about, has_dependents=has_dependents)
        seen.add(what)
        lost = frozenset(one.uid for one, how in owners if how.state in {OwnerState.WAITING, OwnerState.DANGLING})
        if what == "nothing":
            assert action is None
        elif what == "remove the references to waiting and dangling owners":
            assert isinstance(action, RemoveOwnerReferences)
            assert (action.item, action.uids) == (about, lost)
        else:
            foreground = what == "delete in the foreground"
            assert foreground or what == "delete as its own finalizers say, else in the background"
            assert isinstance(action, Delete)
            assert (action.item, action.policy) == (about, PropagationPolicy.FOREGROUND if foreground else OWN_POLICIES[finalizers])
    assert len(seen) == (4 if has_dependents else 3)


def test_every_row_of_the_table_is_reached() -> None:
    said = {row(owners, has_dependents=one) for owners in all_combinations() for one in (True, False)}
    assert said == {what.partition(":")[0] for *_, what in ROWS}


def test_deleting_object_is_left_to_its_finalizers() -> None:
    for owners in all_combinations():
        assert decision(owners, item("a/x", deleting=True), has_dependents=True) is None


def test_deletion_has_the_waiting_owners_as_preconditions() -> None:
    waiting, gone = owner(OwnerState.WAITING), owner(OwnerState.DANGLING)
    action = decision([waiting, gone, waiting], item(), has_dependents=False)
    assert isinstance(action, Delete)
    assert action.preconditions == (waiting[1].item,)


def test_reason_names_every_lost_owner_once_and_says_why_it_is_lost() -> None:
    waiting, gone = owner(OwnerState.WAITING), owner(OwnerState.DANGLING)
    action = decision([gone, owner(OwnerState.SOLID), waiting, gone], item(), has_dependents=False)
    assert action is not None
    assert action.because == (
        "owner ConfigMap dangling-0 (uid-dangling-0) is gone; "
        "owner ConfigMap waiting-0 (uid-waiting-0) is waiting for its dependents to be removed"
    )


def test_dependents_are_read_only_where_they_matter() -> None:
    for owners in all_combinations():
        asks = decide.owner_status(owners).depends_on_dependents
        matters = row(owners, has_dependents=True) != row(owners, has_dependents=False)
        assert asks is matters
