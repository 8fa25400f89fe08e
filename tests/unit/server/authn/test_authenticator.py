"""Who a request is from: each kind of credential, right, and wrong in many ways. Wrong ones are all the same 401."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat, load_pem_private_key

from probate.api.rbac.users import User
from probate.core import errors
from probate.core.aio.offload import Inline
from probate.core.clock import FakeClock
from probate.http.tls import authority, client_certificates
from probate.http.tls.authority import Subject
from probate.http.tls.client_certificates import Peer
from probate.server.app import App
from probate.server.authn import authenticator, failure_limit, jwt
from probate.server.authn.authenticator import Recognition
from probate.server.authn.oidc import Issuer as Trusted
from probate.server.authn.oidc import Oidc
from probate.server.authn.service_accounts import AFTER_DELETION, Accounts
from probate.server.authn.token_file import Listed
from support.in_process_server import Told
from support.oidc_issuer import Issuer, Key, elliptic, encoded, issuing, joined, number
from support.rbac_server import Guarded, guarded

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PEM = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
KEY: Any = load_pem_private_key(PEM, None)
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
ACCOUNT = "/api/v1/namespaces/a/serviceaccounts/robot"


class Door(Guarded):
    """A server that wants to know who asks."""

    clock: FakeClock
    recognition: Recognition

    async def tell(self, token: str, *more: tuple[bytes, bytes], path: str = WHO, address: str = "") -> Told:
        """What is answered to who shows a token."""
        headers = [(b"authorization", f"Bearer {token}".encode()), *more]
        everybody, self.app = self.app, App(self.api, recognise=self._at(address), recall=self.recognition.recall)
        try:
            return await self.ask("POST" if path == WHO else "GET", path, {} if path == WHO else None, headers=headers)
        finally:
            self.app = everybody

    def _at(self, address: str) -> Callable[[Any], Any]:
        return lambda scope: self.recognition({**scope, "client": (address or str(random.random()), 1)})  # noqa: S311

    async def request_token(self, code: int = 201, **spec: Any) -> Any:
        told = await self.ask("POST", f"{ACCOUNT}/token", {"spec": spec})
        assert told.code == code, told.body
        return told.json["status"]["token"] if code == 201 else told.json


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    clock = FakeClock(start=1_800_000_000.0)
    async with guarded(clock) as house:
        house.__class__ = Door
        assert isinstance(house, Door)
        house.api.accounts = Accounts(house.store, clock, key=lambda: PEM)
        house.recognition = Recognition(clock, house.api.accounts)
        house.api.tokens = house.recognition.of_token
        await house.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield house


def is_refused(told: Told) -> bool:
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized"}
    return (told.code, told.json) == (401, {**plain, "reason": "Unauthorized", "details": {}, "code": 401})


class TestAccounts:
    """Tokens of service accounts."""

    async def test_a_token_is_of_its_account(self, door: Door) -> None:
        told = await door.tell(await door.request_token())
        user = told.json["status"]["userInfo"]
        assert user["username"] == "system:serviceaccount:a:robot"
        assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"]
        assert user["uid"] == (await door.ask("GET", ACCOUNT)).json["metadata"]["uid"]
        assert user["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")

    async def test_it_ends_by_its_time(self, door: Door) -> None:
        token = await door.request_token(expirationSeconds=600)
        await door.clock.advance(599)
        assert (await door.tell(token)).code == 201
        await door.clock.advance(2)
        assert is_refused(await door.tell(token))

    async def test_it_dies_with_its_account_at_once_and_is_not_of_the_next_one_of_that_name(self, door: Door) -> None:
        token = await door.request_token()
        assert (await door.tell(token)).code == 201
        await door.ask("DELETE", ACCOUNT)
        assert is_refused(await door.tell(token))
        await door.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        assert is_refused(await door.tell(token))

    async def test_it_dies_with_the_pod_that_it_is_bound_to(self, door: Door) -> None:
        spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        pod = await door.create("pods", "a", {"metadata": {"name": "p"}, "spec": spec})
        token = await door.request_token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
        user = (await door.tell(token)).json["status"]["userInfo"]
        assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
        await door.ask("DELETE", "/api/v1/namespaces/a/pods/p", {"gracePeriodSeconds": 0})
        assert is_refused(await door.tell(token))

    async def test_what_is_being_deleted_has_a_minute(self, door: Door) -> None:
        await door.create("secrets", "a", {"metadata": {"name": "s", "finalizers": ["acme.com/hold"]}})
        token = await door.request_token(boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
        await door.ask("DELETE", "/api/v1/namespaces/a/secrets/s")
        assert (await door.tell(token)).code == 201
        await door.clock.advance(AFTER_DELETION + 1)
        assert is_refused(await door.tell(token))

    @pytest.mark.parametrize(
        ("spec", "code"),
        [
            ({"expirationSeconds": 599}, 422),
            ({"expirationSeconds": 1 << 33}, 422),
            ({"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}, 400),
            ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nowhere"}}, 404),
            ({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "another"}}, 409),
            ({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "of-another"}}, 400),
        ],
    )
    async def test_tokens_that_are_not_made(self, door: Door, spec: dict[str, Any], code: int) -> None:
        await door.create("secrets", "a", {"metadata": {"name": "s"}})
        pod = {"serviceAccountName": "another", "containers": [{"name": "c", "image": "i"}]}
        await door.create("pods", "a", {"metadata": {"name": "of-another"}, "spec": pod})
        await door.request_token(code, **spec)

    async def test_a_token_for_others_is_for_others_only(self, door: Door) -> None:
        token = await door.request_token(audiences=["vault"])
        assert is_refused(await door.tell(token))
        assert (await self._review(door, token, ["vault", "x"])) == (True, ["vault"])
        assert (await self._review(door, token, ["x"])) == (False, None)
        assert (await self._review(door, token, [])) == (False, None)
        assert (await self._review(door, await door.request_token(), [])) == (True, [door.api.accounts.issuer])

    async def _review(self, door: Door, token: str, audiences: list[str]) -> tuple[bool, Any]:
        body = {"spec": {"token": token, "audiences": audiences}}
        status = (await door.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)).json["status"]
        return status["authenticated"], status.get("audiences")

    @pytest.mark.parametrize(
        "wrong", ["none", "hmac", "key", "claims", "future", "audience", "issuer", "uid", "cut", "crit", "algorithm", "header"]
    )
    async def test_forged_tokens(self, door: Door, wrong: str) -> None:
        good = await door.request_token()
        assert (await door.tell(good)).code == 201
        parsed = jwt.parse(good)
        assert parsed is not None
        bad = forged(good, parsed.claims, wrong)
        assert bad != good
        assert is_refused(await door.tell(bad))

    async def test_a_token_grants_what_its_account_has(self, door: Door) -> None:
        token = await door.request_token()
        refused = await door.tell(token, path="/api/v1/namespaces/a/pods")
        assert 'User "system:serviceaccount:a:robot" cannot list resource "pods"' in refused.json["message"]
        await door.bind("system:serviceaccount:a:robot", "ClusterRole", "view", namespace="a")
        assert (await door.tell(token, path="/api/v1/namespaces/a/pods")).code == 200


def forged(good: str, claims: dict[str, Any], wrong: str) -> str:
    """A token that is wrong in one way."""
    head, body, signature = good.split(".")
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    if wrong == "none":
        return joined({"alg": "none", "typ": "JWT"}, claims) + "."
    if wrong == "hmac":
        text = joined({**header, "alg": "HS256"}, claims)
        public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return f"{text}.{encoded(hmac.new(public, text.encode(), hashlib.sha256).digest())}"
    if wrong == "key":
        return elliptic(claims, OTHER_KEY, header["kid"])
    if wrong == "claims":
        return f"{head}.{encoded(json.dumps({**claims, 'sub': 'system:admin'}).encode())}.{signature}"
    if wrong == "crit":
        return elliptic(claims, KEY, header["kid"], crit=["x"])
    if wrong == "algorithm":
        return elliptic(claims, KEY, header["kid"], alg="HS256")
    if wrong == "cut":
        return good[:-8]
    if wrong == "header":
        return f"x.{body}.{signature}"
    private = claims["kubernetes.io"]
    changed = {
        "future": {"nbf": claims["nbf"] + 60},
        "audience": {"aud": ["others"]},
        "issuer": {"iss": "https://elsewhere"},
        "uid": {"kubernetes.io": {**private, "serviceaccount": {"name": "robot", "uid": "another"}}},
    }[wrong]
    return jwt.sign({**claims, **changed}, KEY, header["kid"])


class TestListed:
    """Tokens of a file."""

    LINE = f'{hashlib.sha256(b"secret-of-ann").hexdigest()},ann,7,"staff, admins"\n'

    async def test_a_token_is_of_whom_the_file_says_until_it_says_otherwise(self, door: Door, tmp_path: Path) -> None:
        file = tmp_path / "tokens.csv"
        file.write_text(f"# people\n\n{self.LINE}")
        listed = Listed(file)
        door.recognition = Recognition(door.clock, door.api.accounts, listed=listed)
        user = (await door.tell("secret-of-ann")).json["status"]["userInfo"]
        assert user == {"username": "ann", "uid": "7", "groups": ["staff", "admins", "system:authenticated"]}
        assert is_refused(await door.tell("secret-of-bob"))
        assert is_refused(await door.tell(hashlib.sha256(b"secret-of-ann").hexdigest()))
        assert not listed.refresh()
        file.write_text("nonsense\n")
        assert not listed.refresh()
        assert (await door.tell("secret-of-ann")).code == 201
        file.write_text("# nobody\n")
        assert listed.refresh()
        assert is_refused(await door.tell("secret-of-ann"))

    async def test_another_character_is_not_a_question_mark(self, door: Door, tmp_path: Path) -> None:
        (tmp_path / "tokens.csv").write_text(f"{hashlib.sha256(b'is it me?').hexdigest()},ann,7\n")
        recognition = Recognition(door.clock, door.api.accounts, listed=Listed(tmp_path / "tokens.csv"))
        assert (await recognition.of_token("is it me?", ())).user.name == "ann"
        for wrong in ("is it me\N{EURO SIGN}", "is it me\N{INVERTED QUESTION MARK}", "is it me\udcff"):
            with pytest.raises(errors.Unauthorized):
                await recognition.of_token(wrong, ())

    @pytest.mark.parametrize("line", ["plain-token,ann,7", f"{'0' * 64},,7", f"{'0' * 63},ann"])
    def test_a_file_that_lists_something_else(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "tokens.csv").write_text(line)
        with pytest.raises(errors.CannotOpen, match="probate token"):
            Listed(tmp_path / "tokens.csv")


class TestPeers:
    """Client certificates."""

    def test_whom_a_certificate_is_of(self) -> None:
        subject = ((("organizationName", "staff"),), (("organizationName", "admins"),), (("commonName", "ann"),))
        now = float(int(time.time()))
        root = authority.new_authority(now, lifetime=timedelta(days=3650))
        one = authority.issue(root, Subject("ann"), now, lifetime=timedelta(days=365))
        chain = [ssl.PEM_cert_to_DER_cert(pair.certificate.decode()) for pair in (one, root)]
        peer = client_certificates.peer_of({"subject": subject}, chain)
        assert peer is not None
        assert peer.user == User("ann", ("staff", "admins", "system:authenticated"))
        assert peer.ends == now + 365 * 86400
        assert client_certificates.peer_of({"subject": ((("organizationName", "system:masters"),),)}, chain) is None
        assert client_certificates.peer_of({"subject": subject}, []) is None
        assert client_certificates.peer_of({"subject": subject}, [b"nonsense"]) is None
        assert client_certificates.peer_of({}, chain) is None

    async def test_it_is_looked_at_with_each_request_when_it_begins_and_ends(self, door: Door) -> None:
        now = door.clock.now()
        peer = Peer(User("ann", ("system:authenticated",)), now + 10, now + 20)
        scope = {"headers": [], "path": "/livez", "peer": peer}
        for seconds, is_known in ((0, False), (15, True), (10, False)):
            await door.clock.advance(seconds)
            if is_known:
                assert (await door.recognition(scope)).name == "ann"
            else:
                with pytest.raises(errors.Unauthorized):
                    await door.recognition(scope)


class TestOidc:
    """ID tokens of an issuer elsewhere."""

    @pytest.fixture
    def issuer(self, tmp_path: Path) -> Any:
        with issuing(tmp_path) as one:
            yield one

    def _believe(self, door: Door, issuer: Issuer, **more: str) -> None:
        trusted = Trusted(issuer.url, "probate", groups_claim="groups", ca_file=str(issuer.ca_file), **more)
        door.recognition = Recognition(door.clock, door.api.accounts, oidc=Oidc(trusted, door.clock, Inline()))

    def _claims(self, door: Door, issuer: Issuer, **more: Any) -> dict[str, Any]:
        return {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": door.clock.now() + 60, **more}

    async def test_the_claims_say_who_it_is(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer, groups_prefix="oidc:")
        token = issuer.keys[0].token(self._claims(door, issuer, groups=["staff"], aud=["x", "probate"]))
        user = (await door.tell(token)).json["status"]["userInfo"]
        assert user == {"username": f"{issuer.url}#ann", "groups": ["oidc:staff", "system:authenticated"]}
        await door.clock.advance(61)
        assert is_refused(await door.tell(token))

    async def test_no_group_of_the_system_comes_from_elsewhere(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer, username_prefix="-")
        token = issuer.keys[0].token(self._claims(door, issuer, groups=["system:masters", "staff"]))
        assert (await door.tell(token)).json["status"]["userInfo"]["groups"] == ["staff", "system:authenticated"]
        assert is_refused(await door.tell(issuer.keys[0].token(self._claims(door, issuer, sub="system:admin"))))

    async def test_an_email_address_has_to_be_verified(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer, username_claim="email")
        for verified, code in ((True, 201), (False, 401)):
            token = issuer.keys[0].token(self._claims(door, issuer, email="ann@acme.com", email_verified=verified))
            assert (await door.tell(token)).code == code

    @pytest.mark.parametrize(
        "change",
        [
            {"aud": "others"},
            {"aud": None},
            {"iss": "https://elsewhere"},
            {"exp": 1},
            {"exp": None},
            {"exp": "soon"},
            {"nbf": 4_000_000_000},
            {"sub": ""},
            {"sub": 7},
        ],
    )
    async def test_claims_that_are_not_believed(self, door: Door, issuer: Issuer, change: dict[str, Any]) -> None:
        self._believe(door, issuer)
        assert is_refused(await door.tell(issuer.keys[0].token({**self._claims(door, issuer), **change})))

    async def test_signatures_that_are_not_believed(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer)
        claims = self._claims(door, issuer)
        forger = Key("one")
        for token in (
            forger.token(claims),
            issuer.keys[0].token(claims, algorithm="none"),
            issuer.keys[0].token(claims, algorithm="HS256"),
            issuer.keys[0].token(claims, algorithm="ES256"),
            issuer.keys[0].token(claims, algorithm="RS512"),
            issuer.keys[0].token(claims, name="unknown"),
            elliptic(claims, OTHER_KEY, "one"),
        ):
            assert is_refused(await door.tell(token))

    async def test_new_keys_are_fetched_and_not_more_often_than_that(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer)
        claims = self._claims(door, issuer, exp=door.clock.now() + 9_000)
        old = issuer.keys[0]
        assert (await door.tell(old.token(claims))).code == 201
        new = Key("two")
        issuer.keys = [new]
        for _ in range(5):
            assert is_refused(await door.tell(new.token(claims)))
        assert issuer.asked == 2
        await door.clock.advance(11)
        assert (await door.tell(new.token(claims))).code == 201
        assert is_refused(await door.tell(old.token({**claims, "extra": 1})))

    async def test_keys_on_curves(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer)
        numbers = OTHER_KEY.public_key().public_numbers()
        described = {"kty": "EC", "crv": "P-256", "kid": "curve", "x": number(numbers.x), "y": number(numbers.y)}
        issuer.keys = [type("Curve", (), {"published": described})]
        assert (await door.tell(elliptic(self._claims(door, issuer), OTHER_KEY, "curve"))).code == 201

    async def test_an_issuer_that_does_not_answer_or_answers_nonsense(self, door: Door, issuer: Issuer) -> None:
        self._believe(door, issuer)
        issuer.is_broken = True
        token = issuer.keys[0].token(self._claims(door, issuer))
        assert is_refused(await door.tell(token))
        issuer.is_broken = False
        await door.clock.advance(11)
        assert (await door.tell(token)).code == 201


async def test_without_credentials_one_may_ask_how_the_server_is_and_no_more(door: Door) -> None:
    door.app = App(door.api, recognise=door.recognition, recall=door.recognition.recall)
    del door.api.readiness["collector"]  # which does not run here
    for path, code in (("/livez", 200), ("/readyz", 200), ("/healthz", 200), ("/api", 401), ("/version", 401), ("/metrics", 401)):
        assert (await door.ask("GET", path)).code == code, path
    assert is_refused(await door.ask("GET", "/api/v1/namespaces/a/secrets"))
    assert (await door.ask("GET", "/livez/../api/v1/secrets")).code in {401, 403}
    assert (await door.ask("GET", "/readyz", headers=[(b"impersonate-user", b"system:admin")])).code == 403


@pytest.mark.parametrize(
    "header", [b"Basic YTpi", b"Bearer", b"Bearer ", b"Bearer \xff\xfe", b"Bearer a.b.c", b"", b"Bearer " + b"x" * 90_000]
)
async def test_headers_that_say_nothing(door: Door, header: bytes) -> None:
    door.app = App(door.api, recognise=door.recognition, recall=door.recognition.recall)
    assert is_refused(await door.ask("GET", "/livez", headers=[(b"authorization", header)]))


async def test_one_token_at_a_time(door: Door) -> None:
    token = await door.request_token()
    assert is_refused(await door.tell(token, (b"authorization", f"Bearer {token}".encode())))


async def test_who_tries_again_and_again_has_to_wait_and_nobody_else(door: Door) -> None:
    token = await door.request_token()
    assert (await door.tell(token, address="here")).code == 201
    for attempt in range(failure_limit.AT_ONCE):
        assert is_refused(await door.tell(f"guess{attempt}", address="here")), attempt
    before = door.clock.now()
    telling = asyncio.ensure_future(door.tell("more", address="here"))
    while not telling.done():
        await door.clock.advance(0.5)
    told = await telling
    assert told.code == 429
    assert door.clock.now() - before >= authenticator.PACE_SECONDS
    assert int(told.headers["retry-after"]) >= 1
    assert (await door.tell(token, address="here")).code == 201
    assert is_refused(await door.tell("guess", address="there"))
    await door.clock.advance(failure_limit.AT_ONCE * failure_limit.SECONDS_EACH + 2)
    assert is_refused(await door.tell("guess", address="here"))
