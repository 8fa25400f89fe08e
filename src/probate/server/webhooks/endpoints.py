"""Where a `clientConfig` points to.

There is no cluster network here, so nobody can be reached by the name of a Service unless the server was told where that is:
`--webhook-service NAMESPACE/NAME[:PORT]=URL`. Certificates are checked for the name that Kubernetes would use.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from probate.core import errors

Services = Mapping[str, str]
"""URLs by `namespace/name:port`, or by `namespace/name` for all ports."""

_PORTS = {"https": 443, "http": 80}


class Endpoint(NamedTuple):
    """A server and a path on it. `url` is what messages call it."""

    url: str
    host: str
    port: int
    path: str
    is_tls: bool
    name: str  # that the server's certificate must have
    ca: str  # PEM; empty: who the system trusts


class Unreachable(Exception):
    """Why a server cannot be reached, or has not answered as it should."""


def services(given: Iterable[str]) -> Services:
    """The mapping that the settings say. `CannotOpen` if one of them makes no sense."""
    found: dict[str, str] = {}
    for one in given:
        service, equals, url = one.partition("=")
        namespace, slash, name = service.partition("/")
        parts = urlsplit(url)
        if not (equals and slash and namespace and name) or parts.scheme not in _PORTS or not parts.hostname or parts.query:
            raise errors.CannotOpen(f"--webhook-service {one!r} is not understood: give NAMESPACE/NAME[:PORT]=URL")
        found[service] = url
    return found


def find(config: dict[str, Any], known: Services) -> Endpoint:
    """The endpoint of a `clientConfig`. `Unreachable` if it is a Service nobody has said anything about."""
    bundle = _bundle(config.get("caBundle") or "")
    if config.get("url"):
        return _at(config["url"], config["url"], "", bundle)
    service = config.get("service") or {}
    namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
    path = service.get("path") or ""
    called = f"{name}.{namespace}.svc"
    url = known.get(f"{namespace}/{name}:{port}") or known.get(f"{namespace}/{name}")
    shown = f"https://{called}:{port}/{path.lstrip('/')}"
    if url is None:
        raise Unreachable(
            f"{shown}: service {namespace}/{name} cannot be reached, as there is no cluster network: give clientConfig.url, "
            f"or start the server with --webhook-service {namespace}/{name}:{port}=URL"
        )
    return _at(url.rstrip("/") + (f"/{path.lstrip('/')}" if path else ""), shown, called, bundle)


def _at(url: str, shown: str, name: str, bundle: str) -> Endpoint:
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:
        raise Unreachable(f"{shown}: the port of the URL is no port") from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(shown, host, port, path, parts.scheme == "https", name or host, bundle)


def _bundle(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")  # around certificates there may be any text
    except binascii.Error:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None
