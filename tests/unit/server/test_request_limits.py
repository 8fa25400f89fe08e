"""Limits on requests in flight: users share them fairly; administrators and health checks have reserves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import AUTHENTICATED, MASTERS, User
from probate.core.clock import FakeClock
from probate.http.fair_limit import FairLimit
from probate.http.limit_log import QUIET_SECONDS, LimitLog
from probate.server.app import App
from probate.server.request_limits import RequestLimits, reserved_connections
from probate.store.sqlite.store import open_memory
from support.rbac_server import RbacServer, running_with_rbac

LIMIT = 30
SLOW = "/api/v1/namespaces/a/configmaps/slow"
"""A request for this path waits until the test lets it continue."""


class BusyServer:
    """A server with few slots, whose slow requests end when the test says so."""

    def __init__(self, server: RbacServer, may_read: asyncio.Event) -> None:
        self.server = server
        self.may_read = may_read
        limits = RequestLimits(server.api.limit_log, max_connections=1_000, max_in_flight=LIMIT)
        server.app = App(server.api, authenticate=self._user, request_limits=limits)
        self.pending: list[asyncio.Task[Any]] = []

    async def _user(self, scope: Any) -> User:
        name = dict(scope["headers"])[b"x-name"].decode()
        return User(name, (MASTERS, AUTHENTICATED) if name.startswith("admin") else (AUTHENTICATED,))

    async def ask(self, name: str, path: str, *headers: tuple[bytes, bytes]) -> int:
        return (await self.server.request("GET", path, headers=[(b"x-name", name.encode()), *headers], client=("10.0.0.1", 1))).code

    async def occupy(self, name: str, number: int, *headers: tuple[bytes, bytes]) -> int:
        """Sends slow requests. Returns how many of them were admitted and wait."""
        request = [asyncio.ensure_future(self.ask(name, SLOW, *headers)) for _ in range(number)]
        self.pending += request
        await self.server.yield_to_loop(20)
        return sum(1 for item in request if not item.done())


class BlockingStore:
    """A store in which reading one object blocks until the test says so."""

    def __init__(self, inner: Any, may_read: asyncio.Event) -> None:
        self._inner, self._may_answer = inner, may_read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, key: str, **fields: Any) -> Any:
        if key.endswith("/slow"):
            await self._may_answer.wait()
        return await self._inner.read(key, **fields)


@pytest.fixture
async def busy_server() -> AsyncIterator[BusyServer]:
    may_read = asyncio.Event()
    store: Any = BlockingStore(await open_memory(), may_read)
    async with running_with_rbac(store=store) as server:
        for name in ("ann", "bob", "eve"):
            await server.grant(name, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})
        rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
        await server.grant("eve", rule)
        loaded = BusyServer(server, may_read)
        yield loaded
        loaded.may_read.set()
        assert {*await asyncio.gather(*loaded.pending)} <= {404, 429}


async def test_one_user_took_all_places(busy_server: BusyServer) -> None:
    assert await busy_server.occupy("ann", LIMIT + 10) == LIMIT * 2 // 3
    assert await busy_server.ask("ann", SLOW) == 429
    assert await busy_server.ask("bob", "/api/v1/namespaces/a/configmaps/none") == 404
    assert await busy_server.occupy("bob", LIMIT) > 3
    assert await busy_server.ask("admin", "/api/v1/namespaces/a/configmaps/none") == 404


async def test_administrators_have_reserved_slots(busy_server: BusyServer) -> None:
    assert await busy_server.occupy("admin-1", LIMIT) == LIMIT
    assert await busy_server.ask("ann", SLOW) == 429
    assert await busy_server.occupy("admin-2", 100) == 40
    assert await busy_server.ask("admin-3", SLOW) == 429
    assert await busy_server.ask("ann", "/version") != 429


async def test_impersonating_user_counts_as_itself(busy_server: BusyServer) -> None:
    taken = 0
    for number in range(LIMIT):
        taken += await busy_server.occupy("eve", 1, (b"impersonate-user", b"ann" if number % 2 else b"bob"))
    assert taken == LIMIT * 2 // 3


async def test_slots_are_released(busy_server: BusyServer) -> None:
    await busy_server.occupy("ann", LIMIT)
    busy_server.may_read.set()
    await asyncio.gather(*busy_server.pending)
    busy_server.may_read.clear()
    assert await busy_server.occupy("ann", LIMIT) == LIMIT * 2 // 3


def test_new_user_always_finds_a_free_slot() -> None:
    limit = FairLimit(900, factor=2)
    for number in range(20):
        while limit.can_take(f"user-{number}"):
            limit.take(f"user-{number}")
    assert limit.count("user-0") == 600
    assert 0 < limit.count("user-5") < limit.count("user-1")
    assert limit.total <= limit.limit
    for number in range(20):
        while limit.count(f"user-{number}"):
            limit.release(f"user-{number}")
    assert limit.total == 0


async def test_limit_is_logged_once_each_time_it_is_reached(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    log = LimitLog(clock)
    for _ in range(200):
        log.record("connections", address="10.0.0.1")
        log.record("handshakes")
        await clock.advance(QUIET_SECONDS / 2)
    assert len(caplog.records) == 2
    await clock.advance(QUIET_SECONDS + 1)
    log.record("connections", address="10.0.0.2")
    assert [record.getMessage() for record in caplog.records] == ["limit reached"] * 3


def test_reserve_is_small_and_never_zero() -> None:
    assert [reserved_connections(number) for number in (20, 100, 12_000)] == [2, 5, 600]
