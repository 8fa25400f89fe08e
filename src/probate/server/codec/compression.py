"""Gzip compression of large responses for clients that accept it and connect from another machine.

Clients on the same machine get uncompressed responses even if they accept gzip, because sending is faster there than compressing.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from probate.core.aio.large_work import Offloader
from probate.server.response import Response

LEAST_BYTES = 128 * 1024
"""Minimum response size for compression, as in Kubernetes."""
LEVEL, GZIP = 1, zlib.MAX_WBITS + 16
MOST_HEADER_BYTES = 1024
"""Maximum number of bytes of an `Accept-Encoding` header that are parsed."""
_LOOPBACK = ("127.", "::1", "::ffff:127.")


def is_wanted(headers: Mapping[bytes, bytes], client: object) -> bool:
    """Returns whether the response to a client at this address (host and port) should be compressed."""
    encodings = headers.get(b"accept-encoding", b"")[:MOST_HEADER_BYTES].lower()
    if b"gzip" not in encodings or not isinstance(client, tuple) or str(client[0]).startswith(_LOOPBACK):
        return False
    return any(_is_gzip(encoding) for encoding in encodings.split(b","))


def _is_gzip(encoding: bytes) -> bool:
    name, _, weight = encoding.replace(b" ", b"").partition(b";")
    return name == b"gzip" and not (weight.startswith(b"q=") and weight[2:].strip(b"0.") == b"")


async def compressed(offloader: Offloader, answer: Response) -> Response:
    """Returns the response compressed; compression runs off the event loop."""
    body = await offloader.run_in_thread(lambda: zlib.compress(answer.body, LEVEL, wbits=GZIP))
    return answer._replace(body=body, headers=(*answer.headers, ("content-encoding", "gzip"), ("vary", "Accept-Encoding")))
