"""Authentication by each kind of credential, valid and invalid. Every invalid one gets the same 401."""

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
from probate.core.aio.offload import InlineOffload
from probate.core.clock import FakeClock
from probate.http.tls import authority, client_certificates
from probate.http.tls.authority import Subject
from probate.http.tls.client_certificates import ClientIdentity
from probate.server.app import App
from probate.server.authn import failure_limit, jwt
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.oidc import Issuer as Trusted
from probate.server.authn.oidc import OidcVerifier
from probate.server.authn.service_accounts import DELETION_GRACE_SECONDS, TokenIssuer
from probate.server.authn.token_file import TokenFile
from probate.store.sqlite.store import open_memory
from support.in_process_server import Response
from support.oidc_issuer import Issuer, IssuerKey, encode_integer, encoded, es256_token, run_issuer, signing_input
from support.rbac_server import RbacServer, running_with_rbac

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
PEM = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
KEY: Any = load_pem_private_key(PEM, None)
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
ACCOUNT = "/api/v1/namespaces/a/serviceaccounts/robot"


class AuthenticatingServer(RbacServer):
    """A server with authentication."""

    clock: FakeClock
    authenticator: RequestAuthenticator

    async def send_token(self, token: str, *more: tuple[bytes, bytes], path: str = WHO, address: str = "") -> Response:
        """Returns the response to a request with this token."""
        headers = [(b"authorization", f"Bearer {token}".encode()), *more]
        unauthenticated_app, self.app = (
            self.app,
            App(self.api, authenticate=self._at(address), authenticate_cached=self.authenticator.cached_user),
        )
        try:
            return await self.request("POST" if path == WHO else "GET", path, {} if path == WHO else None, headers=headers)
        finally:
            self.app = unauthenticated_app

    def _at(self, address: str) -> Callable[[Any], Any]:
        return lambda scope: self.authenticator({**scope, "client": (address or str(random.random()), 1)})  # noqa: S311

    async def request_token(self, code: int = 201, **spec: Any) -> Any:
        response = await self.request("POST", f"{ACCOUNT}/token", {"spec": spec})
        assert response.code == code, response.body
        return response.json["status"]["token"] if code == 201 else response.json


@pytest.fixture
async def server() -> AsyncIterator[AuthenticatingServer]:
    clock = FakeClock(start=1_800_000_000.0)
    store = await open_memory()
    accounts = TokenIssuer(store, clock, key=lambda: PEM)
    authenticator = RequestAuthenticator(clock, accounts)
    options: dict[str, Any] = {"store": store, "service_accounts": accounts, "authenticate_token": authenticator.authenticate_token}
    async with running_with_rbac(clock, **options) as server:
        server.__class__ = AuthenticatingServer
        assert isinstance(server, AuthenticatingServer)
        server.authenticator = authenticator
        await server.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        yield server


def is_refused(response: Response) -> bool:
    plain = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized"}
    return (response.code, response.json) == (401, {**plain, "reason": "Unauthorized", "details": {}, "code": 401})


class TestServiceAccountTokens:
    """Service account tokens."""

    async def test_token_authenticates_its_account(self, server: AuthenticatingServer) -> None:
        response = await server.send_token(await server.request_token())
        user = response.json["status"]["userInfo"]
        assert user["username"] == "system:serviceaccount:a:robot"
        assert user["groups"] == ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"]
        assert user["uid"] == (await server.request("GET", ACCOUNT)).json["metadata"]["uid"]
        assert user["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")

    async def test_token_expires(self, server: AuthenticatingServer) -> None:
        token = await server.request_token(expirationSeconds=600)
        await server.clock.advance(599)
        assert (await server.send_token(token)).code == 201
        await server.clock.advance(2)
        assert is_refused(await server.send_token(token))

    async def test_token_is_invalid_once_its_account_is_deleted_or_recreated(self, server: AuthenticatingServer) -> None:
        token = await server.request_token()
        assert (await server.send_token(token)).code == 201
        await server.request("DELETE", ACCOUNT)
        assert is_refused(await server.send_token(token))
        await server.create("serviceaccounts", "a", {"metadata": {"name": "robot"}})
        assert is_refused(await server.send_token(token))

    async def test_token_is_invalid_once_its_pod_is_deleted(self, server: AuthenticatingServer) -> None:
        spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        pod = await server.create("pods", "a", {"metadata": {"name": "p"}, "spec": spec})
        token = await server.request_token(boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
        user = (await server.send_token(token)).json["status"]["userInfo"]
        assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
        await server.request("DELETE", "/api/v1/namespaces/a/pods/p", {"gracePeriodSeconds": 0})
        assert is_refused(await server.send_token(token))

    async def test_token_is_valid_for_a_minute_while_its_object_is_being_deleted(self, server: AuthenticatingServer) -> None:
        await server.create("secrets", "a", {"metadata": {"name": "s", "finalizers": ["acme.com/hold"]}})
        token = await server.request_token(boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
        await server.request("DELETE", "/api/v1/namespaces/a/secrets/s")
        assert (await server.send_token(token)).code == 201
        await server.clock.advance(DELETION_GRACE_SECONDS + 1)
        assert is_refused(await server.send_token(token))

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
    async def test_tokens_that_are_not_made(self, server: AuthenticatingServer, spec: dict[str, Any], code: int) -> None:
        await server.create("secrets", "a", {"metadata": {"name": "s"}})
        pod = {"serviceAccountName": "another", "containers": [{"name": "c", "image": "i"}]}
        await server.create("pods", "a", {"metadata": {"name": "of-another"}, "spec": pod})
        await server.request_token(code, **spec)

    async def test_a_token_for_others_is_for_others_only(self, server: AuthenticatingServer) -> None:
        token = await server.request_token(audiences=["vault"])
        assert is_refused(await server.send_token(token))
        assert (await self._review(server, token, ["vault", "x"])) == (True, ["vault"])
        assert (await self._review(server, token, ["x"])) == (False, None)
        assert (await self._review(server, token, [])) == (False, None)
        assert (await self._review(server, await server.request_token(), [])) == (True, [server.api.service_accounts.issuer])

    async def _review(self, server: AuthenticatingServer, token: str, audiences: list[str]) -> tuple[bool, Any]:
        body = {"spec": {"token": token, "audiences": audiences}}
        status = (await server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)).json["status"]
        return status["authenticated"], status.get("audiences")

    @pytest.mark.parametrize(
        "wrong", ["none", "hmac", "key", "claims", "future", "audience", "issuer", "uid", "cut", "crit", "algorithm", "header"]
    )
    async def test_forged_tokens(self, server: AuthenticatingServer, wrong: str) -> None:
        good = await server.request_token()
        assert (await server.send_token(good)).code == 201
        parsed = jwt.parse(good)
        assert parsed is not None
        bad = forged(good, parsed.claims, wrong)
        assert bad != good
        assert is_refused(await server.send_token(bad))

    async def test_token_has_the_rights_of_its_account(self, server: AuthenticatingServer) -> None:
        token = await server.request_token()
        refused = await server.send_token(token, path="/api/v1/namespaces/a/pods")
        assert 'User "system:serviceaccount:a:robot" cannot list resource "pods"' in refused.json["message"]
        await server.bind("system:serviceaccount:a:robot", "ClusterRole", "view", namespace="a")
        assert (await server.send_token(token, path="/api/v1/namespaces/a/pods")).code == 200


def forged(good: str, claims: dict[str, Any], wrong: str) -> str:
    """Returns a token that is invalid in one way."""
    head, body, signature = good.split(".")
    header = json.loads(base64.urlsafe_b64decode(head + "=="))
    if wrong == "none":
        return signing_input({"alg": "none", "typ": "JWT"}, claims) + "."
    if wrong == "hmac":
        text = signing_input({**header, "alg": "HS256"}, claims)
        public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return f"{text}.{encoded(hmac.new(public, text.encode(), hashlib.sha256).digest())}"
    if wrong == "key":
        return es256_token(claims, OTHER_KEY, header["kid"])
    if wrong == "claims":
        return f"{head}.{encoded(json.dumps({**claims, 'sub': 'system:admin'}).encode())}.{signature}"
    if wrong == "crit":
        return es256_token(claims, KEY, header["kid"], crit=["x"])
    if wrong == "algorithm":
        return es256_token(claims, KEY, header["kid"], alg="HS256")
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


class TestTokenFile:
    """Tokens of the token file."""

    LINE = f'{hashlib.sha256(b"secret-of-ann").hexdigest()},ann,7,"staff, admins"\n'

    async def test_token_file_is_read_again_when_it_changes(self, server: AuthenticatingServer, tmp_path: Path) -> None:
        file = tmp_path / "tokens.csv"
        file.write_text(f"# people\n\n{self.LINE}")
        listed = TokenFile(file)
        server.authenticator = RequestAuthenticator(server.clock, server.api.service_accounts, token_file=listed)
        user = (await server.send_token("secret-of-ann")).json["status"]["userInfo"]
        assert user == {"username": "ann", "uid": "7", "groups": ["staff", "admins", "system:authenticated"]}
        assert is_refused(await server.send_token("secret-of-bob"))
        assert is_refused(await server.send_token(hashlib.sha256(b"secret-of-ann").hexdigest()))
        assert not listed.refresh()
        file.write_text("nonsense\n")
        assert not listed.refresh()
        assert (await server.send_token("secret-of-ann")).code == 201
        file.write_text("# nobody\n")
        assert listed.refresh()
        assert is_refused(await server.send_token("secret-of-ann"))

    async def test_unencodable_characters_do_not_match_a_question_mark(self, server: AuthenticatingServer, tmp_path: Path) -> None:
        (tmp_path / "tokens.csv").write_text(f"{hashlib.sha256(b'is it me?').hexdigest()},ann,7\n")
        authenticator = RequestAuthenticator(
            server.clock, server.api.service_accounts, token_file=TokenFile(tmp_path / "tokens.csv")
        )
        assert (await authenticator.authenticate_token("is it me?", ())).user.name == "ann"
        for wrong in ("is it me\N{EURO SIGN}", "is it me\N{INVERTED QUESTION MARK}", "is it me\udcff"):
            with pytest.raises(errors.Unauthorized):
                await authenticator.authenticate_token(wrong, ())

    @pytest.mark.parametrize("line", ["plain-token,ann,7", f"{'0' * 64},,7", f"{'0' * 63},ann"])
    def test_invalid_token_file_lines_are_rejected(self, tmp_path: Path, line: str) -> None:
        (tmp_path / "tokens.csv").write_text(line)
        with pytest.raises(errors.CannotOpen, match="probate token"):
            TokenFile(tmp_path / "tokens.csv")


class TestClientCertificates:
    """Client certificates."""

    def test_certificate_subject_becomes_the_user(self) -> None:
        subject = ((("organizationName", "staff"),), (("organizationName", "admins"),), (("commonName", "ann"),))
        now = float(int(time.time()))
        root = authority.new_authority(now, lifetime=timedelta(days=3650))
        one = authority.issue(root, Subject("ann"), now, lifetime=timedelta(days=365))
        chain = [ssl.PEM_cert_to_DER_cert(pair.certificate.decode()) for pair in (one, root)]
        peer = client_certificates.parse_identity({"subject": subject}, chain)
        assert peer is not None
        assert peer.user == User("ann", ("staff", "admins", "system:authenticated"))
        assert peer.not_after == now + 365 * 86400
        assert client_certificates.parse_identity({"subject": ((("organizationName", "system:masters"),),)}, chain) is None
        assert client_certificates.parse_identity({"subject": subject}, []) is None
        assert client_certificates.parse_identity({"subject": subject}, [b"nonsense"]) is None
        assert client_certificates.parse_identity({}, chain) is None

    async def test_certificate_validity_is_checked_with_each_request(self, server: AuthenticatingServer) -> None:
        now = server.clock.now()
        peer = ClientIdentity(User("ann", ("system:authenticated",)), now + 10, now + 20)
        scope = {"headers": [], "path": "/livez", "peer": peer}
        for seconds, is_known in ((0, False), (15, True), (10, False)):
            await server.clock.advance(seconds)
            if is_known:
                assert (await server.authenticator(scope)).name == "ann"
            else:
                with pytest.raises(errors.Unauthorized):
                    await server.authenticator(scope)


class TestOidc:
    """ID tokens of an OpenID Connect issuer."""

    @pytest.fixture
    def issuer(self, tmp_path: Path) -> Any:
        with run_issuer(tmp_path) as one:
            yield one

    def _trust(self, server: AuthenticatingServer, issuer: Issuer, **more: str) -> None:
        trusted = Trusted(issuer.url, "probate", groups_claim="groups", ca_file=str(issuer.ca_file), **more)
        server.authenticator = RequestAuthenticator(
            server.clock, server.api.service_accounts, oidc=OidcVerifier(trusted, server.clock, InlineOffload())
        )

    def _claims(self, server: AuthenticatingServer, issuer: Issuer, **more: Any) -> dict[str, Any]:
        return {"iss": issuer.url, "aud": "probate", "sub": "ann", "exp": server.clock.now() + 60, **more}

    async def test_claims_become_the_user(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer, groups_prefix="oidc:")
        token = issuer.keys[0].token(self._claims(server, issuer, groups=["staff"], aud=["x", "probate"]))
        user = (await server.send_token(token)).json["status"]["userInfo"]
        assert user == {"username": f"{issuer.url}#ann", "groups": ["oidc:staff", "system:authenticated"]}
        await server.clock.advance(61)
        assert is_refused(await server.send_token(token))

    async def test_system_groups_of_an_issuer_are_ignored(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer, username_prefix="-")
        token = issuer.keys[0].token(self._claims(server, issuer, groups=["system:masters", "staff"]))
        assert (await server.send_token(token)).json["status"]["userInfo"]["groups"] == ["staff", "system:authenticated"]
        assert is_refused(await server.send_token(issuer.keys[0].token(self._claims(server, issuer, sub="system:admin"))))

    async def test_email_must_be_verified(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer, username_claim="email")
        for verified, code in ((True, 201), (False, 401)):
            token = issuer.keys[0].token(self._claims(server, issuer, email="ann@acme.com", email_verified=verified))
            assert (await server.send_token(token)).code == code

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
    async def test_invalid_claims_are_rejected(self, server: AuthenticatingServer, issuer: Issuer, change: dict[str, Any]) -> None:
        self._trust(server, issuer)
        assert is_refused(await server.send_token(issuer.keys[0].token({**self._claims(server, issuer), **change})))

    async def test_invalid_signatures_are_rejected(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer)
        claims = self._claims(server, issuer)
        forger = IssuerKey("one")
        for token in (
            forger.token(claims),
            issuer.keys[0].token(claims, algorithm="none"),
            issuer.keys[0].token(claims, algorithm="HS256"),
            issuer.keys[0].token(claims, algorithm="ES256"),
            issuer.keys[0].token(claims, algorithm="RS512"),
            issuer.keys[0].token(claims, name="unknown"),
            es256_token(claims, OTHER_KEY, "one"),
        ):
            assert is_refused(await server.send_token(token))

    async def test_unknown_keys_are_fetched_at_a_limited_rate(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer)
        claims = self._claims(server, issuer, exp=server.clock.now() + 9_000)
        old = issuer.keys[0]
        assert (await server.send_token(old.token(claims))).code == 201
        new = IssuerKey("two")
        issuer.keys = [new]
        for _ in range(5):
            assert is_refused(await server.send_token(new.token(claims)))
        assert issuer.requests == 2
        await server.clock.advance(11)
        assert (await server.send_token(new.token(claims))).code == 201
        assert is_refused(await server.send_token(old.token({**claims, "extra": 1})))

    async def test_elliptic_curve_keys(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer)
        numbers = OTHER_KEY.public_key().public_numbers()
        described = {"kty": "EC", "crv": "P-256", "kid": "curve", "x": encode_integer(numbers.x), "y": encode_integer(numbers.y)}
        issuer.keys = [type("Curve", (), {"jwk": described})]
        assert (await server.send_token(es256_token(self._claims(server, issuer), OTHER_KEY, "curve"))).code == 201

    async def test_unusable_issuer_responses(self, server: AuthenticatingServer, issuer: Issuer) -> None:
        self._trust(server, issuer)
        issuer.is_broken = True
        token = issuer.keys[0].token(self._claims(server, issuer))
        assert is_refused(await server.send_token(token))
        issuer.is_broken = False
        await server.clock.advance(11)
        assert (await server.send_token(token)).code == 201


async def test_requests_without_credentials_may_only_read_health(server: AuthenticatingServer) -> None:
    server.app = App(server.api, authenticate=server.authenticator, authenticate_cached=server.authenticator.cached_user)
    del server.api.readiness_checks["garbage-collector-controller"]  # which does not run here
    for path, code in (("/livez", 200), ("/readyz", 200), ("/healthz", 200), ("/api", 401), ("/version", 401), ("/metrics", 401)):
        assert (await server.request("GET", path)).code == code, path
    assert is_refused(await server.request("GET", "/api/v1/namespaces/a/secrets"))
    assert (await server.request("GET", "/livez/../api/v1/secrets")).code in {401, 403}
    assert (await server.request("GET", "/readyz", headers=[(b"impersonate-user", b"system:admin")])).code == 403


@pytest.mark.parametrize(
    "header", [b"Basic YTpi", b"Bearer", b"Bearer ", b"Bearer \xff\xfe", b"Bearer a.b.c", b"", b"Bearer " + b"x" * 90_000]
)
async def test_invalid_authorization_headers(server: AuthenticatingServer, header: bytes) -> None:
    server.app = App(server.api, authenticate=server.authenticator, authenticate_cached=server.authenticator.cached_user)
    assert is_refused(await server.request("GET", "/livez", headers=[(b"authorization", header)]))


async def test_two_authorization_headers_are_refused(server: AuthenticatingServer) -> None:
    token = await server.request_token()
    assert is_refused(await server.send_token(token, (b"authorization", f"Bearer {token}".encode())))


async def test_repeated_failures_of_one_credential_are_delayed_and_others_are_not(server: AuthenticatingServer) -> None:
    token = await server.request_token()
    assert (await server.send_token(token, address="here")).code == 201
    for attempt in range(failure_limit.BURST):
        assert is_refused(await server.send_token(f"guess{attempt}", address="here")), attempt
    before = server.clock.now()
    telling = asyncio.ensure_future(server.send_token("more", address="here"))
    while not telling.done():
        await server.clock.advance(0.5)
    response = await telling
    assert response.code == 429
    assert server.clock.now() - before >= failure_limit.DELAY_SECONDS
    assert int(response.headers["retry-after"]) >= 1
    assert (await server.send_token(token, address="here")).code == 201
    assert is_refused(await server.send_token("guess", address="there"))
    await server.clock.advance(failure_limit.BURST * failure_limit.SECONDS_PER_FAILURE + 2)
    assert is_refused(await server.send_token("guess", address="here"))
