"""Requests and answers that are lost between a server and etcd: callers still get the true result."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import FailedGuards, Revision
from probate.store.etcd.layout import Layout
from probate.store.etcd.store import Timeouts
from support.etcd_members import Member
from support.etcd_proxy import Proxy
from support.etcd_stores import collect_events, committed_revision, open_store, wait_until

KEY = "objects/pods/default/web"
ENTRY = "owned/u1/default/objects/pods/default/web"

_roots = itertools.count()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    with Member(directory=tmp_path_factory.mktemp("etcd")) as member:
        yield member


@pytest.fixture
def root() -> str:
    return f"lost-{next(_roots)}"


async def test_outcome_is_determined_when_the_answer_is_lost_after_the_change(member: Member, root: str) -> None:
    async with (
        Proxy(member.endpoint) as proxy,
        open_store(proxy.endpoint, root=root) as store,
        open_store(member.endpoint, root=root) as direct,
    ):
        start = await committed_revision(store.commit(contract.create("objects/pods/default/first", b"")))

        async def commit_without_answer(txn: contract.Txn) -> Revision:
            before = await direct.read(KEY)
            proxy.hold_answers()
            commit = asyncio.create_task(store.commit(txn))

            async def is_committed() -> bool:
                return await direct.read(KEY) != before

            await wait_until(is_committed)
            proxy.cut()
            return await committed_revision(commit)

        created = await commit_without_answer(contract.create(KEY, b"1", add_entries=[ENTRY]))
        assert await direct.read(KEY) == contract.Record(KEY, b"1", created)
        updated = await commit_without_answer(contract.update(KEY, b"2", revision=created))
        assert await direct.read(KEY) == contract.Record(KEY, b"2", updated)
        deleted = await commit_without_answer(contract.delete(KEY, revision=updated, remove_entries=[ENTRY]))
        assert await direct.read_many([KEY, ENTRY]) == [None, None]
        seen = await collect_events(store, after=start, upto=deleted)
        assert [(event.revision, event.value) for event in seen] == [(created, b"1"), (updated, b"2"), (deleted, None)]


async def test_failed_transaction_whose_answer_was_lost_still_fails(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, open_store(proxy.endpoint, root=root) as store:
        created = await committed_revision(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        commit = asyncio.create_task(store.commit(contract.create(KEY, b"other")))
        await proxy.wait_until_held()
        proxy.cut()
        assert await commit == FailedGuards((contract.Absent(KEY),))
        assert await store.read(KEY) == contract.Record(KEY, b"1", created)


async def test_request_lost_before_etcd_received_it_is_sent_again_and_applied_once(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, open_store(proxy.endpoint, root=root) as store:
        start = await committed_revision(store.commit(contract.create("objects/pods/default/first", b"")))
        proxy.hold_requests()
        commit = asyncio.create_task(store.commit(contract.create(KEY, b"1")))
        await proxy.wait_until_held()
        proxy.cut()
        created = await committed_revision(commit)
        assert await store.read(KEY) == contract.Record(KEY, b"1", created)
        assert [event.revision for event in await collect_events(store, after=start, upto=created)] == [created]


async def test_request_delivered_late_has_no_effect(member: Member, root: str) -> None:
    """Without the fence, the late create would find the object absent and create it again."""
    async with Proxy(member.endpoint) as slow, open_store(slow.endpoint, member.endpoint, root=root) as store:
        start = await committed_revision(store.commit(contract.create("objects/pods/default/first", b"")))
        slow.hold_requests()
        created = await committed_revision(store.commit(contract.create(KEY, b"1")))  # over the other connection, after a while
        deleted = await committed_revision(store.commit(contract.delete(KEY, revision=created)))
        async with asyncio.timeout(60):
            await slow.release_first_request()
        assert await store.read(KEY) is None
        end = await committed_revision(store.commit(contract.create("objects/pods/default/end", b"")))
        seen = await collect_events(store, after=start, upto=end)
        assert [event.revision for event in seen] == [created, deleted, end]


async def test_outcome_is_unknown_if_etcd_stays_unreachable_after_the_request(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, open_store(proxy.endpoint, root=root, timeouts=Timeouts(write=1.0)) as store:
        first = await committed_revision(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        with pytest.raises(errors.OutcomeUnknown):
            await store.commit(contract.update(KEY, b"2", revision=first))
        proxy.cut()
        assert isinstance(await store.commit(contract.create(KEY, b"3")), FailedGuards)  # the store itself still works


async def test_compaction_removes_slots_of_other_processes_and_an_idle_server_recovers(member: Member, root: str) -> None:
    async with open_store(member.endpoint, root=root) as quiet, open_store(member.endpoint, root=root) as other:
        first = await committed_revision(quiet.commit(contract.create(KEY, b"1")))
        newest = await committed_revision(other.commit(contract.create("objects/pods/default/other", b"")))
        assert slots_left(member, root) == 2
        await other.compact(newest)
        assert slots_left(member, root) == 1
        await committed_revision(quiet.commit(contract.update(KEY, b"2", revision=first)))
    assert slots_left(member, root) == 0


async def test_slot_of_a_cancelled_write_is_not_reused_and_removed_by_compaction(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, open_store(proxy.endpoint, root=root) as store:
        first = await committed_revision(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        commit = asyncio.create_task(store.commit(contract.update(KEY, b"2", revision=first)))
        await proxy.wait_until_held()
        commit.cancel()
        await asyncio.wait([commit])
        proxy.cut()
        newest = await committed_revision(store.commit(contract.create("objects/pods/default/other", b"")))
        assert slots_left(member, root) == 2
        await store.compact(newest)
        assert slots_left(member, root) == 1


def slots_left(member: Member, root: str) -> int:
    key, end = (base64.b64encode(part).decode() for part in Layout(root).slots)
    return int(member.call("kv/range", key=key, range_end=end, count_only=True).get("count", 0))
