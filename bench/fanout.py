"""Measures how fast changes reach a hundred watchers, against a server that only sends the same bytes in the same chunks.

The cost of delivery is what watchers add to the cost of writing, so the same objects are written with and without watchers. The
benchmark measures the server's processor time, because the elapsed time depends mostly on the hundred clients, which share one
process. On a system that does not report processor time it measures elapsed time. Connecting and disconnecting does not count.

The result is a small difference of two large numbers, on machines whose speed changes from second to second. So the benchmark
alternates many short rounds and takes medians: of the baseline, and of the difference between writing with watchers and writing
without them just before.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

import servers
from client import Address, Reader, fetch, load, read, request
from report import say, verdict
from servers import Server

WATCHERS = 100
WRITERS = 32
CHANGES = 500
PATH = "/api/v1/namespaces/default/configmaps"
BAR = 0.4
_names = itertools.count()


class Cost:
    """Elapsed seconds and seconds of the server's processor, for the same work done several times."""

    def __init__(self) -> None:
        self.walls: list[float] = []
        self.cpus: list[float] = []

    @contextlib.asynccontextmanager
    async def of(self, server: Server) -> AsyncIterator[None]:
        began, before = time.perf_counter(), server.cpu()
        yield
        self.walls.append(time.perf_counter() - began)
        self.cpus.append(server.cpu() - before)


async def measure(folder: Path, *, rounds: int) -> None:
    (folder / "fanout").mkdir()
    with_watchers, without, sockets = Cost(), Cost(), Cost()
    chunks: list[bytes] = []
    with servers.probate(folder / "fanout") as server:
        for _ in range(rounds):
            await written(server, without)
            chunks = await watched(server, with_watchers)
            with servers.sockets(folder, chunks) as plain:
                await replayed(plain, chunks, sockets)
    by_clock = ratio(sockets.walls, with_watchers.walls, without.walls)
    by_work = ratio(sockets.cpus, with_watchers.cpus, without.cpus) if all(sockets.cpus) else by_clock
    told = WATCHERS * CHANGES
    rates = [f"{told / statistics.median(walls):>10,.0f} /s" for walls in (with_watchers.walls, sockets.walls)]
    pieces = f"{CHANGES:,} changes in {len(chunks):,} pieces each, medians of {rounds}"
    say(
        f"to {WATCHERS} watchers",
        f"{rates[0]} {rates[1]} sockets {by_work:>6.2f} x sockets in work ({by_clock:.2f} in time), {pieces}",
        verdict(by_work, BAR),
    )


def ratio(limits: list[float], watched: list[float], unwatched: list[float]) -> float:
    more = statistics.median(after - before for before, after in zip(unwatched, watched, strict=True))
    return statistics.median(limits) / max(more, 1e-9)


async def written(server: Server, cost: Cost) -> None:
    """Measures writing without watchers."""
    async with cost.of(server):
        await load(server.at, create, connections=WRITERS, count=CHANGES, expected=b"201")


def create() -> bytes:
    body = b'{"metadata":{"name":"f%07d","labels":{"app":"x"}},"data":{"k":"%b"}}' % (next(_names), b"v" * 64)
    return request("POST", PATH, body)


async def watched(server: Server, cost: Cost) -> list[bytes]:
    """Measures writing until all watchers have received all changes. Also returns the chunks that one of them received."""
    asked = request("GET", f"{PATH}?watch=1&resourceVersion={await latest(server.at)}")
    watchers = [await read(server.at, asked, keeps=number == 0) for number in range(WATCHERS)]
    heads = [watcher.count for watcher in watchers]
    async with cost.of(server):
        await load(server.at, create, connections=WRITERS, count=CHANGES, expected=b"201")
        chunks = await all_chunks(watchers[0], heads[0])
        await all_told(watchers, heads, chunks)
    close(watchers)
    return chunks


async def all_told(watchers: list[Reader], heads: list[int], chunks: list[bytes]) -> None:
    size = sum(map(len, chunks))
    await asyncio.gather(*(watcher.until(head + size) for watcher, head in zip(watchers, heads, strict=True)))


async def all_chunks(watcher: Reader, head: int) -> list[bytes]:
    """Returns the HTTP chunks in which a watcher received all changes, as bytes on the wire."""
    while b"".join(watcher.kept).count(b'{"type":"ADDED"') < CHANGES:
        await watcher.until(watcher.count + 1)
    stream, chunks, at = b"".join(watcher.kept)[head:], [], 0
    while at < len(stream):
        start = stream.index(b"\r\n", at) + 2
        end = start + int(stream[at : start - 2], 16) + 2
        chunks.append(stream[at:end])
        at = end
    return chunks


async def replayed(server: Server, chunks: list[bytes], cost: Cost) -> None:
    """Measures sending the same chunks to as many sockets."""
    watchers = [await read(server.at, request("GET", "/watch")) for _ in range(WATCHERS)]
    heads = [watcher.count for watcher in watchers]
    async with cost.of(server):
        await read(server.at, request("GET", "/go"))
        await all_told(watchers, heads, chunks)
    close(watchers)


async def latest(at: Address) -> str:
    found = await fetch(at, request("GET", f"{PATH}?limit=1"))
    return found.partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode()


def close(readers: list[Reader]) -> None:
    for reader in readers:
        reader.transport.close()
