"""Rights of anonymous users and of users without roles: health endpoints and discovery only. And limits on failures."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import AUTHENTICATED, User
from probate.core import errors
from probate.core.clock import FakeClock
from probate.http.limit_log import LimitLog
from probate.server import routing
from probate.server.app import App
from probate.server.authn.authenticator import ANONYMOUS_PATHS, RequestAuthenticator
from probate.server.authn.failure_limit import (
    BURST,
    DELAY_SECONDS,
    MAX_DELAY_SECONDS,
    MAX_RETRY_AFTER_SECONDS,
    MAX_TRACKED,
    SECONDS_PER_FAILURE,
    SPACING_SECONDS,
    FailureLimiter,
)
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.diagnostics import health
from support.rbac_server import RbacServer, running_with_rbac

HEALTH = [f"/{item}" for item in health.CHECKS]
OWN = [*routing.PROBATE_PATHS, "/metrics"]
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
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        del item.api.readiness_checks["garbage-collector-controller"]  # which does not run here
        yield item


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_anonymous_requests_may_only_read_health(server: RbacServer, method: str) -> None:
    recognition = RequestAuthenticator(server.clock, TokenIssuer(server.store, server.clock))
    server.app = App(server.api, authenticate=recognition)
    assert {*ANONYMOUS_PATHS} == {*HEALTH}
    for path in HEALTH:
        assert (await server.request(method, path)).code == {"GET": 200}.get(method, 403), path
    for path in (*OWN, *ABOUT_THE_API, *ELSEWHERE):
        assert (await server.request(method, path)).code == 401, path


@pytest.mark.parametrize("path", [*OWN, *ELSEWHERE])
async def test_authenticated_user_without_rights_cannot_read_other_paths(server: RbacServer, path: str) -> None:
    async def somebody(_: Any) -> User:
        return User("eve", (AUTHENTICATED,))

    server.app = App(server.api, authenticate=somebody)
    for method in ("GET", "POST", "DELETE"):
        assert (await server.request(method, path)).code == 403, method


@pytest.mark.parametrize("path", ABOUT_THE_API)
async def test_discovery_needs_the_role_of_authenticated_users(server: RbacServer, path: str) -> None:
    people = iter([User("ann", (AUTHENTICATED,)), User("eve")])

    async def somebody(_: Any) -> User:
        return next(people)

    server.app = App(server.api, authenticate=somebody)
    assert [(await server.request("GET", path)).code for _ in range(2)] == [200, 403]


def failures(clock: FakeClock) -> FailureLimiter:
    return FailureLimiter(clock, LimitLog(clock))


def is_told_to_wait(tried: FailureLimiter, address: str, credential: bytes) -> bool:
    refusal = tried.record(address, credential)
    assert isinstance(refusal, errors.Unauthorized | errors.TooManyRequests)
    return isinstance(refusal, errors.TooManyRequests)


def test_ipv6_addresses_of_one_network_count_together() -> None:
    tried = failures(FakeClock())
    response = [is_told_to_wait(tried, f"2001:db8::{number:x}", b"%d" % number) for number in range(BURST + 1)]
    assert response == [False] * BURST + [True]
    assert not is_told_to_wait(tried, "2001:db8:0:1::1", b"x")
    assert not is_told_to_wait(tried, "::ffff:10.0.0.1", b"x")


def test_one_failing_credential_does_not_limit_others_at_its_address() -> None:
    tried = failures(FakeClock())
    response = [is_told_to_wait(tried, "10.0.0.1", b"expired") for _ in range(10 * BURST)]
    assert response == [False] * BURST + [True] * 9 * BURST
    assert not is_told_to_wait(tried, "10.0.0.1", b"another")
    assert not is_told_to_wait(tried, "10.0.0.2", b"expired")


def test_clients_refused_together_do_not_retry_together() -> None:
    tried = failures(FakeClock())
    delays = [tried.delay() for _ in range(5_000)]
    assert delays[0] == DELAY_SECONDS
    assert all(
        after - before >= SPACING_SECONDS * 0.99 for before, after in itertools.pairwise(delays) if after < MAX_DELAY_SECONDS
    )
    assert max(delays) == MAX_DELAY_SECONDS


def test_number_of_tracked_addresses_is_limited() -> None:
    tried = failures(FakeClock())
    for number in range(3 * MAX_TRACKED):
        tried.record(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", b"x")
    assert max(len(tried._addresses), len(tried._credentials)) <= MAX_TRACKED


async def test_retry_after_is_limited_however_often_a_client_fails() -> None:
    clock = FakeClock()
    tried = failures(clock)
    for number in range(100 * BURST):
        refusal = tried.record("10.0.0.1", b"%d" % number)
    assert refusal.details.retry_after_seconds == MAX_RETRY_AFTER_SECONDS
    await clock.advance(MAX_RETRY_AFTER_SECONDS + 2 * SECONDS_PER_FAILURE)
    assert not is_told_to_wait(tried, "10.0.0.1", b"next")


@pytest.mark.parametrize("start", [51.30703872357531, 8177.643255778096, 1048573.3418311159])  # where a sum of floats is rounded up
def test_retry_after_exceeded_its_limit(start: float) -> None:
    tried = failures(FakeClock(start))
    waits = [tried.record("10.0.0.1", b"x").details.retry_after_seconds or 0 for _ in range(2 * BURST)]
    assert max(waits) == MAX_RETRY_AFTER_SECONDS
