"""Reads the body of a request from the ASGI connection, within its size limit and its share of memory."""

from __future__ import annotations

from probate.core import errors
from probate.http.memory_limits import MemoryShare
from probate.server.response_writer import Receive


async def reject_encoded_body() -> bytes:
    """Raises `UnsupportedMediaType`: the body has a Content-Encoding."""
    raise errors.UnsupportedMediaType("the server does not decode a Content-Encoding in requests: send the body unencoded")


async def read_body(headers: dict[bytes, bytes], receive: Receive, share: MemoryShare, *, max_bytes: int) -> bytes:
    """Reads the complete body. Raises `TooLarge` as soon as it is known to exceed the limit."""
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > max_bytes:
        raise _too_large(max_bytes)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.BadRequest("the client disconnected before its request was complete: nothing was done")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            raise _too_large(max_bytes)
        share.grow_to(size)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(max_bytes: int) -> errors.TooLarge:
    return errors.TooLarge(f"the body is over the limit of {max_bytes:,} bytes")
