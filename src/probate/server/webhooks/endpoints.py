"""Resolves the `clientConfig` of a webhook to an endpoint.

There is no cluster network, so a Service is reachable only if its address is configured:
`--webhook-service NAMESPACE/NAME[:PORT]=URL`. TLS certificates are verified for the DNS name that Kubernetes would use.
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
    """A server and a path on it. Messages contain `url`."""

    url: str
    host: str
    port: int
    path: str
    is_tls: bool
    name: str  # DNS name that the server certificate must contain
    ca: str  # PEM; empty: the system's CAs


class Unreachable(Exception):
    """The server is unreachable or its response is invalid. The message contains the reason."""


def services(given: Iterable[str]) -> Services:
    """Parses the --webhook-service options. Raises `CannotOpen` if one is invalid."""
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
    """Resolves a `clientConfig`. Raises `Unreachable` for a Service without a configured address."""
    bundle = _bundle(config.get("caBundle") or "")
    if config.get("url"):
        return _endpoint(config["url"], config["url"], "", bundle=bundle)
    service = config.get("service") or {}
    namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
    path = service.get("path") or ""
    dns_name = f"{name}.{namespace}.svc"
    url = known.get(f"{namespace}/{name}:{port}") or known.get(f"{namespace}/{name}")
    display_url = f"https://{dns_name}:{port}/{path.lstrip('/')}"
    if url is None:
        raise Unreachable(
            f"{display_url}: service {namespace}/{name} cannot be reached, as there is no cluster network: give clientConfig.url, "
            f"or start the server with --webhook-service {namespace}/{name}:{port}=URL"
        )
    return _endpoint(url.rstrip("/") + (f"/{path.lstrip('/')}" if path else ""), display_url, dns_name, bundle=bundle)


def _endpoint(url: str, display_url: str, name: str, *, bundle: str) -> Endpoint:
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError:
        raise Unreachable(f"{display_url}: the URL has an invalid port") from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(display_url, host, port, path, parts.scheme == "https", name or host, bundle)


def _bundle(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")  # text around certificates is allowed
    except binascii.Error:
        raise Unreachable("unable to load root certificates: unable to parse bytes as PEM block") from None
