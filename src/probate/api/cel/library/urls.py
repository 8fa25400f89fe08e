"""The URL functions of Kubernetes."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, first, traversal

LIBRARY = Library()
function = LIBRARY.function

_BAD = re.compile(r"[\x00-\x20\x7f]")
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
MAX_FIELDS = 1000


class URL:
    """An absolute URL or path."""

    __slots__ = ("parts", "text")
    cel_type = "kubernetes.URL"

    def __init__(self, text: str, parts: SplitResult) -> None:
        self.text = text
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def cel_shown(self) -> str:
        return self.text


def parse(text: str) -> URL | None:
    """Parses an absolute URL; returns None for any other text."""
    if _BAD.search(text) or _PERCENT.search(text.partition("?")[0]):
        return None
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 accessing the property validates the port
    except ValueError:
        return None
    if not parts.scheme and not text.startswith("/"):
        return None
    return URL(text, parts)


@function("url(string) -> URL", cost=traversal)
def _url(_: Meter, text: str) -> URL:
    found = parse(text)
    if found is None:
        raise CelError(f'URL parse error during conversion from string: parse "{text[:100]}": invalid URI for request')
    return found


@function("isURL(string) -> bool", cost=traversal)
def _is_url(_: Meter, text: str) -> bool:
    return parse(text) is not None


@function("URL::getScheme() -> string", grows=first)
def _scheme(_: Meter, one: URL) -> str:
    return one.parts.scheme


@function("URL::getHost() -> string", grows=first)
def _host(_: Meter, one: URL) -> str:
    return one.parts.netloc.rpartition("@")[2]


@function("URL::getHostname() -> string", grows=first)
def _hostname(meter: Meter, one: URL) -> str:
    host = _host(meter, one)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


@function("URL::getPort() -> string", grows=first)
def _port(meter: Meter, one: URL) -> str:
    host = _host(meter, one).rpartition("]")[2]
    return host.rpartition(":")[2] if ":" in host else ""


@function("URL::getEscapedPath() -> string", grows=first)
def _path(_: Meter, one: URL) -> str:
    return quote(unquote(one.parts.path, errors="surrogateescape"), safe="/$&+,:;=@-_.~!*'()", errors="surrogateescape")


@function("URL::getQuery() -> map<string, list<string>>", cost=first, grows=first)
def _query(meter: Meter, one: URL) -> dict[str, list[str]]:
    meter.charge(len(one.parts.query))
    try:
        return parse_qs(one.parts.query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise CelError(f"URL query cannot be read: {error}") from None
