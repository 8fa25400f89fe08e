"""Real webhook servers for tests: HTTPS on loopback, with their own CA. They can be as hostile as a test needs.

async with serving(lambda review: allow(review)) as hook:
    await house.create("apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "", configuration(hook))
"""

from __future__ import annotations

import asyncio
import base64
import functools
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import trustme

from probate.api.objects import Object

Answer = Callable[[Object], Any]
"""Returns the answer to a review: an object, raw bytes to send, or an awaitable of one of these."""

PODS = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
MAPS = {**PODS, "resources": ["configmaps"]}


@functools.cache
def authority() -> trustme.CA:
    return trustme.CA()


@functools.cache
def _context(name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority().issue_cert(name).configure_cert(context)
    return context


class WebhookServer:
    """A server, and the reviews that it was sent."""

    def __init__(self, answer: Answer, *, is_tls: bool = True) -> None:
        self.answer = answer
        self.reviews: list[Object] = []
        self._received = asyncio.Condition()
        self.paths: list[str] = []
        self.connections = 0
        self.is_tls = is_tls
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.is_tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Object]:
        """The requests of the AdmissionReviews."""
        return [review["request"] for review in self.reviews]

    @property
    def client(self) -> Object:
        bundle = base64.b64encode(authority().cert_pem.bytes()).decode()
        return {"url": f"{self.url}/hook", "caBundle": bundle}

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._handle_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        review = orjson.loads(await reader.readexactly(int(headers["content-length"])))
        async with self._received:
            self.reviews.append(review)
            self._received.notify_all()
        self.paths.append(head.split(" ")[1])
        response = self.answer(review)
        if isinstance(response, Awaitable):
            response = await response
        if isinstance(response, bytes):
            writer.write(response)
            await writer.drain()
            return False
        writer.write(http(orjson.dumps(response)))
        await writer.drain()
        return True

    async def wait_for_reviews(self, number: int = 1) -> None:
        """Blocks until the server has received this many reviews."""
        async with self._received:
            await self._received.wait_for(lambda: len(self.reviews) >= number)

    def close_connections(self) -> None:
        """Closes all connections."""
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def serving(
    answer: Answer, *, name: str = "127.0.0.1", is_tls: bool = True, context: ssl.SSLContext | None = None
) -> AsyncGenerator[WebhookServer, None]:
    server = WebhookServer(answer, is_tls=is_tls)
    listener = await asyncio.start_server(
        server.handle_connection, "127.0.0.1", 0, ssl=context or _context(name) if is_tls else None
    )
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        server.close_connections()
        await asyncio.sleep(0)


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "content-type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def review_response(review: Object, **response: Any) -> Object:
    type_meta = {"kind": "AdmissionReview", "apiVersion": review["apiVersion"]}
    return {**type_meta, "response": {"uid": review["request"]["uid"], **response}}


def allow(review: Object) -> Object:
    return review_response(review, allowed=True)


def deny(review: Object) -> Object:
    return review_response(review, allowed=False, status={"message": "not today"})


def patch(review: Object, *operations: Object) -> Object:
    return review_response(review, allowed=True, patchType="JSONPatch", patch=base64.b64encode(orjson.dumps(operations)).decode())


def configuration(kind: str, client: Object, name: str = "hooks", **hook: Any) -> Object:
    """Returns a configuration with one webhook, `guard.example.com`."""
    defaults = {"name": "guard.example.com", "clientConfig": client, "rules": [MAPS], "sideEffects": "None"}
    return {"metadata": {"name": name}, "webhooks": [{**defaults, "admissionReviewVersions": ["v1"], **hook}]}
