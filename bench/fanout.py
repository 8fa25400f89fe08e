"""How fast changes reach a hundred watchers, against a server that only writes the same bytes, in the same pieces, to as many."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

import servers
from client import Address, Reader, fetch, load, read, request
from report import say, verdict

WATCHERS = 100
WRITERS = 32
CHANGES = 2_000
PATH = "/api/v1/namespaces/default/configmaps"
BAR = 0.4
_names = itertools.count()


def create() -> bytes:
    body = b'{"metadata":{"name":"f%07d","labels":{"app":"x"}},"data":{"k":"%b"}}' % (next(_names), b"v" * 64)
    return request("POST", PATH, body)


async def measure(folder: Path, *, rounds: int) -> None:
    (folder / "fanout").mkdir()
    ours, alone, limit = [], [], []
    with servers.probate(folder / "fanout") as server:
        for _ in range(rounds):
            alone.append(await written(server.at))
            took, chunks = await watched(server.at)
            ours.append(took)
            with servers.sockets(folder, chunks) as plain:
                limit.append(await replayed(plain.at, chunks))
    told = WATCHERS * CHANGES
    note = f"{told / min(ours):>9,.0f} /s {told / min(limit):>10,.0f} /s sockets"
    ratio = min(limit) / min(ours)
    say(f"changes to {WATCHERS} watchers", f"{note} {ratio:>6.2f} x sockets, the writing included", verdict(ratio, BAR))
    telling = max(min(ours) - min(alone), 1e-9)
    ratio = min(limit) / telling
    note = f"{told / telling:>9,.0f} /s {told / min(limit):>10,.0f} /s sockets"
    say("  ... without writing", f"{note} {ratio:>6.2f} x sockets", verdict(ratio, BAR))


async def written(at: Address) -> float:
    """Seconds for the writing alone."""
    began = time.perf_counter()
    await load(at, create, connections=WRITERS, count=CHANGES, expected=b"201")
    return time.perf_counter() - began


async def watched(at: Address) -> tuple[float, list[bytes]]:
    """Seconds until all watchers have been told of all changes, and in which pieces one of them was."""
    asked = request("GET", f"{PATH}?watch=1&resourceVersion={await latest(at)}")
    watchers = [await read(at, asked, keeps=number == 0) for number in range(WATCHERS)]
    began = time.perf_counter()
    heads = [watcher.count for watcher in watchers]
    await load(at, create, connections=WRITERS, count=CHANGES, expected=b"201")
    chunks = await all_chunks(watchers[0], heads[0])
    size = sum(map(len, chunks))
    await asyncio.gather(*(watcher.until(head + size) for watcher, head in zip(watchers, heads, strict=True)))
    took = time.perf_counter() - began
    close(watchers)
    return took, chunks


async def all_chunks(watcher: Reader, head: int) -> list[bytes]:
    """The pieces of HTTP in which a watcher was told of all changes, as they were on the wire."""
    while b"".join(watcher.kept).count(b'{"type":"ADDED"') < CHANGES:
        await watcher.until(watcher.count + 1)
    stream, chunks, at = b"".join(watcher.kept)[head:], [], 0
    while at < len(stream):
        start = stream.index(b"\r\n", at) + 2
        end = start + int(stream[at : start - 2], 16) + 2
        chunks.append(stream[at:end])
        at = end
    return chunks


async def replayed(at: Address, chunks: list[bytes]) -> float:
    """Seconds for the same to a hundred sockets."""
    watchers = [await read(at, request("GET", "/watch")) for _ in range(WATCHERS)]
    size = sum(map(len, chunks))
    heads = [watcher.count for watcher in watchers]
    began = time.perf_counter()
    await read(at, request("GET", "/go"))
    await asyncio.gather(*(watcher.until(head + size) for watcher, head in zip(watchers, heads, strict=True)))
    took = time.perf_counter() - began
    close(watchers)
    return took


async def latest(at: Address) -> str:
    found = await fetch(at, request("GET", f"{PATH}?limit=1"))
    return found.partition(b'"resourceVersion":"')[2].partition(b'"')[0].decode()


def close(readers: list[Reader]) -> None:
    for reader in readers:
        reader.transport.close()
