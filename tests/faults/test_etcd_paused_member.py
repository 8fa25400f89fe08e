"""One of three members stops answering without closing its connections: all calls and watches move to another member in seconds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from probate.core import errors
from probate.core.clock import SystemClock
from probate.store import contract
from probate.store.contract import Event, Revision
from probate.store.etcd.store import EtcdStore, Timeouts
from support.etcd_members import Cluster, Member, find_binaries
from support.etcd_proxy import Proxy
from support.etcd_stores import committed_revision, open_store, wait_until

BOUND = 15.0
"""Far more than a store needs, even on a busy machine; far less than the minute that gRPC alone needs."""

_roots = itertools.count()


class JumpingClock(SystemClock):
    """The system clock plus an offset set by the test."""

    def __init__(self) -> None:
        self.added = 0.0

    def monotonic(self) -> float:
        return SystemClock.monotonic() + self.added


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(directory=tmp_path_factory.mktemp("etcd"), binary=find_binaries()[-1], durable=False) as cluster:
        yield cluster


@pytest.fixture
def root() -> str:
    return f"paused-{next(_roots)}"


@asynccontextmanager
async def paused(member: Member) -> AsyncIterator[None]:
    member.pause()
    try:
        yield
    finally:
        member.resume()
        await asyncio.to_thread(member.wait_until_serving)


async def collect(store: EtcdStore, after: Revision, found: list[Event]) -> None:
    async with store.watch("objects/", after=after) as watch:
        async for events in watch:
            found += events


async def created(cluster: Cluster, without: Member, root: str, key: str) -> Revision:
    """Creates a key through the running members, as another server would."""
    others = [member.endpoint for member in cluster.members if member is not without]
    async with open_store(*others, root=root, timeouts=Timeouts()) as other:
        return await committed_revision(other.commit(contract.create(key, b"1")))


async def test_watch_stood_still_for_a_minute_when_the_member_it_ran_on_was_paused(cluster: Cluster, root: str) -> None:
    async with open_store(*cluster.endpoints, root=root, timeouts=Timeouts()) as store:
        seen: list[Event] = []
        watching = asyncio.create_task(collect(store, await store.revision(), seen))
        written: list[Revision] = []
        for number, member in enumerate(cluster.members):  # the store's watch runs on one of them
            async with paused(member):
                written.append(await created(cluster, member, root, f"objects/pods/a/{number}"))
                async with asyncio.timeout(BOUND):
                    await wait_until(lambda: is_seen(seen, written[-1]))
        watching.cancel()
        assert [event.revision for event in seen] == written


async def is_seen(seen: list[Event], revision: Revision) -> bool:
    return bool(seen) and seen[-1].revision >= revision


async def test_watch_that_had_to_read_history_stood_still_when_the_member_was_paused(cluster: Cluster, root: str) -> None:
    async with open_store(*cluster.endpoints, root=root, timeouts=Timeouts()) as store:
        start = await store.revision()
        written = [await committed_revision(store.commit(contract.create(f"objects/pods/a/{number}", b"1"))) for number in range(3)]
        for member in cluster.members:
            async with paused(member), asyncio.timeout(BOUND):
                seen: list[Event] = []
                watching = asyncio.create_task(collect(store, start, seen))
                await wait_until(lambda: is_seen(seen, written[-1]))  # noqa: B023
                watching.cancel()
                assert [event.revision for event in seen] == written


async def test_store_whose_watch_is_stuck_reports_that_its_view_is_not_current(cluster: Cluster, root: str) -> None:
    clock = JumpingClock()
    async with Proxy(cluster.members[0].endpoint) as proxy, open_store(proxy.endpoint, root=root, clock=clock) as store:
        assert store.confirmed_revision() is not None
        proxy.hold_answers()
        clock.added += 1000
        assert store.confirmed_revision() is None
        with pytest.raises(errors.StoreUnavailable):
            await store.check()
        proxy.cut()
        await wait_until(lambda: is_confirmed(store))
        await store.check()


async def is_confirmed(store: EtcdStore) -> bool:
    return store.confirmed_revision() is not None


async def test_writes_of_other_applications_in_the_same_etcd_do_not_make_the_view_stale(cluster: Cluster, root: str) -> None:
    """Writes under another root raise etcd's revision, and this store's watch does not deliver them."""
    clock = JumpingClock()
    async with (
        open_store(*cluster.endpoints, root=root, timeouts=Timeouts(), clock=clock) as store,
        open_store(*cluster.endpoints, root=f"{root}-other", timeouts=Timeouts()) as other,
    ):
        await committed_revision(store.commit(contract.create("objects/pods/a/own", b"1")))
        await committed_revision(other.commit(contract.create("objects/pods/a/foreign", b"1")))
        clock.added += 1000
        assert store.confirmed_revision() is None
        await wait_until(lambda: is_confirmed(store))
