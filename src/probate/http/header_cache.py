"""Requests that come in one piece, with headers that came before: what the parser found then, it would find again.

A client says the same about itself with each request, byte for byte, so what its headers mean is remembered. Only what the parser
has taken is remembered, and only what leaves no doubt where a request ends:

    POST /api/v1/namespaces/default/configmaps HTTP/1.1      a request line of the plain sort: read here, each time
    host: x ... content-length: 98                           headers that are known, with the length of what follows
    {"metadata":{"name":"a"}}                                all of it, and nothing behind it

All else (pieces, chunks, several requests at once, other lines and headers) is the parser's to read.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from probate.server.authz import impersonation

Headers = list[tuple[bytes, bytes]]

MAX_BYTES = 2_048
"""Of headers that are remembered."""
MAX_BODY_BYTES = 1024 * 1024
"""Of a body whose headers are remembered. (More hardly comes in one piece, and app's limit is higher.)"""
MAX_KNOWN = 500

_END = b"\r\n\r\n"
_LINE = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9/._~:@-]{0,1000})(?:\?([A-Za-z0-9/._~:@!$'()*+,;=%&-]{0,1000}))? HTTP/1\.1\r\n"
)
_DOUBTFUL = frozenset({b"transfer-encoding", b"content-encoding", b"upgrade", b"expect", b"trailer", b"te", b"http2-settings"})
_GOES_ON = b"keep-alive"


class Known(NamedTuple):
    """What some headers say, and how long a body they announce.

    None is there twice, they act for nobody else, and the body is not encoded.
    """

    headers: Headers
    by_name: dict[bytes, bytes]
    length: int


Whole: TypeAlias = tuple[bytes, bytes, bytes, Known, bytes]
"""A request of which all has come: its method, path, query, headers and body."""


class Heads:
    """Those that are known."""

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def read(self, data: bytes) -> Whole | None:
        """The one request that this is; None if only the parser can tell."""
        line = _LINE.match(data)
        if line is None:
            return None
        start = line.end()
        end = data.find(_END, start) + len(_END)
        known = self._known.get(data[start:end])
        if known is None or len(data) - end != known.length:
            return None
        method, path, query = line.groups(b"")
        return method, path, query, known, data[end:]

    def remember(self, data: bytes, headers: Headers) -> None:
        """The parser has read one whole request in this, with these headers."""
        line, end = _LINE.match(data), data.find(_END) + len(_END)
        by_name = dict(headers)
        is_plain = _DOUBTFUL.isdisjoint(by_name) and by_name.get(b"connection", _GOES_ON).lower() == _GOES_ON
        is_plain = is_plain and not impersonation.is_meant(by_name) and len(by_name) == len(headers)
        if line is None or not is_plain or end - line.end() > MAX_BYTES:
            return
        length = by_name.get(b"content-length", b"0")
        if not length.isdigit() or int(length) != len(data) - end or int(length) > MAX_BODY_BYTES:
            return
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[data[line.end() : end]] = Known(headers, by_name, int(length))
