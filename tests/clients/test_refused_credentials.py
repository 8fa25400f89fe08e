"""Invalid credentials of every kind, on a real server over TLS: all of them get the same answer, byte for byte.

A client certificate of an unknown CA, or one that is not for client authentication, fails the TLS handshake instead. The token file
is read again once a minute: unit/server/authn/test_authenticator tests that.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from support import secured_server
from support import signed_certificates as certificates
from support.client_programs import Program
from support.oidc_issuer import IssuerKey, encoded, es256_token, signing_input
from support.secured_server import SELF_SUBJECT_REVIEWS, Answer, SecuredServer
from support.signed_certificates import EXPIRED, NOT_YET_VALID

HERE = Path(__file__).parent
UNAUTHORIZED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "Unauthorized",
    "reason": "Unauthorized",
    "details": {},
    "code": 401,
}
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
MASTERS = ["system:masters"]


@pytest.fixture(scope="module")
def account(site: SecuredServer, admin: Program) -> str:
    """A valid service account token."""
    admin("create", "serviceaccount", "robot")
    token = admin("create", "token", "robot").strip()
    assert site.ask(token=token).code == 201
    site.issued_tokens.append(token)
    return token


@pytest.fixture(scope="module")
def refusal(site: SecuredServer) -> Answer:
    """The answer to a request without credentials."""
    found = site.ask()
    assert found.code == 401
    assert found.json == UNAUTHORIZED
    assert [name for name, _ in found.headers] == ["cache-control", "content-length", "content-type"]
    return found


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the header and the claims of a token."""
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2])
    return header, claims


def by_hmac(header: dict[str, Any], claims: dict[str, Any], public_key: Any) -> str:
    """An algorithm confusion attack: signs with the public key as an HMAC secret."""
    text = signing_input({**header, "alg": "HS256"}, claims)
    known = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return f"{text}.{encoded(hmac.new(known, text.encode(), hashlib.sha256).digest())}"


def unsigned(header: dict[str, Any], claims: dict[str, Any], name: str = "none") -> str:
    return signing_input({**header, "alg": name}, claims) + "."


Forge = Callable[[SecuredServer, dict[str, Any], dict[str, Any]], str]


def ours(**changed: Any) -> Forge:
    """Returns a forger that signs changed claims with the server's own key."""
    return lambda site, header, claims: es256_token({**claims, **changed}, site.signing_key, header["kid"])


NOW = int(time.time())
ACCOUNT_TOKENS: dict[str, Forge] = {
    "another key": lambda _, header, claims: es256_token(claims, OTHER_KEY, header["kid"]),
    "another key's name": lambda site, _, claims: es256_token(claims, site.signing_key, "another"),
    "no key's name": lambda site, _, claims: es256_token(claims, site.signing_key, ""),
    "unsigned": lambda _, header, claims: unsigned(header, claims),
    "unsigned, in capitals": lambda _, header, claims: unsigned(header, claims, "NONE"),
    "unsigned, with a signature": lambda _, header, claims: unsigned(header, claims) + "AAAA",
    "signed with the public key": lambda site, header, claims: by_hmac(header, claims, site.signing_key.public_key()),
    "another curve's name": lambda site, header, claims: es256_token(claims, site.signing_key, header["kid"], alg="ES384"),
    "over": ours(exp=NOW - 60, nbf=NOW - 3600),
    "not begun": ours(nbf=NOW + 3600, exp=NOW + 7200),
    "for others": ours(aud=["vault"]),
    "for nobody": ours(aud=[]),
    "of another issuer": ours(iss="https://elsewhere"),
    "of an account of another uid": lambda site, header, claims: ours(
        **{"kubernetes.io": {**claims["kubernetes.io"], "serviceaccount": {"name": "robot", "uid": "another"}}}
    )(site, header, claims),
    "of an account that was never there": lambda site, header, claims: ours(
        **{"kubernetes.io": {**claims["kubernetes.io"], "serviceaccount": {"name": "nobody", "uid": "u"}}}
    )(site, header, claims),
    "without what it is about": ours(**{"kubernetes.io": {}}),
    "with something critical": lambda site, header, claims: es256_token(claims, site.signing_key, header["kid"], crit=["x"]),
}


@pytest.mark.parametrize("wrong", ACCOUNT_TOKENS)
def test_service_account_tokens(wrong: str, site: SecuredServer, account: str, refusal: Answer) -> None:
    token = ACCOUNT_TOKENS[wrong](site, *opened(account))
    assert token != account
    assert site.ask(token=token) == refusal


def test_modified_token_is_refused(site: SecuredServer, account: str, refusal: Answer) -> None:
    head, body, signature = account.split(".")
    _, claims = opened(account)
    greedy = encoded(json.dumps({**claims, "sub": "system:admin"}).encode())
    for token in (f"{head}.{greedy}.{signature}", account[:-8], account + "A", f"{body}.{head}.{signature}", f"{head}.{body}."):
        assert site.ask(token=token) == refusal


def test_same_token_signed_again_is_valid(site: SecuredServer, account: str) -> None:
    """Proves that modified tokens are refused for their modification."""
    assert site.ask(token=ours()(site, *opened(account))).code == 201


def test_tokens_of_deleted_accounts_and_pods(site: SecuredServer, admin: Program, refusal: Answer) -> None:
    admin("create", "serviceaccount", "gone")
    admin("run", "bound", "--image=none", "--overrides", '{"spec": {"serviceAccountName": "gone"}}')
    admin("create", "secret", "generic", "bound")
    pod, secret = (
        admin("create", "token", "gone", f"--bound-object-kind={kind}", "--bound-object-name=bound").strip()
        for kind in ("Pod", "Secret")
    )
    plain = admin("create", "token", "gone").strip()
    for token in (pod, secret, plain):
        site.issued_tokens.append(token)
        assert site.ask(token=token).code == 201
    admin("delete", "pod", "bound", "--grace-period=0", "--force")
    assert site.ask(token=pod) == refusal
    admin("delete", "secret", "bound")
    assert site.ask(token=secret) == refusal
    assert site.ask(token=plain).code == 201
    admin("delete", "serviceaccount", "gone")
    assert site.ask(token=plain) == refusal
    admin("create", "serviceaccount", "gone")
    assert site.ask(token=plain) == refusal


ID_TOKENS: dict[str, Callable[[SecuredServer], str]] = {
    "over": lambda site: site.id_token(exp=NOW - 60),
    "without an end": lambda site: site.id_token(exp=None),
    "not begun": lambda site: site.id_token(nbf=NOW + 3600),
    "for others": lambda site: site.id_token(aud="others"),
    "of another issuer": lambda site: site.id_token(iss="https://elsewhere"),
    "of this server, which did not sign it": lambda site: site.id_token(iss="https://kubernetes.default.svc"),
    "another key": lambda site: IssuerKey("one").token(opened(site.id_token())[1]),
    "another key's name": lambda site: site.issuer.keys[0].token(opened(site.id_token())[1], name="another"),
    "unsigned": lambda site: unsigned(*opened(site.id_token())),
    "signed with the public key": lambda site: by_hmac(*opened(site.id_token()), site.issuer.keys[0].public_key),
    "another algorithm's name": lambda site: site.issuer.keys[0].token(opened(site.id_token())[1], algorithm="PS256"),
    "a name of the system's": lambda site: site.id_token(sub="system:admin"),
    "no name": lambda site: site.id_token(sub=""),
}


@pytest.mark.parametrize("wrong", ID_TOKENS)
def test_oidc_tokens(wrong: str, site: SecuredServer, refusal: Answer) -> None:
    assert site.ask(token=site.id_token()).code == 201
    assert site.ask(token=ID_TOKENS[wrong](site)) == refusal


def test_token_file_tokens(site: SecuredServer, refusal: Answer) -> None:
    listed = (site.folder / "tokens.csv").read_text().split(",")[0]
    assert site.ask(token=site.token).code == 201
    for wrong in (site.token[:-1], site.token + "x", site.token.swapcase(), listed, "x", "a b"):
        assert site.ask(token=wrong) == refusal


def bearer(token: str) -> tuple[str, str]:
    return "authorization", f"Bearer {token}"


def test_missing_and_duplicate_authorization_headers(site: SecuredServer, account: str, refusal: Answer) -> None:
    plain = base64.b64encode(f"ann:{site.token}".encode()).decode()
    for headers in (
        [("authorization", "")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", site.token)],
        [("authorization", f"Basic {plain}")],
        [("authorization", f"Token {site.token}")],
        [bearer(site.token), bearer(site.token)],
        [bearer(account), bearer(account)],
        [bearer(site.token), bearer("")],
        [bearer("x"), bearer(site.token)],
        [("cookie", f"token={site.token}")],
        [("x-remote-user", "ann"), ("x-remote-group", "system:masters")],
    ):
        assert site.ask(headers=headers) == refusal, headers


def test_token_in_the_url_is_ignored(site: SecuredServer, refusal: Answer) -> None:
    for name in ("token", "access_token", "authorization"):
        assert site.ask(path=f"{SELF_SUBJECT_REVIEWS}?{name}={site.token}") == refusal


@pytest.mark.parametrize(
    "path", ["/api/v1/secrets", "/api/v1/namespaces/none/pods/x", "/apis/nowhere/v1/x", "/metrics", "/debug/ownership", "/none"]
)
def test_unauthenticated_requests_reveal_nothing(path: str, site: SecuredServer, refusal: Answer) -> None:
    for token in (None, "wrong"):
        assert site.ask("GET", path, token=token) == refusal


CERTIFICATES: dict[str, Callable[[SecuredServer], certificates.SignedCertificate]] = {
    "over": lambda site: certificates.new_leaf(site.authority, "mallory", MASTERS, validity=EXPIRED),
    "not begun": lambda site: certificates.new_leaf(site.authority, "mallory", MASTERS, validity=NOT_YET_VALID),
    "over, of others": lambda site: certificates.new_leaf(site.other_ca, "mallory", MASTERS, validity=EXPIRED),
    "one between is over": lambda site: certificates.new_leaf(
        certificates.new_intermediate(site.other_ca, "between", EXPIRED), "mallory", MASTERS
    ),
    "one between has not begun": lambda site: certificates.new_leaf(
        certificates.new_intermediate(site.other_ca, "between", NOT_YET_VALID), "mallory", MASTERS
    ),
    "the authority is over": lambda site: certificates.new_leaf(site.expired_ca, "mallory", MASTERS),
    "nobody's": lambda site: certificates.new_leaf(site.authority, "", MASTERS),
    "the authority's own": lambda site: site.authority,
    "another authority's own": lambda site: site.other_ca,
}


@pytest.mark.parametrize("wrong", CERTIFICATES)
def test_certificates(wrong: str, site: SecuredServer, refusal: Answer) -> None:
    assert site.ask(certificate=CERTIFICATES[wrong](site)) == refusal


UNKNOWN: dict[str, Callable[[SecuredServer], certificates.SignedCertificate]] = {
    "of an unknown authority": lambda _: certificates.new_leaf(certificates.new_root("unknown"), "mallory", MASTERS),
    "of an authority that only has the same name": lambda _: certificates.new_leaf(
        certificates.new_root("others"), "mallory", MASTERS
    ),
    "signed by itself": lambda _: certificates.new_root("mallory"),
    "of who was not to sign others": lambda site: certificates.new_leaf(
        certificates.new_leaf(site.other_ca, "mallory"), "eve", MASTERS
    ),
    "a server's": lambda site: certificates.new_leaf(site.other_ca, "mallory", MASTERS, purposes=(certificates.SERVER,)),
    "the server's own": lambda site: site.pki_certificate("server"),
}


@pytest.mark.parametrize("wrong", UNKNOWN)
def test_certificates_that_fail_the_handshake(wrong: str, site: SecuredServer) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        site.ask("GET", "/livez", certificate=UNKNOWN[wrong](site))


@pytest.mark.parametrize("kind", ["listed", "account", "id", "certificate"])
def test_kubectl_gets_the_same_error(
    kind: str, site: SecuredServer, account: str, admin: Program, homes: Path, tmp_path: Path
) -> None:
    kubeconfig = site.kubeconfig(tmp_path / "config", _wrong(kind, site, account))
    kubectl = site.kubectl(admin.path, homes / f"wrong-{kind}", kubeconfig)
    response = kubectl("get", "pods", fails=True).splitlines()[-1]
    assert response == "error: You must be logged in to the server (the server has asked for the client to provide credentials)"


def test_python_client_gets_the_same_error(site: SecuredServer, account: str, clients: Path, homes: Path, tmp_path: Path) -> None:
    kinds = ("listed", "account", "id", "certificate")
    files = [site.kubeconfig(tmp_path / kind, _wrong(kind, site, account)) for kind in kinds]
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    for response in json.loads(python(HERE / "sessions" / "credentials.py", *files)):
        assert response["code"] == 401
        assert json.loads(response["body"]) == UNAUTHORIZED


def _wrong(kind: str, site: SecuredServer, account: str) -> dict[str, str]:
    if kind == "certificate":
        return secured_server.certificate_user(CERTIFICATES["over"](site))
    tokens = {"listed": "wrong", "account": ACCOUNT_TOKENS["over"](site, *opened(account)), "id": ID_TOKENS["over"](site)}
    return {"token": tokens[kind]}


def test_refused_credentials_are_not_logged(site: SecuredServer, account: str) -> None:
    log = site.server.log.read_text()
    assert not [shown for shown in site.issued_tokens if shown in log or shown.split(".")[-1] in log]
    assert "mallory" not in log
