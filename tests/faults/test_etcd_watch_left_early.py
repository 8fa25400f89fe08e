"""A watch that is given up before its first message was sent: it ends, so that the feed goes on at another member.

gRPC leaves whoever writes to such a call waiting for ever. A server whose feed waited there showed no change any more.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from probate.core.clock import SystemClock
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.address import Address
from probate.store.etcd.rpc.members import RANGE, Endpoints
from support.etcd_members import Member
from support.etcd_proxy import Proxy

ATTEMPTS = 300
PATIENCE = 20.0


async def _watched(endpoints: Endpoints) -> None:
    async for _ in endpoints.watch(rpc.WatchCreateRequest(key=b"a")):
        pass


async def _unsent_watch(endpoints: Endpoints, proxy: Proxy) -> asyncio.Task[None] | None:
    """A watch on a connection that is gone, while the next one is not there yet; None if it noticed that too soon."""
    await endpoints.ask(RANGE, rpc.RangeRequest(key=b"a"), seconds=PATIENCE)
    proxy.cut()
    proxy.hold_requests()
    watching = asyncio.create_task(_watched(endpoints))
    await asyncio.wait({watching}, timeout=0.3)
    if not watching.done() and endpoints._watches:
        return watching
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    proxy.cut()
    return None


async def test_watch_that_is_left_before_it_was_sent_ends(tmp_path: Path) -> None:
    with Member(directory=tmp_path) as member:
        async with Proxy(member.endpoint) as proxy:
            endpoints = Endpoints(Address((proxy.endpoint,)), SystemClock())
            for _ in range(ATTEMPTS):
                if watching := await _unsent_watch(endpoints, proxy):
                    break
            else:
                pytest.fail("no watch was ever waiting to be sent")
            endpoints.leave_watched()
            done, _ = await asyncio.wait({watching}, timeout=PATIENCE)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await endpoints.close()
            assert done, "the watch waits for ever"
            assert isinstance(watching.exception(), failures.Lost)
