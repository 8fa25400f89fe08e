"""What is no resource is closed to strangers, but for how the server is; to who has no right, but for what the API is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import AUTHENTICATED, User
from probate.core import errors
from probate.core.clock import FakeClock
from probate.http.limit_log import LimitLog
from probate.server import health, routing
from probate.server.app import App
from probate.server.authn.authenticator import OPEN, Recognition
from probate.server.authn.failure_limit import AT_ONCE, MAX_REMEMBERED, MAX_SECONDS, SECONDS_EACH, Failures
from probate.server.authn.service_accounts import Accounts
from support.rbac_server import Guarded, guarded

HEALTH = [f"/{one}" for one in health.CHECKS]
OWN = [*routing.QUESTIONS, "/metrics"]
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


def failures(clock: FakeClock) -> Failures:
    return Failures(clock, LimitLog(clock))


def is_told_to_wait(tried: Failures, address: str, credential: bytes) -> bool:
    refusal = tried.refusal(address, credential)
    assert isinstance(refusal, errors.Unauthorized | errors.TooManyRequests)
    return isinstance(refusal, errors.TooManyRequests)


def test_who_has_many_addresses_has_to_wait_all_the_same() -> None:
    tried = failures(FakeClock())
    told = [is_told_to_wait(tried, f"2001:db8::{number:x}", b"%d" % number) for number in range(AT_ONCE + 1)]
    assert told == [False] * AT_ONCE + [True]
    assert not is_told_to_wait(tried, "2001:db8:0:1::1", b"x")
    assert not is_told_to_wait(tried, "::ffff:10.0.0.1", b"x")


def test_one_credential_in_a_loop_does_not_count_for_its_neighbours() -> None:
    tried = failures(FakeClock())
    told = [is_told_to_wait(tried, "10.0.0.1", b"expired") for _ in range(10 * AT_ONCE)]
    assert told == [False] * AT_ONCE + [True] * 9 * AT_ONCE
    assert not is_told_to_wait(tried, "10.0.0.1", b"another")
    assert not is_told_to_wait(tried, "10.0.0.2", b"expired")


def test_failures_of_ever_new_addresses_are_forgotten_and_not_kept_without_end() -> None:
    tried = failures(FakeClock())
    for number in range(3 * MAX_REMEMBERED):
        tried.refusal(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", b"x")
    assert max(len(tried._addresses), len(tried._credentials)) <= MAX_REMEMBERED


async def test_a_penalty_is_of_seconds_however_often_somebody_has_failed() -> None:
    clock = FakeClock()
    tried = failures(clock)
    for number in range(100 * AT_ONCE):
        refusal = tried.refusal("10.0.0.1", b"%d" % number)
    assert refusal.details.retry_after_seconds == MAX_SECONDS
    await clock.advance(MAX_SECONDS + 2 * SECONDS_EACH)
    assert not is_told_to_wait(tried, "10.0.0.1", b"next")


@pytest.mark.parametrize("start", [51.30703872357531, 8177.643255778096, 1048573.3418311159])  # where a sum of floats is rounded up
def test_a_client_was_told_to_wait_for_longer_than_the_limit(start: float) -> None:
    tried = failures(FakeClock(start))
    waits = [tried.refusal("10.0.0.1", b"x").details.retry_after_seconds or 0 for _ in range(2 * AT_ONCE)]
    assert max(waits) == MAX_SECONDS
