"""A watch that is abandoned before its first message was sent ends, so that the shared watch continues at another member.

gRPC's `write` to such a call waits forever. A server whose shared watch waited there delivered no more changes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from probate.core.clock import SystemClock
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.address import EtcdAddress
from probate.store.etcd.rpc.members import RANGE, Members
from support.etcd_members import Member
from support.etcd_proxy import Proxy

ATTEMPTS = 300
PATIENCE = 20.0


async def _watched(members: Members) -> None:
    async for _ in members.watch(rpc.WatchCreateRequest(key=b"a")):
        pass


async def _unsent_watch(members: Members, proxy: Proxy) -> asyncio.Task[None] | None:
    """Returns a watch on a broken connection while the next one is not established; None if it noticed the break too soon."""
    await members.call(RANGE, rpc.RangeRequest(key=b"a"), seconds=PATIENCE)
    proxy.cut()
    proxy.hold_requests()
    watching = asyncio.create_task(_watched(members))
    await asyncio.wait({watching}, timeout=0.3)
    if not watching.done() and members._watches:
        return watching
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    proxy.cut()
    return None


async def test_watch_that_is_left_before_it_was_sent_ends(tmp_path: Path) -> None:
    with Member(directory=tmp_path) as member:
        async with Proxy(member.endpoint) as proxy:
            members = Members(EtcdAddress((proxy.endpoint,)), SystemClock())
            for _ in range(ATTEMPTS):
                if watching := await _unsent_watch(members, proxy):
                    break
            else:
                pytest.fail("no watch was ever waiting to be sent")
            members.abandon_watched()
            done, _ = await asyncio.wait({watching}, timeout=PATIENCE)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await members.close()
            assert done, "the watch waits forever"
            assert isinstance(watching.exception(), rpc_failures.CallLost)
