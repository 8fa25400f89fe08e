"""An OpenID Connect issuer on loopback, with a certificate by an authority of its own, and keys that tests can change."""

from __future__ import annotations

import base64
import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

Claims = dict[str, Any]


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def encode_integer(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def signing_input(header: Claims, claims: Claims) -> str:
    return ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))


class IssuerKey:
    """An RSA key of the issuer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = rsa.generate_private_key(65537, 2048)

    @property
    def public_key(self) -> rsa.RSAPublicKey:
        return self._key.public_key()

    @property
    def jwk(self) -> Claims:
        numbers = self._key.public_key().public_numbers()
        return {
            "kty": "RSA",
            "kid": self.name,
            "use": "sig",
            "alg": "RS256",
            "n": encode_integer(numbers.n),
            "e": encode_integer(numbers.e),
        }

    def token(self, claims: Claims, *, algorithm: str = "RS256", name: str | None = None) -> str:
        """Returns a token with these claims; its header names any algorithm and key."""
        text = signing_input({"alg": algorithm, "kid": self.name if name is None else name, "typ": "JWT"}, claims)
        return f"{text}.{encoded(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


class Issuer:
    """What the issuer publishes, and how many requests it has received."""

    def __init__(self, server: ThreadingHTTPServer, ca_file: Path) -> None:
        self.url = f"https://127.0.0.1:{server.server_address[1]}"
        self.ca_file = ca_file
        self.keys: list[Any] = [IssuerKey("one")]
        self.requests = 0
        self.is_broken = False
        self.may_answer = threading.Event()
        """While it is not set, requests get no response."""
        self.may_answer.set()
        self.delay = 0.0  # seconds before each response

    def answer(self, path: str) -> Claims:
        self.requests += 1
        if path.endswith("openid-configuration"):
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return {"keys": [{"kty": "oct", "k": "x"}, *(key.jwk for key in self.keys)]}


@contextmanager
def run_issuer(folder: Path) -> Iterator[Issuer]:
    """Runs an issuer."""
    ca = trustme.CA()
    ca_file = folder / "issuer.crt"
    ca.cert_pem.write_to_path(str(ca_file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1").configure_cert(context)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.may_answer.wait()
            time.sleep(issuer.delay)
            body = b"[]" if issuer.is_broken else json.dumps(issuer.answer(self.path)).encode()
            with contextlib.suppress(ConnectionError, ssl.SSLError):  # the client may have disconnected
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        issuer = Issuer(server, ca_file)
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield issuer
        finally:
            issuer.may_answer.set()
            server.shutdown()
            serving.join()


def es256_token(claims: Claims, key: ec.EllipticCurvePrivateKey, name: str, **header: Any) -> str:
    """Returns a token that is signed on the curve P-256; its header has any other fields."""
    from cryptography.hazmat.primitives.asymmetric import utils  # noqa: PLC0415

    text = signing_input({"alg": "ES256", "kid": name, **header}, claims)
    parts = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(b''.join(part.to_bytes(32, 'big') for part in parts))}"
