"""Large answers, made smaller for who asks for that and is far away.

Whoever is on the same machine gets them as they are, asked for or not: there, sending takes less than making smaller.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from probate.server.context import Answer, Api

LEAST_BYTES = 128 * 1024
"""Of an answer that is worth it, as in Kubernetes."""
LEVEL, GZIP = 1, zlib.MAX_WBITS + 16
MOST_HEADER_BYTES = 1024
"""Of an `Accept-Encoding` header that are looked at."""
_HERE = ("127.", "::1", "::ffff:127.")


def is_wanted(headers: Mapping[bytes, bytes], client: object) -> bool:
    """Whether a client at this address (host and port) wants a large answer made smaller."""
    wishes = headers.get(b"accept-encoding", b"")[:MOST_HEADER_BYTES].lower()
    if b"gzip" not in wishes or not isinstance(client, tuple) or str(client[0]).startswith(_HERE):
        return False
    return any(_is_gzip(wish) for wish in wishes.split(b","))


def _is_gzip(wish: bytes) -> bool:
    name, _, weight = wish.replace(b" ", b"").partition(b";")
    return name == b"gzip" and not (weight.startswith(b"q=") and weight[2:].strip(b"0.") == b"")


async def compressed(api: Api, answer: Answer) -> Answer:
    """The answer, made smaller beside everybody's requests."""
    body = await api.elsewhere(lambda: zlib.compress(answer.body, LEVEL, wbits=GZIP))
    return answer._replace(body=body, headers=(*answer.headers, ("content-encoding", "gzip"), ("vary", "Accept-Encoding")))
