"""`record_time` and `revision_at`: which revision was reached by which time."""

from __future__ import annotations

from probate.store.contract import Record, Store
from support import store_engines
from support import store_operations as steps

NOON = 1_700_000_000.0


async def test_times_before_the_first_record_are_unknown(store: Store) -> None:
    assert await store.revision_at(NOON) is None
    await store.record_time(NOON)
    assert await store.revision_at(NOON - 0.5) is None


async def test_record_gives_the_revision_reached_by_then(store: Store) -> None:
    revision = await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    await steps.create(store, "objects/k/2")
    assert await store.revision_at(NOON) == revision
    assert await store.revision_at(NOON + 1_000_000.0) == revision


async def test_newest_record_not_after_the_time_counts(store: Store) -> None:
    revisions = []
    for number in range(5):
        revisions.append(await steps.create(store, f"objects/k/{number}"))
        await store.record_time(NOON + number)
    assert [await store.revision_at(NOON + number + 0.25) for number in range(5)] == revisions


async def test_second_record_of_one_time_counts_with_its_later_revision(store: Store) -> None:
    await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    later = await steps.create(store, "objects/k/2")
    await store.record_time(NOON)
    assert await store.revision_at(NOON) == later


async def test_clock_set_back_never_makes_a_known_revision_older(store: Store) -> None:
    early = await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    late = await steps.create(store, "objects/k/2")
    await store.record_time(NOON - 60)
    assert early < late
    assert await store.revision_at(NOON - 30) == late
    assert await store.revision_at(NOON) == late


async def test_recorded_revision_can_be_compacted_to_and_read(store: Store) -> None:
    await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    await steps.create(store, "objects/k/2")
    noted = await store.revision_at(NOON)
    assert noted is not None
    assert await steps.values(store, "objects/", at=noted) == {"objects/k/1": b"1"}
    await store.compact(noted)
    assert await steps.values(store, "objects/", at=noted) == {"objects/k/1": b"1"}


async def test_records_are_neither_objects_nor_events(store: Store) -> None:
    start = await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    revision = await steps.create(store, "objects/k/2")
    assert [event.revision for event in await steps.collect_events(store, "objects/", after=start, last=revision)] == [revision]
    assert await store.count("objects/") == 2


async def test_record_without_new_changes_still_advances_time(store: Store) -> None:
    revision = await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    await store.record_time(NOON + 300)
    assert await store.revision_at(NOON) == revision
    known = await store.revision_at(NOON + 300)
    assert known is not None
    assert known >= revision


async def test_record_uses_no_revision(engine: store_engines.Engine, store: Store) -> None:
    """Where every revision belongs to a transaction, a record adds none."""
    revision = await steps.create(store, "objects/k/1")
    await store.record_time(NOON)
    assert engine.has_gaps or await store.revision() == revision
    assert await store.read("objects/k/1") == Record("objects/k/1", b"1", revision)
