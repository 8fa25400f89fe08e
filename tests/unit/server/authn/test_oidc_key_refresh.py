"""The keys of an OpenID Connect issuer are refreshed in the background: no request waits, and withdrawn keys are still refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from probate.app.credentials import SecureServing
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.http.limit_log import LimitLog
from probate.server.app import App
from probate.server.authn.oidc import MAX_KEY_AGE_SECONDS, MAX_WAITING
from probate.settings import Settings
from support.oidc_issuer import Issuer, IssuerKey, run_issuer
from support.rbac_server import RbacServer, running_with_rbac

T = TypeVar("T")

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MINUTE = 60
MINUTES = int(MAX_KEY_AGE_SECONDS) // MINUTE


class HeldOffload:
    """Runs calls on the event loop, while `may_run` is set."""

    def __init__(self) -> None:
        self.may_run = asyncio.Event()
        self.may_run.set()

    async def run(self, call: Callable[[], T]) -> T:
        await self.may_run.wait()
        return call()

    def close(self) -> None:
        pass


class Site:
    """A server that trusts an issuer, and its clock."""

    def __init__(self, server: RbacServer, issuer: Issuer, clock: FakeClock, tmp_path: Path) -> None:
        self.issuer, self.clock, self.offload = issuer, clock, HeldOffload()
        self._server = server
        ca_file = str(issuer.ca_file)
        settings = Settings(
            pki=str(tmp_path / "pki"),
            oidc_issuer_url=issuer.url,
            oidc_client_id="probate",
            oidc_ca_file=ca_file,
            max_connections=10_000,
        )
        self.secure = SecureServing(settings, "127.0.0.1", clock)
        recognises = self.secure.authenticator(server.api.service_accounts, self.offload, LimitLog(clock))
        server.app = App(server.api, authenticate=recognises, authenticate_cached=recognises.cached_user)

    def token(self, key: IssuerKey, name: str = "ann") -> str:
        return key.token({"iss": self.issuer.url, "aud": "probate", "sub": name, "exp": self.clock.now() + 100_000})

    async def ask(self, token: str) -> int:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        response = await self._server.request("POST", WHO, {}, headers=headers, client=("10.0.0.1", 1))
        return response.code

    async def ask_at_once(self, token: str) -> int:
        """Returns the status code of a request that must not wait for the issuer."""
        async with asyncio.timeout(5):
            return await self.ask(token)

    async def pass_minutes(self, count: int) -> None:
        for _ in range(count):
            await self.clock.advance(MINUTE)


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[Issuer]:
    with run_issuer(tmp_path) as one:
        yield one


@pytest.fixture
async def site(issuer: Issuer, tmp_path: Path) -> AsyncIterator[Site]:
    clock = FakeClock(1_800_000_000.0)
    async with running_with_rbac(clock) as server:
        made = Site(server, issuer, clock, tmp_path)
        refreshing = asyncio.ensure_future(made.secure.run(lambda: None))
        yield made
        made.offload.may_run.set()
        await tasks.stop(refreshing)


async def test_once_an_hour_all_tokens_waited_for_the_keys_and_many_from_one_address_got_429(site: Site) -> None:
    key = site.issuer.keys[0]
    tokens = [site.token(key, f"user-{number}") for number in range(MAX_WAITING + 1)]
    assert await site.ask(tokens[0]) == 201
    await site.pass_minutes(MINUTES - 5)
    assert site.issuer.requests == 4  # the discovery document and the keys, twice
    await site.clock.advance(6 * MINUTE - 1)
    site.offload.may_run.clear()
    codes = await asyncio.gather(*map(site.ask_at_once, tokens))
    assert set(codes) == {201}


async def test_tokens_do_not_wait_while_keys_are_refreshed(site: Site) -> None:
    key = site.issuer.keys[0]
    assert await site.ask(site.token(key)) == 201
    site.offload.may_run.clear()
    await site.pass_minutes(MINUTES - 1)
    codes = await asyncio.gather(*(site.ask_at_once(site.token(key, f"user-{number}")) for number in range(MAX_WAITING)))
    assert set(codes) == {201}


async def test_withdrawn_key_is_refused_within_an_hour(site: Site) -> None:
    withdrawn = site.issuer.keys[0]
    token = site.token(withdrawn)
    assert await site.ask(token) == 201
    site.issuer.keys = [IssuerKey("two")]
    for _ in range(10):
        assert await site.ask_at_once(token) == 201
        await site.clock.advance(MINUTE)
    await site.pass_minutes(MINUTES - 10)
    assert await site.ask(token) == 401
    assert await site.ask(site.token(site.issuer.keys[0])) == 201


async def test_tokens_waited_for_each_attempt_while_the_issuer_was_unreachable(site: Site) -> None:
    key = site.issuer.keys[0]
    tokens = [site.token(key, f"user-{number}") for number in range(MAX_WAITING)]
    assert await site.ask(tokens[0]) == 201
    site.issuer.is_broken = True
    await site.pass_minutes(MINUTES + 5)
    site.offload.may_run.clear()
    await site.clock.advance(MINUTE)  # the next attempt is under way
    assert set(await asyncio.gather(*map(site.ask_at_once, tokens))) == {201}
    site.issuer.is_broken, site.issuer.keys = False, [IssuerKey("two")]
    site.offload.may_run.set()
    await site.clock.advance(1)
    assert await site.ask(tokens[0]) == 401


async def test_idle_server_without_tokens_does_not_fetch_keys(site: Site) -> None:
    await site.pass_minutes(2 * MINUTES)
    assert site.issuer.requests == 0


@pytest.mark.parametrize("answer", [{"keys": 5}, {"keys": None}, {"jwks_uri": "https://127.0.0.1:1/a b"}])
async def test_issuer_that_answers_nonsense_caused_internal_errors(
    site: Site, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {"issuer": site.issuer.url, "jwks_uri": f"{site.issuer.url}/keys"} | answer
    monkeypatch.setattr(site.issuer, "answer", lambda _: documents)
    assert await site.ask(site.token(site.issuer.keys[0])) == 401
