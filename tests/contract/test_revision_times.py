"""Notes of which revision was reached by when."""

from __future__ import annotations

from probate.store.contract import Record, Store
from support import store_engines
from support import store_operations as steps

NOON = 1_700_000_000.0


async def test_nothing_is_known_of_times_before_the_first_note(store: Store) -> None:
    assert await store.revision_at(NOON) is None
    await store.note_time(NOON)
    assert await store.revision_at(NOON - 0.5) is None


async def test_note_tells_the_revision_reached_by_then(store: Store) -> None:
    revision = await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    await steps.create(store, "objects/k/2")
    assert await store.revision_at(NOON) == revision
    assert await store.revision_at(NOON + 1_000_000.0) == revision


async def test_newest_note_not_after_the_time_counts(store: Store) -> None:
    revisions = []
    for number in range(5):
        revisions.append(await steps.create(store, f"objects/k/{number}"))
        await store.note_time(NOON + number)
    assert [await store.revision_at(NOON + number + 0.25) for number in range(5)] == revisions


async def test_second_note_of_one_moment_counts_with_its_later_revision(store: Store) -> None:
    await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    later = await steps.create(store, "objects/k/2")
    await store.note_time(NOON)
    assert await store.revision_at(NOON) == later


async def test_clock_set_back_never_makes_a_known_revision_older(store: Store) -> None:
    early = await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    late = await steps.create(store, "objects/k/2")
    await store.note_time(NOON - 60)
    assert early < late
    assert await store.revision_at(NOON - 30) == late
    assert await store.revision_at(NOON) == late


async def test_noted_revision_can_be_compacted_to_and_read(store: Store) -> None:
    await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    await steps.create(store, "objects/k/2")
    noted = await store.revision_at(NOON)
    assert noted is not None
    assert await steps.values(store, "objects/", at=noted) == {"objects/k/1": b"1"}
    await store.compact(noted)
    assert await steps.values(store, "objects/", at=noted) == {"objects/k/1": b"1"}


async def test_notes_are_neither_objects_nor_events(store: Store) -> None:
    start = await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    revision = await steps.create(store, "objects/k/2")
    assert [event.revision for event in await steps.follow(store, "objects/", after=start, last=revision)] == [revision]
    assert await store.count("objects/") == 2


async def test_note_that_finds_nothing_new_still_moves_time_on(store: Store) -> None:
    revision = await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    await store.note_time(NOON + 300)
    assert await store.revision_at(NOON) == revision
    known = await store.revision_at(NOON + 300)
    assert known is not None
    assert known >= revision


async def test_note_costs_no_revision_of_its_own(engine: store_engines.Engine, store: Store) -> None:
    """Where every revision is a transaction's, a note leaves none behind."""
    revision = await steps.create(store, "objects/k/1")
    await store.note_time(NOON)
    assert engine.has_gaps or await store.revision() == revision
    assert await store.read("objects/k/1") == Record("objects/k/1", b"1", revision)
