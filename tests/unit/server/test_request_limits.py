"""Who may have how many requests under way: users share them, administrators and health checks have reserves."""

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
from probate.server.request_limits import RequestLimits, reserve
from support.rbac_server import Guarded, guarded

LIMIT = 30
SLOW = "/api/v1/namespaces/a/configmaps/slow"
"""Who asks for it waits."""


class Busy:
    """A server with few places, whose answers come when the test wants them."""

    def __init__(self, house: Guarded) -> None:
        self.house = house
        self.may_answer = asyncio.Event()
        limits = RequestLimits(house.api.limits, max_connections=1_000, max_under_way=LIMIT)
        house.app = App(house.api, recognise=self._user, limits=limits)
        self.asking: list[asyncio.Task[Any]] = []
        house.api.store = Slow(house.api.store, self.may_answer)

    async def _user(self, scope: Any) -> User:
        name = dict(scope["headers"])[b"x-name"].decode()
        return User(name, (MASTERS, AUTHENTICATED) if name.startswith("admin") else (AUTHENTICATED,))

    async def ask(self, name: str, path: str, *headers: tuple[bytes, bytes]) -> int:
        return (await self.house.ask("GET", path, headers=[(b"x-name", name.encode()), *headers], client=("10.0.0.1", 1))).code

    async def occupy(self, name: str, number: int, *headers: tuple[bytes, bytes]) -> int:
        """Ask so often for what takes long. Returns how many of them wait for it."""
        asked = [asyncio.ensure_future(self.ask(name, SLOW, *headers)) for _ in range(number)]
        self.asking += asked
        await self.house.turns(20)
        return sum(1 for one in asked if not one.done())


class Slow:
    """A store in which one object is not found before the test wants it."""

    def __init__(self, inner: Any, may_answer: asyncio.Event) -> None:
        self._inner, self._may_answer = inner, may_answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, key: str, **more: Any) -> Any:
        if key.endswith("/slow"):
            await self._may_answer.wait()
        return await self._inner.read(key, **more)


@pytest.fixture
async def busy() -> AsyncIterator[Busy]:
    async with guarded() as house:
        for name in ("ann", "bob", "eve"):
            await house.grant(name, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]})
        rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
        await house.grant("eve", rule)
        made = Busy(house)
        yield made
        made.may_answer.set()
        assert {*await asyncio.gather(*made.asking)} <= {404, 429}


async def test_one_user_took_all_places(busy: Busy) -> None:
    assert await busy.occupy("ann", LIMIT + 10) == LIMIT * 2 // 3
    assert await busy.ask("ann", SLOW) == 429
    assert await busy.ask("bob", "/api/v1/namespaces/a/configmaps/none") == 404
    assert await busy.occupy("bob", LIMIT) > 3
    assert await busy.ask("admin", "/api/v1/namespaces/a/configmaps/none") == 404


async def test_administrators_have_places_of_their_own(busy: Busy) -> None:
    assert await busy.occupy("admin-1", LIMIT) == LIMIT
    assert await busy.ask("ann", SLOW) == 429
    assert await busy.occupy("admin-2", 100) == 40
    assert await busy.ask("admin-3", SLOW) == 429
    assert await busy.ask("ann", "/version") != 429


async def test_who_acts_as_others_counts_as_who_they_are(busy: Busy) -> None:
    taken = 0
    for number in range(LIMIT):
        taken += await busy.occupy("eve", 1, (b"impersonate-user", b"ann" if number % 2 else b"bob"))
    assert taken == LIMIT * 2 // 3


async def test_places_are_given_back(busy: Busy) -> None:
    await busy.occupy("ann", LIMIT)
    busy.may_answer.set()
    await asyncio.gather(*busy.asking)
    busy.may_answer.clear()
    assert await busy.occupy("ann", LIMIT) == LIMIT * 2 // 3


def test_however_many_share_a_limit_the_next_one_finds_something_free() -> None:
    limit = FairLimit(900, factor=2)
    for number in range(20):
        while limit.admits(f"user-{number}"):
            limit.take(f"user-{number}")
    assert limit.held_by("user-0") == 600
    assert 0 < limit.held_by("user-5") < limit.held_by("user-1")
    assert limit.total <= limit.limit
    for number in range(20):
        while limit.held_by(f"user-{number}"):
            limit.release(f"user-{number}")
    assert limit.total == 0


async def test_a_limit_is_logged_once_for_each_time_that_it_begins(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    log = LimitLog(clock)
    for _ in range(200):
        log.reached("connections", address="10.0.0.1")
        log.reached("handshakes")
        await clock.advance(QUIET_SECONDS / 2)
    assert len(caplog.records) == 2
    await clock.advance(QUIET_SECONDS + 1)
    log.reached("connections", address="10.0.0.2")
    assert [record.getMessage() for record in caplog.records] == ["limit reached"] * 3


def test_a_reserve_is_small_and_never_nothing() -> None:
    assert [reserve(number) for number in (20, 100, 12_000)] == [2, 5, 600]
