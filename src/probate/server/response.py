"""The responses that request handlers return: complete ones, and streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple, Protocol


class Response(NamedTuple):
    """A complete response."""

    code: int
    body: bytes
    content_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    json_body: bytes = (
        b""  # the body as JSON if `body` has another encoding: read by whatever inspects responses, such as the audit log
    )


class StreamSink(Protocol):
    """Writes chunks to the client of a streaming response without waiting."""

    def is_ready(self) -> bool:
        """Whether a chunk can be written now: the response has begun, has not ended, and the client reads fast enough."""
        ...

    def tell(self, chunk: bytes) -> None:
        """Writes a chunk after all chunks that were written before."""
        ...


class StreamingResponse(NamedTuple):
    """A response that does not end by itself, such as a watch: each chunk is sent as soon as it is produced.

    The server passes a sink to `attach` if the connection offers one. The producer may write to that sink while the server waits
    for the next chunk.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: str = "application/json"
    code: int = 200
    attach: Callable[[StreamSink], None] = lambda _: None
    warnings: tuple[str, ...] = ()
    audit_id: str = ""  # the id of its audit event, if it is audited
