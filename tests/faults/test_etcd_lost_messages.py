"""Requests and answers that are lost between a server and its etcd: what callers are told is the truth all the same."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Iterator

import pytest

from probate.core import errors
from probate.store import contract
from probate.store.contract import Refused, Revision
from probate.store.etcd.layout import Layout
from probate.store.etcd.store import Timeouts
from support.etcd_members import Member
from support.etcd_proxy import Proxy
from support.etcd_stores import collect, committed, opened, until

KEY = "objects/pods/default/web"
ENTRY = "owned/u1@default/objects/pods/default/web"

_roots = itertools.count()


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    with Member(directory=tmp_path_factory.mktemp("etcd")) as member:
        yield member


@pytest.fixture
def root() -> str:
    return f"lost-{next(_roots)}"


async def test_answers_lost_after_the_change_was_made_are_found_out_about(member: Member, root: str) -> None:
    async with (
        Proxy(member.endpoint) as proxy,
        opened(proxy.endpoint, root=root) as store,
        opened(member.endpoint, root=root) as direct,
    ):
        start = await committed(store.commit(contract.create("objects/pods/default/first", b"")))

        async def commit_unheard(txn: contract.Txn) -> Revision:
            before = await direct.read(KEY)
            proxy.hold_answers()
            commit = asyncio.create_task(store.commit(txn))

            async def is_made() -> bool:
                return await direct.read(KEY) != before

            await until(is_made)
            proxy.cut()
            return await committed(commit)

        created = await commit_unheard(contract.create(KEY, b"1", enter=[ENTRY]))
        assert await direct.read(KEY) == contract.Record(KEY, b"1", created)
        updated = await commit_unheard(contract.update(KEY, b"2", revision=created))
        assert await direct.read(KEY) == contract.Record(KEY, b"2", updated)
        deleted = await commit_unheard(contract.delete(KEY, revision=updated, leave=[ENTRY]))
        assert await direct.read_many([KEY, ENTRY]) == [None, None]
        seen = await collect(store, after=start, upto=deleted)
        assert [(event.revision, event.value) for event in seen] == [(created, b"1"), (updated, b"2"), (deleted, None)]


async def test_refusal_whose_answer_was_lost_is_still_a_refusal(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, opened(proxy.endpoint, root=root) as store:
        created = await committed(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        commit = asyncio.create_task(store.commit(contract.create(KEY, b"other")))
        await proxy.something_is_held()
        proxy.cut()
        assert await commit == Refused((contract.Absent(KEY),))
        assert await store.read(KEY) == contract.Record(KEY, b"1", created)


async def test_request_lost_before_etcd_got_it_is_sent_again_and_made_once(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, opened(proxy.endpoint, root=root) as store:
        start = await committed(store.commit(contract.create("objects/pods/default/first", b"")))
        proxy.hold_requests()
        commit = asyncio.create_task(store.commit(contract.create(KEY, b"1")))
        await proxy.something_is_held()
        proxy.cut()
        created = await committed(commit)
        assert await store.read(KEY) == contract.Record(KEY, b"1", created)
        assert [event.revision for event in await collect(store, after=start, upto=created)] == [created]


async def test_request_delivered_late_does_nothing_any_more(member: Member, root: str) -> None:
    """Without its fence, the late create would find the object gone and make it again."""
    async with Proxy(member.endpoint) as slow, opened(slow.endpoint, member.endpoint, root=root) as store:
        start = await committed(store.commit(contract.create("objects/pods/default/first", b"")))
        slow.hold_requests()
        created = await committed(store.commit(contract.create(KEY, b"1")))  # by the other connection, after a while
        deleted = await committed(store.commit(contract.delete(KEY, revision=created)))
        async with asyncio.timeout(60):
            await slow.release_first_request()
        assert await store.read(KEY) is None
        end = await committed(store.commit(contract.create("objects/pods/default/end", b"")))
        seen = await collect(store, after=start, upto=end)
        assert [event.revision for event in seen] == [created, deleted, end]


async def test_outcome_is_unknown_if_etcd_stays_away_after_the_request_was_sent(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, opened(proxy.endpoint, root=root, timeouts=Timeouts(write=1.0)) as store:
        first = await committed(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        with pytest.raises(errors.OutcomeUnknown):
            await store.commit(contract.update(KEY, b"2", revision=first))
        proxy.cut()
        assert isinstance(await store.commit(contract.create(KEY, b"3")), Refused)  # the store itself is well


async def test_slots_of_others_are_removed_by_compaction_and_a_quiet_server_does_not_mind(member: Member, root: str) -> None:
    async with opened(member.endpoint, root=root) as quiet, opened(member.endpoint, root=root) as other:
        first = await committed(quiet.commit(contract.create(KEY, b"1")))
        newest = await committed(other.commit(contract.create("objects/pods/default/other", b"")))
        assert slots_left(member, root) == 2
        await other.compact(newest)
        assert slots_left(member, root) == 1
        await committed(quiet.commit(contract.update(KEY, b"2", revision=first)))
    assert slots_left(member, root) == 0


async def test_slot_of_a_cancelled_write_is_not_used_again_and_removed_by_compaction(member: Member, root: str) -> None:
    async with Proxy(member.endpoint) as proxy, opened(proxy.endpoint, root=root) as store:
        first = await committed(store.commit(contract.create(KEY, b"1")))
        proxy.hold_answers()
        commit = asyncio.create_task(store.commit(contract.update(KEY, b"2", revision=first)))
        await proxy.something_is_held()
        commit.cancel()
        await asyncio.wait([commit])
        proxy.cut()
        newest = await committed(store.commit(contract.create("objects/pods/default/other", b"")))
        assert slots_left(member, root) == 2
        await store.compact(newest)
        assert slots_left(member, root) == 1


def slots_left(member: Member, root: str) -> int:
    key, end = (base64.b64encode(part).decode() for part in Layout(root).slots)
    return int(member.call("kv/range", key=key, range_end=end, count_only=True).get("count", 0))
