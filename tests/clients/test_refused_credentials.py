"""Credentials that are not good, each in its way, on a real server over TLS: all of them get the same answer, byte for byte.

Those who show a certificate of an authority that the server does not know, or one that is not for clients, do not come as far as
that: the handshake ends. What a file of tokens no longer lists is looked at once a minute: unit/server/test_recognition has that.
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
from support.oidc_issuer import Key, elliptic, encoded, joined
from support.secured_server import WHO, Answer, Site
from support.signed_certificates import LATER, OVER

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
def account(site: Site, admin: Program) -> str:
    """A token of a service account that is good."""
    admin("create", "serviceaccount", "robot")
    token = admin("create", "token", "robot").strip()
    assert site.ask(token=token).code == 201
    site.handed_out.append(token)
    return token


@pytest.fixture(scope="module")
def refusal(site: Site) -> Answer:
    """What is answered to who shows nothing."""
    found = site.ask()
    assert found.code == 401
    assert found.json == UNAUTHORIZED
    assert [name for name, _ in found.headers] == ["cache-control", "content-length", "content-type"]
    return found


def opened(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the claims."""
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2])
    return header, claims


def by_hmac(header: dict[str, Any], claims: dict[str, Any], public_key: Any) -> str:
    """As who confuses algorithms would have it: the public key, which everybody knows, taken for a secret one."""
    text = joined({**header, "alg": "HS256"}, claims)
    known = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return f"{text}.{encoded(hmac.new(known, text.encode(), hashlib.sha256).digest())}"


def unsigned(header: dict[str, Any], claims: dict[str, Any], name: str = "none") -> str:
    return joined({**header, "alg": name}, claims) + "."


Forge = Callable[[Site, dict[str, Any], dict[str, Any]], str]


def ours(**changed: Any) -> Forge:
    """Signed with the server's own key, as nobody else could, with other claims."""
    return lambda site, header, claims: elliptic({**claims, **changed}, site.signing_key, header["kid"])


NOW = int(time.time())
ACCOUNT_TOKENS: dict[str, Forge] = {
    "another key": lambda _, header, claims: elliptic(claims, OTHER_KEY, header["kid"]),
    "another key's name": lambda site, _, claims: elliptic(claims, site.signing_key, "another"),
    "no key's name": lambda site, _, claims: elliptic(claims, site.signing_key, ""),
    "unsigned": lambda _, header, claims: unsigned(header, claims),
    "unsigned, in capitals": lambda _, header, claims: unsigned(header, claims, "NONE"),
    "unsigned, with a signature": lambda _, header, claims: unsigned(header, claims) + "AAAA",
    "signed with the public key": lambda site, header, claims: by_hmac(header, claims, site.signing_key.public_key()),
    "another curve's name": lambda site, header, claims: elliptic(claims, site.signing_key, header["kid"], alg="ES384"),
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
    "with something critical": lambda site, header, claims: elliptic(claims, site.signing_key, header["kid"], crit=["x"]),
}


@pytest.mark.parametrize("wrong", ACCOUNT_TOKENS)
def test_tokens_of_service_accounts(wrong: str, site: Site, account: str, refusal: Answer) -> None:
    token = ACCOUNT_TOKENS[wrong](site, *opened(account))
    assert token != account
    assert site.ask(token=token) == refusal


def test_a_token_that_was_changed(site: Site, account: str, refusal: Answer) -> None:
    head, body, signature = account.split(".")
    _, claims = opened(account)
    greedy = encoded(json.dumps({**claims, "sub": "system:admin"}).encode())
    for token in (f"{head}.{greedy}.{signature}", account[:-8], account + "A", f"{body}.{head}.{signature}", f"{head}.{body}."):
        assert site.ask(token=token) == refusal


def test_the_same_token_signed_anew_is_good(site: Site, account: str) -> None:
    """So that what is refused is refused for what was changed."""
    assert site.ask(token=ours()(site, *opened(account))).code == 201


def test_tokens_whose_account_or_pod_is_gone(site: Site, admin: Program, refusal: Answer) -> None:
    admin("create", "serviceaccount", "gone")
    admin("run", "bound", "--image=none", "--overrides", '{"spec": {"serviceAccountName": "gone"}}')
    admin("create", "secret", "generic", "bound")
    pod, secret = (
        admin("create", "token", "gone", f"--bound-object-kind={kind}", "--bound-object-name=bound").strip()
        for kind in ("Pod", "Secret")
    )
    plain = admin("create", "token", "gone").strip()
    for token in (pod, secret, plain):
        site.handed_out.append(token)
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


ID_TOKENS: dict[str, Callable[[Site], str]] = {
    "over": lambda site: site.id_token(exp=NOW - 60),
    "without an end": lambda site: site.id_token(exp=None),
    "not begun": lambda site: site.id_token(nbf=NOW + 3600),
    "for others": lambda site: site.id_token(aud="others"),
    "of another issuer": lambda site: site.id_token(iss="https://elsewhere"),
    "of this server, which did not sign it": lambda site: site.id_token(iss="https://kubernetes.default.svc"),
    "another key": lambda site: Key("one").token(opened(site.id_token())[1]),
    "another key's name": lambda site: site.issuer.keys[0].token(opened(site.id_token())[1], name="another"),
    "unsigned": lambda site: unsigned(*opened(site.id_token())),
    "signed with the public key": lambda site: by_hmac(*opened(site.id_token()), site.issuer.keys[0].public_key),
    "another algorithm's name": lambda site: site.issuer.keys[0].token(opened(site.id_token())[1], algorithm="PS256"),
    "a name of the system's": lambda site: site.id_token(sub="system:admin"),
    "no name": lambda site: site.id_token(sub=""),
}


@pytest.mark.parametrize("wrong", ID_TOKENS)
def test_tokens_of_an_issuer(wrong: str, site: Site, refusal: Answer) -> None:
    assert site.ask(token=site.id_token()).code == 201
    assert site.ask(token=ID_TOKENS[wrong](site)) == refusal


def test_tokens_of_the_file(site: Site, refusal: Answer) -> None:
    listed = (site.folder / "tokens.csv").read_text().split(",")[0]
    assert site.ask(token=site.token).code == 201
    for wrong in (site.token[:-1], site.token + "x", site.token.swapcase(), listed, "x", "a b"):
        assert site.ask(token=wrong) == refusal


def bearer(token: str) -> tuple[str, str]:
    return "authorization", f"Bearer {token}"


def test_headers_that_show_none_or_two(site: Site, account: str, refusal: Answer) -> None:
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


def test_a_token_in_the_url(site: Site, refusal: Answer) -> None:
    for name in ("token", "access_token", "authorization"):
        assert site.ask(path=f"{WHO}?{name}={site.token}") == refusal


@pytest.mark.parametrize(
    "path", ["/api/v1/secrets", "/api/v1/namespaces/none/pods/x", "/apis/nowhere/v1/x", "/metrics", "/debug/ownership", "/none"]
)
def test_nobody_learns_what_there_is(path: str, site: Site, refusal: Answer) -> None:
    for token in (None, "wrong"):
        assert site.ask("GET", path, token=token) == refusal


CERTIFICATES: dict[str, Callable[[Site], certificates.Signed]] = {
    "over": lambda site: certificates.of(site.authority, "mallory", MASTERS, OVER),
    "not begun": lambda site: certificates.of(site.authority, "mallory", MASTERS, LATER),
    "over, of others": lambda site: certificates.of(site.others, "mallory", MASTERS, OVER),
    "one between is over": lambda site: certificates.of(certificates.between(site.others, "between", OVER), "mallory", MASTERS),
    "one between has not begun": lambda site: certificates.of(
        certificates.between(site.others, "between", LATER), "mallory", MASTERS
    ),
    "the authority is over": lambda site: certificates.of(site.old, "mallory", MASTERS),
    "nobody's": lambda site: certificates.of(site.authority, "", MASTERS),
    "the authority's own": lambda site: site.authority,
    "another authority's own": lambda site: site.others,
}


@pytest.mark.parametrize("wrong", CERTIFICATES)
def test_certificates(wrong: str, site: Site, refusal: Answer) -> None:
    assert site.ask(shown=CERTIFICATES[wrong](site)) == refusal


UNKNOWN: dict[str, Callable[[Site], certificates.Signed]] = {
    "of an unknown authority": lambda _: certificates.of(certificates.root("unknown"), "mallory", MASTERS),
    "of an authority that only has the same name": lambda _: certificates.of(certificates.root("others"), "mallory", MASTERS),
    "signed by itself": lambda _: certificates.root("mallory"),
    "of who was not to sign others": lambda site: certificates.of(certificates.of(site.others, "mallory"), "eve", MASTERS),
    "a server's": lambda site: certificates.of(site.others, "mallory", MASTERS, purposes=(certificates.SERVER,)),
    "the server's own": lambda site: site.kept("server"),
}


@pytest.mark.parametrize("wrong", UNKNOWN)
def test_certificates_that_end_the_handshake(wrong: str, site: Site) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        site.ask("GET", "/livez", shown=UNKNOWN[wrong](site))


@pytest.mark.parametrize("kind", ["listed", "account", "id", "certificate"])
def test_kubectl_is_told_no_more(kind: str, site: Site, account: str, admin: Program, homes: Path, tmp_path: Path) -> None:
    kubeconfig = site.kubeconfig(tmp_path / "config", _wrong(kind, site, account))
    kubectl = site.kubectl(admin.path, homes / f"wrong-{kind}", kubeconfig)
    told = kubectl("get", "pods", fails=True).splitlines()[-1]
    assert told == "error: You must be logged in to the server (the server has asked for the client to provide credentials)"


def test_the_python_client_is_told_no_more(site: Site, account: str, clients: Path, homes: Path, tmp_path: Path) -> None:
    kinds = ("listed", "account", "id", "certificate")
    files = [site.kubeconfig(tmp_path / kind, _wrong(kind, site, account)) for kind in kinds]
    python = Program(clients / "python" / "bin" / "python", site.server.kubeconfig, homes / "python")
    for told in json.loads(python(HERE / "sessions" / "credentials.py", *files)):
        assert told["code"] == 401
        assert json.loads(told["body"]) == UNAUTHORIZED


def _wrong(kind: str, site: Site, account: str) -> dict[str, str]:
    if kind == "certificate":
        return secured_server.with_certificate(CERTIFICATES["over"](site))
    tokens = {"listed": "wrong", "account": ACCOUNT_TOKENS["over"](site, *opened(account)), "id": ID_TOKENS["over"](site)}
    return {"token": tokens[kind]}


def test_nothing_that_was_shown_is_in_the_servers_log(site: Site, account: str) -> None:
    log = site.server.log.read_text()
    assert not [shown for shown in site.handed_out if shown in log or shown.split(".")[-1] in log]
    assert "mallory" not in log
