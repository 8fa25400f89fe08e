"""Real webhook servers for tests: HTTPS on loopback, with a CA of their own. They can be as hostile as a test wants.

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

Object = dict[str, Any]
Answer = Callable[[Object], Any]
"""What is answered to a review: an object, raw bytes to send, or something to await that gives one of these."""

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


class Hook:
    """A server, and what it was asked."""

    def __init__(self, answer: Answer, *, is_tls: bool = True) -> None:
        self.answer = answer
        self.asked: list[Object] = []
        self._news = asyncio.Condition()
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
        """Those of the AdmissionReviews."""
        return [one["request"] for one in self.asked]

    @property
    def client(self) -> Object:
        bundle = base64.b64encode(authority().cert_pem.bytes()).decode()
        return {"url": f"{self.url}/hook", "caBundle": bundle}

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        review = orjson.loads(await reader.readexactly(int(headers["content-length"])))
        async with self._news:
            self.asked.append(review)
            self._news.notify_all()
        self.paths.append(head.split(" ")[1])
        said = self.answer(review)
        if isinstance(said, Awaitable):
            said = await said
        if isinstance(said, bytes):
            writer.write(said)
            await writer.drain()
            return False
        writer.write(http(orjson.dumps(said)))
        await writer.drain()
        return True

    async def wait(self, number: int = 1) -> None:
        """Until so much was asked."""
        async with self._news:
            await self._news.wait_for(lambda: len(self.asked) >= number)

    def drop(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def serving(
    answer: Answer, *, name: str = "127.0.0.1", is_tls: bool = True, context: ssl.SSLContext | None = None
) -> AsyncGenerator[Hook, None]:
    hook = Hook(answer, is_tls=is_tls)
    server = await asyncio.start_server(hook.take, "127.0.0.1", 0, ssl=context or _context(name) if is_tls else None)
    hook.port = server.sockets[0].getsockname()[1]
    try:
        yield hook
    finally:
        server.close()
        hook.drop()
        await asyncio.sleep(0)


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "content-type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def responded(review: Object, **response: Any) -> Object:
    about = {"kind": "AdmissionReview", "apiVersion": review["apiVersion"]}
    return {**about, "response": {"uid": review["request"]["uid"], **response}}


def allow(review: Object) -> Object:
    return responded(review, allowed=True)


def deny(review: Object) -> Object:
    return responded(review, allowed=False, status={"message": "not today"})


def patch(review: Object, *operations: Object) -> Object:
    return responded(review, allowed=True, patchType="JSONPatch", patch=base64.b64encode(orjson.dumps(operations)).decode())


def configuration(kind: str, client: Object, name: str = "hooks", **hook: Any) -> Object:
    """A configuration with one webhook, `guard.example.com`."""
    usual = {"name": "guard.example.com", "clientConfig": client, "rules": [MAPS], "sideEffects": "None"}
    return {"metadata": {"name": name}, "webhooks": [{**usual, "admissionReviewVersions": ["v1"], **hook}]}
