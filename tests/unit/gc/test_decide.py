"""What becomes of an object: the table of docs/collector.md, held against the code for every way its owners can stand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from probate.api.deletion import Policy
from probate.api.ownership import Action, Delete, Drop, Item, Meta, Owner, Seen, Standing
from probate.gc import decide
from support import doc_tables

ROWS = doc_tables.table("collector.md", "unknown or out of reach")
COLUMNS = ({Standing.UNKNOWN, Standing.OUT_OF_REACH}, {Standing.SOLID}, {Standing.WAITING}, {Standing.DANGLING})

Owners = list[tuple[Owner, Seen]]


def owner(standing: Standing, number: int = 0) -> tuple[Owner, Seen]:
    name = f"{standing.name.lower()}-{number}"
    there = Item(f"objects/configmaps/a/{name}", 7, Meta(name=name, namespace="a", uid=f"uid-{name}"))
    is_there = standing in {Standing.SOLID, Standing.WAITING}
    return Owner("v1", "ConfigMap", name, f"uid-{name}"), Seen(standing, there if is_there else None)


def item(*finalizers: str, deleting: bool = False) -> Item:
    meta = Meta(name="x", namespace="a", uid="uid-x", finalizers=list(finalizers), deletion_timestamp="now" if deleting else None)
    return Item("objects/configmaps/a/x", 9, meta)


def decided(owners: Owners, about: Item, *, has_dependents: bool) -> Action | None:
    return decide.decide(about, decide.judge(owners), has_dependents=has_dependents)


def every_standing() -> Iterator[Owners]:
    """Up to three owners, standing in any way, in any order."""
    for count in range(4):
        for standings in itertools.product(Standing, repeat=count):
            yield [owner(standing, number) for number, standing in enumerate(standings)]


def row(owners: Owners, *, has_dependents: bool) -> str:
    """What the table says happens: the first line that fits."""
    standings = {seen.standing for _, seen in owners}
    for *cells, dependents, what in ROWS:
        fits = all(
            cell == "any" or (cell == "some") == bool(standings & column) for cell, column in zip(cells, COLUMNS, strict=True)
        )
        if fits and dependents in {"any", "yes" if has_dependents else "no"}:
            return what.partition(":")[0]
    raise AssertionError(f"the table does not say what happens if owners are {standings}")


OWN_POLICIES = {
    (): Policy.BACKGROUND,
    ("a/x",): Policy.BACKGROUND,
    ("a/x", "orphan"): Policy.ORPHAN,
    ("foregroundDeletion",): Policy.FOREGROUND,
    ("CollectingGarbage", "a/x"): Policy.FOREGROUND,
    ("GarbageCollectionInProgress",): Policy.FOREGROUND,
}


@pytest.mark.parametrize("finalizers", OWN_POLICIES, ids=str)
@pytest.mark.parametrize("has_dependents", [True, False])
def test_code_does_what_the_table_says(finalizers: tuple[str, ...], *, has_dependents: bool) -> None:
    seen = set()
    for owners in every_standing():
        about, what = item(*finalizers), row(owners, has_dependents=has_dependents)
        action = decided(owners, about, has_dependents=has_dependents)
        seen.add(what)
        lost = frozenset(one.uid for one, how in owners if how.standing in {Standing.WAITING, Standing.DANGLING})
        if what == "nothing":
            assert action is None
        elif what == "drop the references to those that are waiting or dangling":
            assert isinstance(action, Drop)
            assert (action.item, action.uids) == (about, lost)
        else:
            foreground = what == "delete in the foreground"
            assert foreground or what == "delete as its own finalizers say, else in the background"
            assert isinstance(action, Delete)
            assert (action.item, action.policy) == (about, Policy.FOREGROUND if foreground else OWN_POLICIES[finalizers])
    assert len(seen) == (4 if has_dependents else 3)


def test_every_row_of_the_table_is_reached() -> None:
    said = {row(owners, has_dependents=one) for owners in every_standing() for one in (True, False)}
    assert said == {what.partition(":")[0] for *_, what in ROWS}


def test_object_that_is_being_deleted_is_left_to_whoever_holds_it() -> None:
    for owners in every_standing():
        assert decided(owners, item("a/x", deleting=True), has_dependents=True) is None


def test_deletion_rests_on_the_owners_that_wait_being_as_they_were_found() -> None:
    waiting, gone = owner(Standing.WAITING), owner(Standing.DANGLING)
    action = decided([waiting, gone, waiting], item(), has_dependents=False)
    assert isinstance(action, Delete)
    assert action.given == (waiting[1].item,)


def test_reason_names_every_lost_owner_once_and_says_why_it_is_lost() -> None:
    waiting, gone = owner(Standing.WAITING), owner(Standing.DANGLING)
    action = decided([gone, owner(Standing.SOLID), waiting, gone], item(), has_dependents=False)
    assert action is not None
    assert action.because == (
        "owner ConfigMap dangling-0 (uid-dangling-0) is gone; "
        "owner ConfigMap waiting-0 (uid-waiting-0) is waiting for its dependents to go"
    )


def test_dependents_are_asked_about_only_where_they_matter() -> None:
    for owners in every_standing():
        asks = decide.judge(owners).needs_to_know_dependents
        matters = row(owners, has_dependents=True) != row(owners, has_dependents=False)
        assert asks is matters
