"""Simulates tokens of all kinds while their accounts, objects, keys and files change and caches are evicted at any time.

One seed is one run on virtual time. Between any two callbacks of the loop, so at every await of a look-up that waits for anything,
all caches of credentials may be emptied and the file of tokens may be read again. Two rules are checked with every answer:

    a token that was invalid before the request began is refused,
    a token that was valid until the response was sent is accepted.

A token whose end falls in between may be accepted or refused.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import itertools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from probate.core.aio import tasks
from probate.kinds.builtin import catalog
from probate.server.app import App
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.oidc import MAX_KEY_AGE_SECONDS, Issuer, OidcVerifier
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.token_file import TokenFile
from probate.server.context import ServerContext
from probate.server.kind_registry import KindRegistry
from probate.store.sqlite.store import open_memory
from simulation.connection import Answer, Connection, Lost
from simulation.faults import FaultSchedule
from simulation.faulty_store import FaultyStore
from simulation.virtual_loop import LoopClock, VirtualLoop
from support import bootstrap
from support.oidc_issuer import es256_token

T = TypeVar("T")

HOLDERS = 4
ROUNDS = 40
"""What each of them does."""
P_EVICT = 0.2
P_RELOAD = 0.02
ISSUER = "https://issuer.test"
VERSION = "/version"
ACCEPTED = 403
"""No user has any permission here, so this is the response to an authenticated one."""
CORE = "/api/v1/namespaces/default"
PEM = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
KEYS = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]


class CredentialError(Exception):
    """A token was accepted or refused wrongly."""


class Token:
    """One credential. It is valid until `doubtful`, and invalid from `dead` on."""

    def __init__(self, kind: str, text: str, expires: float = float("inf")) -> None:
        self.kind, self.text = kind, text
        self.doubtful = self.dead = expires
        self.depends_on: tuple[str, ...] = ()

    def doom(self, at: float) -> None:
        self.doubtful = min(self.doubtful, at)

    def end(self, at: float) -> None:
        self.dead = min(self.dead, at)


class SimulatedIssuer:
    """The issuer's side of an `Offload`: returns its current keys after a delay."""

    def __init__(self, rng: random.Random) -> None:
        self.current = 0
        self._rng = rng

    async def run(self, _call: Callable[[], T]) -> T:
        await asyncio.sleep(self._rng.expovariate(1.0))
        keys: Any = {f"key-{self.current}": KEYS[self.current % len(KEYS)].public_key()}
        await asyncio.sleep(self._rng.expovariate(1.0))
        return keys  # type: ignore[no-any-return]

    def close(self) -> None:
        pass


class CredentialRun:
    """One run. `play` returns a description of the failure; empty if it succeeded."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"credentials {seed}")  # noqa: S311
        self._loop = VirtualLoop(seed)
        self._clock = LoopClock(self._loop)
        self._faults = FaultSchedule(seed)
        self._faults.rates = self._faults.rates._replace(
            p_crash=0, p_write_fails=0, p_read_fails=0, p_cut=0, delay=0.5, p_delay=0.7
        )
        self._storm_ends = self._rng.uniform(0, 3_000)
        self._issuer = SimulatedIssuer(self._rng)
        self._numbers = itertools.count(1)
        self._tokens: list[Token] = []
        self._going: dict[str, float] = {}  # when the deletion of a uid began
        self._gone: dict[str, float] = {}  # when it was acknowledged
        self.answers: dict[tuple[str, int], int] = {}

    def play(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            self._file = Path(folder) / "tokens.csv"
            self._ann = self._write_file()
            try:
                self._loop.play(self._run())
            except CredentialError as error:
                return str(error)
            finally:
                self._loop.wind_up()
        return ""

    async def _run(self) -> None:
        inner = await open_memory()
        store: Any = FaultyStore(inner, self._faults, contextvars.copy_context(), written=lambda *_: None, die=lambda: None)
        accounts = TokenIssuer(store, self._clock, key=lambda: PEM)
        kinds = KindRegistry(store, catalog.load())
        api = ServerContext(store, kinds, self._clock, new_uid=self._uid, random=self._rng, service_accounts=accounts)
        await bootstrap.ensure_namespaces(api)
        await api.kinds.refresh(now=api.timestamp())
        self._listed = TokenFile(self._file)
        oidc = OidcVerifier(Issuer(ISSUER, "probate"), self._clock, self._issuer)
        self._recognition = RequestAuthenticator(self._clock, api.service_accounts, token_file=self._listed, oidc=oidc)
        self._everybody = App(api)
        self._app = App(api, authenticate=self._recognition, authenticate_cached=self._recognition.cached_user)
        following = tasks.start_supervised(
            api.authorizer.cache.run(lambda: asyncio.sleep(1)), name="grants", on_failure=self._loop.fail
        )
        self._loop.after_each = self._disturb
        await asyncio.gather(*(self._hold() for _ in range(HOLDERS)), self._destroy(), self._rotate())
        self._loop.after_each = lambda: None
        await tasks.stop(following)
        await inner.close()

    def _uid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._numbers):012d}"

    # --- what happens between any two callbacks -------------------------------------------------------------------------

    def _disturb(self) -> None:
        is_stormy = self._loop.time() < self._storm_ends  # afterwards caches are left alone: what is wrong in them stays there
        if is_stormy and self._rng.random() < P_EVICT:
            self._recognition.evict()
        if self._rng.random() < (P_RELOAD if is_stormy else P_RELOAD / 10):
            old, self._ann = self._ann, self._write_file()
            self._listed.refresh()
            old.doom(self._clock.now())
            old.end(self._clock.now())
            if self._rng.random() < 0.2:
                self._tokens.append(old)

    def _write_file(self) -> Token:
        """A file with one token, which no file before it had."""
        token = Token("file", f"of-ann-{next(self._numbers)}")
        padding = "#" * (next(self._numbers) % 997)  # the size tells that the file has changed, where its time does not
        self._file.write_text(f"{padding}\n{hashlib.sha256(token.text.encode()).hexdigest()},ann\n")
        return token

    # --- those who act --------------------------------------------------------------------------------------------------

    async def _hold(self) -> None:
        """Get tokens, and use them again and again, also when they are over."""
        for _ in range(ROUNDS):
            lot = self._rng.random()
            if lot < 0.15 or not self._tokens:
                await self._obtain()
            elif lot < 0.3:
                await self._use(self._ann)
            else:
                await self._use(self._rng.choice(self._tokens[-15:]))
            await asyncio.sleep(self._rng.choice((0.0, 0.1, 1.0, 60.0, 500.0)))

    async def _obtain(self) -> None:
        if self._rng.random() < 0.3:
            number, ends = self._issuer.current, self._clock.now() + 20_000
            claims = {"iss": ISSUER, "aud": "probate", "sub": "eve", "exp": ends, "jti": next(self._numbers)}
            token = Token("issuer", es256_token(claims, KEYS[number % len(KEYS)], f"key-{number}"), ends)
            token.depends_on = (f"key-{number}",)
            self._tokens.append(token)
            return
        name, secret = f"robot-{self._rng.randint(1, 2)}", f"secret-{self._rng.randint(1, 2)}"
        account = await self._ensure("serviceaccounts", name)
        spec: dict[str, Any] = {"expirationSeconds": self._rng.choice((600, 900, 7200))}
        depends = [account]
        if self._rng.random() < 0.5:
            depends.append(await self._ensure("secrets", secret))
            spec["boundObjectRef"] = {"kind": "Secret", "apiVersion": "v1", "name": secret, "uid": depends[-1]}
        began = self._clock.now()
        made = await self._ask("POST", f"{CORE}/serviceaccounts/{name}/token", {"spec": spec})
        if made.code != 201:
            return
        token = Token("account", made.body["status"]["token"], self._clock.now() // 1 + spec["expirationSeconds"])
        token.doom(began // 1 + spec["expirationSeconds"])
        token.depends_on = tuple(depends)
        for uid in depends:
            token.doom(self._going.get(uid, token.doubtful))
            token.end(self._gone.get(uid, token.dead))
        self._tokens.append(token)

    async def _ensure(self, plural: str, name: str) -> str:
        await self._ask("POST", f"{CORE}/{plural}", {"metadata": {"name": name}})
        found = await self._ask("GET", f"{CORE}/{plural}/{name}")
        return str(found.body["metadata"]["uid"]) if found.code == 200 else "none"

    async def _destroy(self) -> None:
        """Delete accounts and secrets. Those who need them make new ones of the same names."""
        for _ in range(ROUNDS):
            await asyncio.sleep(self._rng.choice((0.1, 1.0, 100.0, 300.0)))
            plural, name = self._rng.choice((("serviceaccounts", "robot-"), ("secrets", "secret-")))
            path = f"{CORE}/{plural}/{name}{self._rng.randint(1, 2)}"
            found = await self._ask("GET", path)
            if found.code != 200:
                continue
            uid = found.body["metadata"]["uid"]
            self._going[uid] = self._clock.now()
            self._doom(uid)
            if (await self._ask("DELETE", path, {"preconditions": {"uid": uid}})).code == 200:
                self._gone[uid] = self._clock.now()
                for token in self._tokens:
                    if uid in token.depends_on:
                        token.end(self._clock.now())

    def _doom(self, what: str) -> None:
        for token in self._tokens:
            if what in token.depends_on:
                token.doom(self._clock.now())

    async def _rotate(self) -> None:
        """The issuer replaces its key now and then. Its old one is believed until its keys are due to be fetched again."""
        for _ in range(3):
            await asyncio.sleep(self._rng.uniform(100, 1_500))
            old = f"key-{self._issuer.current}"
            self._issuer.current += 1
            self._doom(old)
            for token in self._tokens:
                if old in token.depends_on:
                    token.end(self._clock.now() + MAX_KEY_AGE_SECONDS)

    async def _use(self, token: Token) -> None:
        began = self._clock.now()
        code = (await self._ask("GET", VERSION, token=token)).code
        self.answers[token.kind, code] = self.answers.get((token.kind, code), 0) + 1
        if code == ACCEPTED and began > token.dead:
            raise CredentialError(f"a token of kind {token.kind} was accepted {began - token.dead:g} s after its end")
        is_good = self._clock.now() < token.doubtful and token.kind != "issuer"  # whose key may not have been fetched yet
        if code in {401, 429} and is_good:
            raise CredentialError(f"a token of kind {token.kind} was answered {code} although it is good")

    async def _ask(self, method: str, path: str, body: Any = None, *, token: Token | None = None) -> Answer:
        connection = Connection(method, path, "", body=body, media="application/json", is_direct=False)
        if token is not None:
            connection.scope["headers"] = [*connection.scope["headers"], (b"authorization", f"Bearer {token.text}".encode())]
        app = self._everybody if token is None else self._app
        connection.task = self._loop.create_task(app(connection.scope, connection.receive, connection.send))
        try:
            return await connection.whole()
        except Lost:
            raise CredentialError("the server did not answer") from None
