"""A real server with TLS and every kind of credential switched on, and what is needed to show it one."""

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
from support.oidc_issuer import Issuer, issuing
from support.server_process import Server, serving
from support.signed_certificates import Signed

PROBATE = [sys.executable, "-m", "probate"]
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
CHANGING = {"date", "audit-id"}
"""Headers that are other ones in each answer."""
Claims = dict[str, Any]


class Answer(NamedTuple):
    """All that the server says, less what time it is and the number of the answer."""

    code: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Site:
    """The server, those whom it believes, and those who ask."""

    def __init__(self, server: Server, folder: Path, issuer: Issuer, token: str, others: Signed, old: Signed) -> None:
        self.server, self.folder, self.issuer, self.token = server, folder, issuer, token
        self.others = others  # who signs clients, by --client-ca-file
        self.old = old  # who did so once
        self.handed_out = [token]
        self._numbers = itertools.count(2)

    @property
    def authority(self) -> Signed:
        """The server's own."""
        return self.kept("ca")

    def kept(self, name: str) -> Signed:
        """A certificate of the server's folder."""
        certificate, key = ((self.folder / "probate.pki" / f"{name}.{end}").read_bytes() for end in ("crt", "key"))
        loaded: Any = load_pem_private_key(key, None)
        return Signed(x509.load_pem_x509_certificate(certificate), loaded)

    @property
    def signing_key(self) -> Any:
        """What the server signs tokens of service accounts with."""
        return load_pem_private_key((self.folder / "probate.pki" / "service-account.key").read_bytes(), None)

    def id_token(self, *, key: int = 0, **claims: Any) -> str:
        """Of the issuer, as it would be right but for these claims."""
        whole = {"iss": self.issuer.url, "aud": "probate", "sub": "dave", "groups": ["staff"], "exp": int(time.time()) + 600}
        token: str = self.issuer.keys[key].token(whole | claims)
        self.handed_out.append(token)
        return token

    def context(self, shown: Signed | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.folder / "probate.pki" / "ca.crt"))
        if shown is not None:
            file = self.folder / f"client-{next(self._numbers)}.pem"
            file.write_bytes(shown.shown)
            context.load_cert_chain(file)
        return context

    def ask(
        self,
        method: str = "POST",
        path: str = WHO,
        *,
        shown: Signed | None = None,
        headers: Sequence[tuple[str, str]] = (),
        token: str | None = None,
    ) -> Answer:
        """Each time from another address, since who fails too often is made to wait."""
        host, port = self.server.url.removeprefix("https://").split(":")
        number = next(self._numbers)
        source = (f"127.0.{number // 200}.{number % 200 + 2}", 0)
        asking = http.client.HTTPSConnection(host, int(port), timeout=60, context=self.context(shown), source_address=source)
        body = b"{}" if method == "POST" else b""
        more = [("authorization", f"Bearer {token}")] if token is not None else []
        with contextlib.closing(asking):  # also if the handshake fails
            asking.putrequest(method, path)
            for name, value in (*headers, *more, ("content-type", "application/json"), ("content-length", str(len(body)))):
                asking.putheader(name, value)
            asking.endheaders(body)
            answer = asking.getresponse()
            kept = tuple(sorted((name.lower(), value) for name, value in answer.getheaders() if name.lower() not in CHANGING))
            return Answer(answer.status, kept, answer.read())

    def kubeconfig(self, path: Path, user: Mapping[str, Any]) -> Path:
        """One for whoever has this."""
        known = yaml.safe_load(self.server.kubeconfig.read_text())
        known["users"][0]["user"] = dict(user)
        path.write_text(yaml.safe_dump(known))
        return path

    def kubectl(self, program: Path, home: Path, kubeconfig: Path | None = None) -> Program:
        return Program(program, kubeconfig or self.server.kubeconfig, home)


def with_certificate(shown: Signed) -> dict[str, str]:
    """How a kubeconfig shows a certificate."""
    key, rest = re.split(rb"(?<=-----END PRIVATE KEY-----\n)", shown.shown)
    return {
        name: base64.b64encode(part).decode() for name, part in {"client-certificate-data": rest, "client-key-data": key}.items()
    }


@contextmanager
def site_in(folder: Path) -> Iterator[Site]:
    """Until the block ends."""
    made = subprocess.run([*PROBATE, "token", "ann", "--group", "staff"], capture_output=True, text=True, check=True)
    (folder / "tokens.csv").write_text(made.stdout)
    others, old = signed_certificates.root("others"), signed_certificates.root("old", signed_certificates.OVER)
    (folder / "others.crt").write_bytes(others.pem + old.pem)
    with issuing(folder) as issuer:
        options = ["--token-file", "tokens.csv", "--client-ca-file", "others.crt", "--oidc-issuer-url", issuer.url]
        options += ["--oidc-client-id", "probate", "--oidc-username-prefix", "-", "--oidc-groups-claim", "groups"]
        options += ["--oidc-ca-file", str(issuer.ca_file)]
        with serving(folder, "memory:", *options) as server:
            yield Site(server, folder, issuer, made.stderr.strip(), others, old)
