"""Token caches: eviction or reloading during a lookup neither changes a token's user nor extends its life."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from probate.core.aio.offload import InlineOffload
from probate.core.clock import FakeClock
from probate.server.app import App
from probate.server.authn import oidc, service_accounts
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.oidc import Issuer as Trusted
from probate.server.authn.oidc import OidcVerifier
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.token_file import TokenFile
from probate.store.contract import ReadResult, Store
from probate.store.sqlite.store import open_memory
from support.in_process_server import Response
from support.oidc_issuer import IssuerKey, run_issuer
from support.rbac_server import RbacServer, running_with_rbac

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PEM = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
ACCOUNT = "/api/v1/namespaces/a/serviceaccounts/robot"
MANY = 4_100
"""More tokens than any token cache holds."""


class HeldStore:
    """A store whose next `read_many` waits, as one on etcd does."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.is_reading = asyncio.Event()
        self.may_end = asyncio.Event()
        self.may_end.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def hold(self) -> None:
        """Makes the next read wait."""
        self.may_end.clear()

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        result = await self._inner.read_many(keys)
        if not self.may_end.is_set() and not self.is_reading.is_set():
            self.is_reading.set()
            await self.may_end.wait()
        return result


class AuthenticatingServer(RbacServer):
    """A server with authentication."""

    clock: FakeClock
    authenticator: RequestAuthenticator

    async def send_token(self, token: str) -> Response:
        """Returns the response to a request with this token."""
        unauthenticated_app, self.app = (
            self.app,
            App(self.api, authenticate=self.authenticator, authenticate_cached=self.authenticator.cached_user),
        )
        headers = [(b"authorization", f"Bearer {token}".encode())]
        lookup = asyncio.ensure_future(self.request("POST", WHO, {}, headers=headers, client=("10.0.0.1", 1)))
        await asyncio.sleep(0)
        self.app = unauthenticated_app
        return await lookup


@pytest.fixture
async def server() -> AsyncIterator[AuthenticatingServer]:
    clock = FakeClock(start=1_800_000_000.0)
    store = await open_memory()
    async with running_with_rbac(clock, store=store, service_accounts=TokenIssuer(store, clock, key=lambda: PEM)) as server:
        server.__class__ = AuthenticatingServer
        assert isinstance(server, AuthenticatingServer)
        await server.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield server


async def token_of(server: AuthenticatingServer, number: int = 0) -> str:
    uid = (await server.request("GET", ACCOUNT)).json["metadata"]["uid"]
    return server.api.service_accounts.issue(service_accounts.TokenRequest("a", "robot", uid, (), 600), id_=f"id-{number}")[0]


async def token_with_evicted_cache_entry(server: AuthenticatingServer, tmp_path: Path) -> str:
    """Returns a token whose first lookup waited for the store while more other tokens were looked up than a cache holds."""
    (tmp_path / "tokens.csv").write_text(f"{hashlib.sha256(b'of-ann').hexdigest()},ann\n")
    store: Any = HeldStore(server.store)
    known = TokenIssuer(store, server.clock, key=lambda: PEM)
    server.authenticator = RequestAuthenticator(server.clock, known, token_file=TokenFile(tmp_path / "tokens.csv"))
    token = await token_of(server)
    others = [await token_of(server, number) for number in range(1, 3)]
    uid = (await server.request("GET", ACCOUNT)).json["metadata"]["uid"]
    store.hold()
    lookup = asyncio.ensure_future(server.send_token(token))
    await store.is_reading.wait()
    for number in range(MANY):
        one = server.api.service_accounts.issue(service_accounts.TokenRequest("a", "robot", uid, (), 600), id_=f"more-{number}")[0]
        await server.authenticator.authenticate_token(one, ())
    store.may_end.set()
    assert (await lookup).code == 201
    assert (await server.send_token(others[0])).code == 201
    return token


async def test_token_whose_cache_entry_was_evicted_during_its_lookup_outlived_its_expiry(
    server: AuthenticatingServer, tmp_path: Path
) -> None:
    token = await token_with_evicted_cache_entry(server, tmp_path)
    assert (await server.send_token(token)).code == 201
    await server.clock.advance(601)
    assert (await server.send_token(token)).code == 401


async def test_token_whose_cache_entry_was_evicted_during_its_lookup_outlived_its_account(
    server: AuthenticatingServer, tmp_path: Path
) -> None:
    token = await token_with_evicted_cache_entry(server, tmp_path)
    await server.request("DELETE", ACCOUNT)
    assert (await server.send_token(token)).code == 401


async def test_token_of_an_issuer_outlived_the_key_that_signed_it(server: AuthenticatingServer, tmp_path: Path) -> None:
    with run_issuer(tmp_path) as issuer:
        trusted = Trusted(issuer.url, "probate", ca_file=str(issuer.ca_file))
        server.authenticator = RequestAuthenticator(
            server.clock, server.api.service_accounts, oidc=OidcVerifier(trusted, server.clock, InlineOffload())
        )
        claims = {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": server.clock.now() + 9_000}
        withdrawn = issuer.keys[0].token(claims)
        assert (await server.send_token(withdrawn)).code == 201
        issuer.keys = [IssuerKey("two")]
        await server.clock.advance(oidc.MIN_FETCH_INTERVAL_SECONDS + 1)
        assert (await server.send_token(withdrawn)).code == 201  # nothing has made the server fetch the keys again
        assert (await server.send_token(issuer.keys[0].token(claims))).code == 201
        assert (await server.send_token(withdrawn)).code == 401


async def test_token_of_an_issuer_is_checked_against_its_keys_again_after_an_hour(
    server: AuthenticatingServer, tmp_path: Path
) -> None:
    with run_issuer(tmp_path) as issuer:
        trusted = Trusted(issuer.url, "probate", ca_file=str(issuer.ca_file))
        server.authenticator = RequestAuthenticator(
            server.clock, server.api.service_accounts, oidc=OidcVerifier(trusted, server.clock, InlineOffload())
        )
        claims = {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": server.clock.now() + 9_000}
        token = issuer.keys[0].token(claims)
        assert (await server.send_token(token)).code == 201
        await server.clock.advance(oidc.MAX_KEY_AGE_SECONDS + 1)
        assert (await server.send_token(token)).code == 201
        assert issuer.requests == 4  # its description and its keys, twice
        issuer.keys = [IssuerKey("one")]
        await server.clock.advance(oidc.MAX_KEY_AGE_SECONDS + 1)
        assert (await server.send_token(token)).code == 401
