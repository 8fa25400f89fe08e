"""Caches parsed header blocks. A request whose headers are byte-identical to an earlier one skips the parser.

A client sends the same headers with each request, byte for byte. The cache holds only headers that the parser has accepted, and
only those that leave no doubt where a request ends:

    POST /api/v1/namespaces/default/configmaps HTTP/1.1      a request line of the plain form: read here, each time
    host: x ... content-length: 98                           cached headers, with the length of the body
    {"metadata":{"name":"a"}}                                the whole body, and nothing after it

Everything else (partial requests, chunked bodies, several requests at once, other request lines and headers) goes to the parser.

Fast path: `HeaderCache.read` equals what the parser finds, property-tested in tests/unit/http/test_header_cache.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

Headers = list[tuple[bytes, bytes]]

MAX_BYTES = 2_048
"""Size of a header block that is cached."""
MAX_BODY_BYTES = 1024 * 1024
"""Size of a body whose headers are cached. (A larger one hardly arrives in one read; the app's limit is higher.)"""
MAX_ENTRIES = 500

_END = b"\r\n\r\n"
_REQUEST_LINE = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/[A-Za-z0-9/._~:@-]{0,1000})(?:\?([A-Za-z0-9/._~:@!$'()*+,;=%&-]{0,1000}))? HTTP/1\.1\r\n"
)
_UNCACHED = frozenset({b"transfer-encoding", b"content-encoding", b"upgrade", b"expect", b"trailer", b"te", b"http2-settings"})
_KEEP_ALIVE = b"keep-alive"
_IMPERSONATION = b"impersonate-"


class CachedHeaders(NamedTuple):
    """The headers of a block, and the length of the body that they announce.

    No header occurs twice, none impersonates another user, and the body is not encoded.
    """

    headers: Headers
    by_name: dict[bytes, bytes]
    length: int


CompleteRequest: TypeAlias = tuple[bytes, bytes, bytes, CachedHeaders, bytes]
"""A request that has arrived as a whole: its method, path, query, headers and body."""


class HeaderCache:
    """Header blocks by their bytes. When it is full, all of it is dropped."""

    def __init__(self) -> None:
        self._entries: dict[bytes, CachedHeaders] = {}

    def read(self, data: bytes) -> CompleteRequest | None:
        """Returns the single complete request in `data`, or None if it has to be parsed.

        Fast path: equals the parser's result, property-tested in tests/unit/http/test_header_cache.py.
        """
        line = _REQUEST_LINE.match(data)
        if line is None:
            return None
        start = line.end()
        end = data.find(_END, start) + len(_END)
        headers = self._entries.get(data[start:end])
        if headers is None or len(data) - end != headers.length:
            return None
        method, path, query = line.groups(b"")
        return method, path, query, headers, data[end:]

    def add(self, data: bytes, headers: Headers) -> None:
        """Caches the headers of `data`, in which the parser has found exactly one complete request. Skips those in doubt."""
        line, end = _REQUEST_LINE.match(data), data.find(_END) + len(_END)
        by_name = dict(headers)
        is_plain = _UNCACHED.isdisjoint(by_name) and by_name.get(b"connection", _KEEP_ALIVE).lower() == _KEEP_ALIVE
        is_plain = is_plain and _IMPERSONATION not in b"".join(by_name) and len(by_name) == len(headers)
        if line is None or not is_plain or end - line.end() > MAX_BYTES:
            return
        length = by_name.get(b"content-length", b"0")
        if not length.isdigit() or int(length) != len(data) - end or int(length) > MAX_BODY_BYTES:
            return
        if len(self._entries) >= MAX_ENTRIES:
            self._entries.clear()
        self._entries[data[line.end() : end]] = CachedHeaders(headers, by_name, int(length))
