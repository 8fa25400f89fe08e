"""Measures the API against a bare uvicorn that gets the same requests and sends the same bytes, in the same run.

    make bench-api                 everything (about two minutes)
    make bench-api ARGS=--quick    shorter rounds, and 20,000 objects instead of 100,000

Machines are noisy, so the ratio counts: each measurement alternates between Probate and the bare server several times and takes
the best time of each. The output shows the required ratio beside the measured one.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import os
import ssl
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fanout
import servers
import starting
import uvloop
from client import fetch, load, request
from report import say, verdict
from servers import Server

PATH = "/api/v1/namespaces/default/configmaps"
LIST = "/api/v1/namespaces/bench-list/configmaps"
LISTED = 500
MANY = 128


class Options(NamedTuple):
    rounds: int = 5
    seconds: float = 1.5
    objects: int = 100_000


QUICK = Options(rounds=3, seconds=0.7, objects=20_000)


def config_map(name: str) -> bytes:
    return b'{"metadata":{"name":"%b","labels":{"app":"x"}},"data":{"k":"%b"}}' % (name.encode(), b"v" * 64)


class Ask(NamedTuple):
    """One kind of request: how each is built, the expected response, the number of connections, and their TLS context."""

    make: Callable[[], bytes]
    expected: bytes = b"200"
    connections: int = 32
    context: ssl.SSLContext | None = None


class Rounds:
    """Repeated measurements of one server under one load."""

    def __init__(self, server: Server, ask: Ask, expected: bytes) -> None:
        self._server, self._ask, self._expected = server, ask, expected
        self.rate, self.slow, self.cost = 0.0, math.inf, math.inf

    async def go(self, seconds: float) -> None:
        ask, server = self._ask, self._server
        given: Any = {"connections": ask.connections, "context": ask.context, "expected": self._expected}
        found = await load(server.at, ask.make, seconds=seconds, meter=server.cpu, **given)
        self.rate, self.slow = max(self.rate, found.rate), min(self.slow, found.slow)
        self.cost = min(self.cost, found.cost)


async def compare(what: str, ask: Ask, server: Server, *, sample: bytes, options: Options, folder: Path, bar: float | None) -> None:
    """Measures Probate and the bare server alternately. Returns the best result of each."""
    with servers.bare(folder, sample) as bare:
        ours, limit = Rounds(server, ask, ask.expected), Rounds(bare, ask, b"200")
        for _ in range(options.rounds):
            await ours.go(options.seconds)
            await limit.go(options.seconds)
    ratio = ours.rate / limit.rate
    processor = f" ({limit.cost / ours.cost:.2f} by processor time)" if ours.cost else ""
    text = f"{ours.rate:>9,.0f} /s {limit.rate:>10,.0f} /s bare {ratio:>6.2f} x bare{processor}"
    slow = f"99% of {ask.connections} within {ours.slow * 1000:.2f} ms"
    say(what, f"{text}, {slow}", "no bar" if bar is None else verdict(ratio, bar))


async def measure(folder: Path, options: Options) -> None:
    numbers = itertools.count()
    with servers.probate(folder) as server:
        made = await fetch(server.at, request("POST", PATH, config_map("sample")))
        create = Ask(lambda: request("POST", PATH, config_map(f"c{next(numbers):07}")), b"201")
        get = request("GET", f"{PATH}/sample")
        await compare("get", Ask(lambda: get), server, sample=made, options=options, folder=folder, bar=0.45)
        await compare("create", create, server, sample=made, options=options, folder=folder, bar=0.25)
        # With 32 clients, each write mostly waits for the disk; with more clients, the server handles others meanwhile.
        await compare(
            f"create, {MANY} clients",
            create._replace(connections=MANY),
            server,
            sample=made,
            options=options,
            folder=folder,
            bar=0.25,
        )
        await fetch(server.at, request("POST", "/api/v1/namespaces", b'{"metadata":{"name":"bench-list"}}'))
        listed = itertools.count()
        filling = lambda: request("POST", LIST, config_map(f"c{next(listed):07}"))  # noqa: E731
        await load(server.at, filling, connections=8, count=LISTED, expected=b"201")
        many = await fetch(server.at, request("GET", LIST))
        ask = request("GET", LIST)
        await compare(
            f"list of {LISTED}", Ask(lambda: ask, connections=8), server, sample=many, options=options, folder=folder, bar=0.3
        )
        changes = itertools.count()
        put = lambda: request("PUT", f"{LIST}/c0000000", b'{"metadata":{"name":"c0000000"},"data":{"k":"%064d"}}' % next(changes))  # noqa: E731
        changing = asyncio.create_task(load(server.at, put, connections=1, seconds=3600))
        await compare(
            "  ... while it changes", Ask(lambda: ask, connections=8), server, sample=many, options=options, folder=folder, bar=None
        )
        changing.cancel()
        print(f"{'':24} ({next(changes):,} changes meanwhile)")


def synced(folder: Path) -> float:
    """Returns the seconds that the disk takes for one small synced write, the minimum for each create."""
    took = []
    with (folder / "synced").open("wb", buffering=0) as file:
        for _ in range(50):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    return sorted(took)[len(took) // 2]


async def main(folder: Path, options: Options) -> None:
    print(f"ConfigMaps of about 350 bytes in a store on disk; best of {options.rounds} rounds of {options.seconds} s", flush=True)
    print(f"one write of 4 KiB is on this disk after {synced(folder) * 1000:.2f} ms", flush=True)
    await measure(folder, options)
    await fanout.measure(folder, rounds=8 * options.rounds)
    await starting.measure(folder, objects=options.objects)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter rounds and fewer objects")
    chosen = QUICK if arguments.parse_args().quick else Options()
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place), chosen))
