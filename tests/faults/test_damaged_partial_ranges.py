"""Damaged objects in ranges that end within a segment, on both engines: reported where they are, and nowhere else."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probate.core import errors
from probate.core.clock import SystemClock
from probate.store import contract
from probate.store.contract import EmptyRange, FailedGuards, Store
from probate.store.etcd import store as etcd
from probate.store.etcd.rpc import address
from probate.store.sqlite import store as sqlite
from support import store_operations as steps
from support import stored_value_damage
from support.stored_value_damage import DamageTarget, EtcdRoot, SqliteFile

VALUE = b'{"metadata":{}}'
BY_NAMESPACE, BY_NAME = "objects/pods/111111-", "objects/pods/-/111111-"
KEYS = [*(f"{BY_NAMESPACE}a/{name}" for name in "xyz"), f"{BY_NAME}v", f"{BY_NAME}w", "objects/pods/1111110-a/x"]
DAMAGED = [f"{BY_NAMESPACE}a/y", f"{BY_NAME}v"]
BESIDE = ["objects/pods/222222-", "objects/pods/1111110-a/"]


@pytest.fixture(params=["sqlite", "etcd"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> DamageTarget:
    return SqliteFile(tmp_path) if request.param == "sqlite" else EtcdRoot(request.getfixturevalue("etcd_member"))


@contextlib.asynccontextmanager
async def open_store(place: DamageTarget, process: str) -> AsyncIterator[Store]:
    if isinstance(place, SqliteFile):
        store: Store = await sqlite.open_file(place.path)
    else:
        store = await etcd.open_etcd(address.parse(place.address), clock=SystemClock(), process=process)
    try:
        yield store
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def store_with_damage(place: DamageTarget) -> AsyncIterator[Store]:
    """Yields a store with `KEYS`, of which those in `DAMAGED` are damaged."""
    async with open_store(place, "before") as store:
        await store.commit_many([contract.create(key, VALUE) for key in KEYS])
    for key in DAMAGED:
        stored_value_damage.overwrite_with_garbage(place, key)
    async with open_store(place, "after") as store:
        yield store


@pytest.mark.parametrize("prefix", [BY_NAMESPACE, BY_NAME])
async def test_pages_report_the_damaged_objects_of_their_range(place: DamageTarget, prefix: str) -> None:
    async with store_with_damage(place) as store:
        inside = sorted(key for key in KEYS if key.startswith(prefix))
        page = await store.scan(prefix, limit=10)
        assert page.keys == inside
        assert [one.key for one in page.damaged_records] == [key for key in DAMAGED if key.startswith(prefix)]
        assert await store.scan(prefix, limit=10, at=page.revision) == page
        (many,) = await store.scan_many([prefix], limit=10)
        assert many.damaged_records == page.damaged_records
        assert await store.count(prefix) == len(inside)
        assert await store.nonempty_ranges([prefix, *BESIDE]) == {prefix, BESIDE[1]}
        for beside in BESIDE:
            assert (await store.scan(beside, limit=10)).damaged_records == ()
        refused = await store.commit(contract.create("objects/probes/p", VALUE, guards=[EmptyRange(prefix)]))
        assert isinstance(refused, FailedGuards), "an object that cannot be read was taken for none"


async def test_range_of_damaged_objects_alone_is_not_empty(place: DamageTarget) -> None:
    async with store_with_damage(place) as store:
        sound = await store.read(f"{BY_NAME}w")
        assert sound is not None
        await steps.delete(store, sound.key, sound.revision)
        assert await store.nonempty_ranges([BY_NAME]) == {BY_NAME}
        assert await steps.failed_guards(store, contract.create("objects/probes/p", VALUE, guards=[EmptyRange(BY_NAME)])) == (
            EmptyRange(BY_NAME),
        )


async def test_change_that_cannot_be_shown_ends_the_watches_of_its_range_only(place: DamageTarget) -> None:
    async with store_with_damage(place) as store:
        start = await store.revision()
        (damaged,) = (await store.scan(BY_NAMESPACE, limit=10)).damaged_records
        async with store.watch(BY_NAMESPACE, after=start) as inside, store.watch(BY_NAME, after=start) as beside:
            first = await steps.create(store, f"{BY_NAMESPACE}b/x", VALUE)
            await steps.update(store, damaged.key, VALUE, revision=damaged.revision)
            last = await steps.create(store, f"{BY_NAME}x", VALUE)
            assert [event.revision for event in await steps.take_events(inside, 1)] == [first]
            with pytest.raises(errors.Gone):
                await anext(aiter(inside))
            assert [event.revision for event in await steps.take_events(beside, 1)] == [last]
        events = await steps.collect_events(store, BY_NAME, after=start, last=last)
        assert [event.revision for event in events] == [last]
