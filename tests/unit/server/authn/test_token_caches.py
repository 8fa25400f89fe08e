"""Caches of credentials: whatever is evicted or reloaded during a look-up, one stays what it is and ends in time."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from probate.core.aio.offload import Inline
from probate.core.clock import FakeClock
from probate.server.app import App
from probate.server.authn import oidc, service_accounts
from probate.server.authn.authenticator import Recognition
from probate.server.authn.oidc import Issuer as Trusted
from probate.server.authn.oidc import Oidc
from probate.server.authn.service_accounts import Accounts
from probate.server.authn.token_file import Listed
from probate.store.contract import Found, Store
from support.in_process_server import Told
from support.oidc_issuer import Key, issuing
from support.rbac_server import Guarded, guarded

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PEM = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
ACCOUNT = "/api/v1/namespaces/a/serviceaccounts/robot"
MANY = 4_100
"""More tokens than any cache of them holds."""


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
        """Hold the next read."""
        self.may_end.clear()

    async def read_many(self, keys: Sequence[str]) -> list[Found]:
        found = await self._inner.read_many(keys)
        if not self.may_end.is_set() and not self.is_reading.is_set():
            self.is_reading.set()
            await self.may_end.wait()
        return found


class Door(Guarded):
    """A server that wants to know who asks."""

    clock: FakeClock
    recognition: Recognition

    async def tell(self, token: str) -> Told:
        """What is answered to who shows a token."""
        everybody, self.app = self.app, App(self.api, recognise=self.recognition, recall=self.recognition.recall)
        headers = [(b"authorization", f"Bearer {token}".encode())]
        asking = asyncio.ensure_future(self.ask("POST", WHO, {}, headers=headers, client=("10.0.0.1", 1)))
        await asyncio.sleep(0)
        self.app = everybody
        return await asking


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    clock = FakeClock(start=1_800_000_000.0)
    async with guarded(clock) as house:
        house.__class__ = Door
        assert isinstance(house, Door)
        house.api.accounts = Accounts(house.store, clock, key=lambda: PEM)
        await house.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield house


async def token_of(door: Door, number: int = 0) -> str:
    uid = (await door.ask("GET", ACCOUNT)).json["metadata"]["uid"]
    return door.api.accounts.issue(service_accounts.Wanted("a", "robot", uid, (), 600), id_=f"id-{number}")[0]


async def looked_up_while_the_cache_is_evicted(door: Door, tmp_path: Path) -> str:
    """A token whose first look-up waited for the store while more others were looked up than a cache holds."""
    (tmp_path / "tokens.csv").write_text(f"{hashlib.sha256(b'of-ann').hexdigest()},ann\n")
    store: Any = HeldStore(door.store)
    known = Accounts(store, door.clock, key=lambda: PEM)
    door.recognition = Recognition(door.clock, known, listed=Listed(tmp_path / "tokens.csv"))
    token = await token_of(door)
    others = [await token_of(door, number) for number in range(1, 3)]
    uid = (await door.ask("GET", ACCOUNT)).json["metadata"]["uid"]
    store.hold()
    asking = asyncio.ensure_future(door.tell(token))
    await store.is_reading.wait()
    for number in range(MANY):
        one = door.api.accounts.issue(service_accounts.Wanted("a", "robot", uid, (), 600), id_=f"more-{number}")[0]
        await door.recognition.of_token(one, ())
    store.may_end.set()
    assert (await asking).code == 201
    assert (await door.tell(others[0])).code == 201
    return token


async def test_token_whose_cache_entry_was_evicted_during_its_lookup_outlived_its_expiry(door: Door, tmp_path: Path) -> None:
    token = await looked_up_while_the_cache_is_evicted(door, tmp_path)
    assert (await door.tell(token)).code == 201
    await door.clock.advance(601)
    assert (await door.tell(token)).code == 401


async def test_token_whose_cache_entry_was_evicted_during_its_lookup_outlived_its_account(door: Door, tmp_path: Path) -> None:
    token = await looked_up_while_the_cache_is_evicted(door, tmp_path)
    await door.ask("DELETE", ACCOUNT)
    assert (await door.tell(token)).code == 401


async def test_token_of_an_issuer_outlived_the_key_that_signed_it(door: Door, tmp_path: Path) -> None:
    with issuing(tmp_path) as issuer:
        trusted = Trusted(issuer.url, "probate", ca_file=str(issuer.ca_file))
        door.recognition = Recognition(door.clock, door.api.accounts, oidc=Oidc(trusted, door.clock, Inline()))
        claims = {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": door.clock.now() + 9_000}
        withdrawn = issuer.keys[0].token(claims)
        assert (await door.tell(withdrawn)).code == 201
        issuer.keys = [Key("two")]
        await door.clock.advance(oidc.AGAIN_SECONDS + 1)
        assert (await door.tell(withdrawn)).code == 201  # nobody has had a reason to ask the issuer again
        assert (await door.tell(issuer.keys[0].token(claims))).code == 201
        assert (await door.tell(withdrawn)).code == 401


async def test_token_of_an_issuer_is_checked_against_its_keys_again_after_an_hour(door: Door, tmp_path: Path) -> None:
    with issuing(tmp_path) as issuer:
        trusted = Trusted(issuer.url, "probate", ca_file=str(issuer.ca_file))
        door.recognition = Recognition(door.clock, door.api.accounts, oidc=Oidc(trusted, door.clock, Inline()))
        claims = {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": door.clock.now() + 9_000}
        token = issuer.keys[0].token(claims)
        assert (await door.tell(token)).code == 201
        await door.clock.advance(oidc.OLD_SECONDS + 1)
        assert (await door.tell(token)).code == 201
        assert issuer.asked == 4  # its description and its keys, twice
        issuer.keys = [Key("one")]
        await door.clock.advance(oidc.OLD_SECONDS + 1)
        assert (await door.tell(token)).code == 401
