"""What is no resource is closed to strangers, but for how the server is; to who has no right, but for what the API is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from guarded import Guarded, guarded
from probate import errors
from probate.clock import FakeClock
from probate.machinery.rbac.users import AUTHENTICATED, User
from probate.server import dispatch, health
from probate.server.app import App
from probate.server.authentication.accounts import Accounts
from probate.server.authentication.failures import AT_ONCE, MAX_ADDRESSES, SECONDS_EACH, Failures
from probate.server.authentication.recognition import OPEN, Recognition

HEALTH = [f"/{one}" for one in health.CHECKS]
OWN = [*dispatch.QUESTIONS, "/metrics"]
ABOUT_THE_API = ["/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1", "/openapi/v2", "/openapi/v3", "/version"]
ELSEWHERE = [
    "/debug",
    "/debug/pprof",
    "/debug/pprof/heap",
    "/debug/flags/v",
    "/debug/vars",
    "/logs",
    "/configz",
    "/statusz",
    "/flagz",
]
ELSEWHERE += ["/", "/index.html", "/admin", "/.env", "/metrics/slis", "/metrics/cadvisor", "/stats/summary", "/ui", "/swagger.json"]


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        del one.api.readiness["collector"]  # which does not run here
        yield one


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_strangers_are_told_how_the_server_is_and_nothing_else(house: Guarded, method: str) -> None:
    recognition = Recognition(house.clock, Accounts(house.store, house.clock))
    house.app = App(house.api, recognise=recognition)
    assert {*OPEN} == {*HEALTH}
    for path in HEALTH:
        assert (await house.ask(method, path)).code == {"GET": 200}.get(method, 403), path
    for path in (*OWN, *ABOUT_THE_API, *ELSEWHERE):
        assert (await house.ask(method, path)).code == 401, path


@pytest.mark.parametrize("path", [*OWN, *ELSEWHERE])
async def test_who_is_known_and_has_no_right_learns_nothing_about_other_paths(house: Guarded, path: str) -> None:
    async def somebody(_: Any) -> User:
        return User("eve", (AUTHENTICATED,))

    house.app = App(house.api, recognise=somebody)
    for method in ("GET", "POST", "DELETE"):
        assert (await house.ask(method, path)).code == 403, method


@pytest.mark.parametrize("path", ABOUT_THE_API)
async def test_what_the_api_is_may_be_read_by_who_is_known_and_not_by_who_has_no_role_at_all(house: Guarded, path: str) -> None:
    people = iter([User("ann", (AUTHENTICATED,)), User("eve")])

    async def somebody(_: Any) -> User:
        return next(people)

    house.app = App(house.api, recognise=somebody)
    assert [(await house.ask("GET", path)).code for _ in range(2)] == [200, 403]


def test_who_has_many_addresses_has_to_wait_all_the_same() -> None:
    tried = Failures(FakeClock())
    for number in range(AT_ONCE + 1):
        tried.check("2001:db8::ffff")
        tried.note(f"2001:db8::{number:x}")
    with pytest.raises(errors.TooManyRequests):
        tried.check("2001:db8::ffff")
    tried.check("2001:db8:0:1::1")
    tried.check("::ffff:10.0.0.1")


def test_failures_of_ever_new_addresses_are_forgotten_and_not_kept_without_end() -> None:
    clock = FakeClock()
    tried = Failures(clock)
    for number in range(3 * MAX_ADDRESSES):
        tried.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(tried._until) <= MAX_ADDRESSES


async def test_patience_with_who_fails_comes_back_with_time() -> None:
    clock = FakeClock()
    tried = Failures(clock)
    for _ in range(AT_ONCE + 1):
        tried.note("10.0.0.1")
    with pytest.raises(errors.TooManyRequests):
        tried.check("10.0.0.1")
    await clock.advance(SECONDS_EACH + 0.1)
    tried.check("10.0.0.1")
