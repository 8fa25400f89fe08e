"""Measures how long the server takes to start, and how much memory it needs, with few and with many objects."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path

import servers
from client import load, request
from report import below, say

PATH = "/api/v1/namespaces/default/configmaps"
FEW = 10_000
SECONDS = 1.0
MEGABYTES = {10_000: 150, 100_000: 350}
ROUNDS = 3


async def measure(folder: Path, *, objects: int) -> None:
    nothing = min(plain_start() for _ in range(5))
    empty = min(started(folder / f"empty-{number}") for number in range(ROUNDS))
    show_start("ready, empty store", empty, nothing)
    (folder / "filled").mkdir()
    await fill(folder / "filled", objects)
    show_start(f"ready, {objects:,} objects", min(started(folder / "filled") for _ in range(ROUNDS)), nothing)


def plain_start() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def started(folder: Path) -> float:
    folder.mkdir(exist_ok=True)
    with servers.probate(folder) as server:
        return server.seconds


def show_start(what: str, seconds: float, nothing: float) -> None:
    text = f"{seconds:>9.2f} s from process start to readyz, {seconds / nothing:.0f} x python -c pass ({nothing * 1000:.0f} ms)"
    say(what, text, below(seconds, SECONDS, "s"))


async def fill(folder: Path, objects: int) -> None:
    numbers = itertools.count()

    def create() -> bytes:
        body = b'{"metadata":{"name":"m%07d","labels":{"app":"x"}},"data":{"k":"%b"}}' % (next(numbers), b"v" * 64)
        return request("POST", PATH, body)

    made = 0
    with servers.probate(folder) as server:
        for size in sorted({FEW, objects}):
            await load(server.at, create, connections=32, count=size - made, expected=b"201")
            made = size
            memory, bar = server.megabytes(), MEGABYTES.get(size, MEGABYTES[100_000])
            say(f"memory, {size:,} objects", f"{memory:>9.0f} MB resident", below(memory, bar, "MB"))
