"""A real server with TLS and every kind of credential enabled, and clients with good and bad credentials."""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from support import signed_certificates
from support.client_programs import Program
from support.oidc_issuer import Issuer, run_issuer
from support.server_process import ServerProcess, run_server
from support.signed_certificates import SignedCertificate

PROBATE = [sys.executable, "-m", "probate"]
SELF_SUBJECT_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
VOLATILE_HEADERS = {"date", "audit-id"}
"""Response headers that differ in each answer."""
Claims = dict[str, Any]


class Answer(NamedTuple):
    """A response, without the headers that always differ."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class SecuredServer:
    """The server, the issuers that it trusts, and requests with any credential."""

    def __init__(
        self,
        server: ServerProcess,
        folder: Path,
        issuer: Issuer,
        *,
        token: str,
        other_ca: SignedCertificate,
        expired_ca: SignedCertificate,
    ) -> None:
        self.server, self.folder, self.issuer, self.token = server, folder, issuer, token
        self.other_ca = other_ca  # a CA of --client-ca-file
        self.expired_ca = expired_ca  # an expired CA of --client-ca-file
        self.issued_tokens = [token]
        self._numbers = itertools.count(2)

    @property
    def authority(self) -> SignedCertificate:
        """The server's own CA."""
        return self.pki_certificate("ca")

    def pki_certificate(self, name: str) -> SignedCertificate:
        """Returns a certificate of the server's PKI folder."""
        certificate, key = ((self.folder / "probate.pki" / f"{name}.{end}").read_bytes() for end in ("crt", "key"))
        loaded: Any = load_pem_private_key(key, None)
        return SignedCertificate(x509.load_pem_x509_certificate(certificate), loaded)

    @property
    def signing_key(self) -> Any:
        """The key with which the server signs service account tokens."""
        return load_pem_private_key((self.folder / "probate.pki" / "service-account.key").read_bytes(), None)

    def id_token(self, *, key: int = 0, **claims: Any) -> str:
        """Returns an ID token of the issuer that is valid except for these claims."""
        defaults = {"iss": self.issuer.url, "aud": "probate", "sub": "dave", "groups": ["staff"], "exp": int(time.time()) + 600}
        token: str = self.issuer.keys[key].token(defaults | claims)
        self.issued_tokens.append(token)
        return token

    def context(self, certificate: SignedCertificate | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.folder / "probate.pki" / "ca.crt"))
        if certificate is not None:
            file = self.folder / f"client-{next(self._numbers)}.pem"
            file.write_bytes(certificate.client_pem)
            context.load_cert_chain(file)
        return context

    def ask(
        self,
        method: str = "POST",
        path: str = SELF_SUBJECT_REVIEWS,
        *,
        certificate: SignedCertificate | None = None,
        headers: Sequence[tuple[str, str]] = (),
        token: str | None = None,
    ) -> Answer:
        """Sends a request. Each comes from another address, since repeated failures of one address are delayed."""
        host, port = self.server.url.removeprefix("https://").split(":")
        number = next(self._numbers)
        source = (f"127.0.{number // 200}.{number % 200 + 2}", 0)
        connection = http.client.HTTPSConnection(
            host, int(port), timeout=60, context=self.context(certificate), source_address=source
        )
        body = b"{}" if method == "POST" else b""
        authorization = [("authorization", f"Bearer {token}")] if token is not None else []
        with contextlib.closing(connection):  # also if the handshake fails
            connection.putrequest(method, path)
            for name, value in (*headers, *authorization, ("content-type", "application/json"), ("content-length", str(len(body)))):
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            headers_kept = tuple(
                sorted((name.lower(), value) for name, value in answer.getheaders() if name.lower() not in VOLATILE_HEADERS)
            )
            return Answer(answer.status, headers_kept, answer.read())

    def kubeconfig(self, path: Path, user: Mapping[str, Any]) -> Path:
        """Writes a kubeconfig with this user."""
        kubeconfig = yaml.safe_load(self.server.kubeconfig.read_text())
        kubeconfig["users"][0]["user"] = dict(user)
        path.write_text(yaml.safe_dump(kubeconfig))
        return path

    def kubectl(self, program: Path, home: Path, kubeconfig: Path | None = None) -> Program:
        return Program(program, kubeconfig or self.server.kubeconfig, home)


def certificate_user(certificate: SignedCertificate) -> dict[str, str]:
    """Returns the user of a kubeconfig with this client certificate."""
    key, certificates = re.split(rb"(?<=-----END PRIVATE KEY-----\n)", certificate.client_pem)
    return {
        name: base64.b64encode(part).decode()
        for name, part in {"client-certificate-data": certificates, "client-key-data": key}.items()
    }


@contextmanager
def running_secured_server(folder: Path) -> Iterator[SecuredServer]:
    """Runs the server until the context ends."""
    token_command = subprocess.run([*PROBATE, "token", "ann", "--group", "staff"], capture_output=True, text=True, check=True)
    (folder / "tokens.csv").write_text(token_command.stdout)
    other_ca, expired_ca = signed_certificates.new_root("others"), signed_certificates.new_root("old", signed_certificates.EXPIRED)
    (folder / "others.crt").write_bytes(other_ca.pem + expired_ca.pem)
    with run_issuer(folder) as issuer:
        options = ["--token-file", "tokens.csv", "--client-ca-file", "others.crt", "--oidc-issuer-url", issuer.url]
        options += ["--oidc-client-id", "probate", "--oidc-username-prefix", "-", "--oidc-groups-claim", "groups"]
        options += ["--oidc-ca-file", str(issuer.ca_file)]
        with run_server(folder, "memory:", *options) as server:
            yield SecuredServer(
                server, folder, issuer, token=token_command.stderr.strip(), other_ca=other_ca, expired_ca=expired_ca
            )
