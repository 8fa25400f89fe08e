"""Measures how long others wait for their answers while somebody means harm, and what that takes of the server's memory.

    make bench-hostile                  all attacks (two minutes or so)
    make bench-hostile ARGS=--quick     shorter ones

Others ask for one small object, over TLS, every two milliseconds. First nothing else happens, then one attack after the other does
(`attacker.py`, a process of its own), each on a server that was not attacked before. What counts is the time within which 99 of 100
answers come, beside the same on the same server just before.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import servers
import uvloop
from attacker import ATTACKS
from cascade import prober
from report import say
from servers import Server

BAR = 3.0
MEMORY_BAR = 1_500.0
"""Megabytes, with all limits for memory in use at once."""
LARGE = 20
UNBARRED = ("large bodies",)
"""Objects of 150,000 parts, within all limits, by somebody who may write them: Python reads each in one go."""


@contextlib.asynccontextmanager
async def attacked(server: Server, pki: Path, attack: str) -> AsyncIterator[None]:
    """The attack, begun."""
    program = str(Path(__file__).with_name("attacker.py"))
    command = [sys.executable, program, str(server.at.port), str(pki), attack]
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    try:
        yield
    finally:
        await process.communicate(b"enough")


async def measure(folder: Path, attack: str, seconds: float) -> tuple[float, float]:
    """By how much longer others wait, and the memory that was used at most."""
    pki = folder / "probate.pki"
    with servers.secured(folder, "--controllers", "collector,namespaces,definitions", "--store", "memory:") as server:
        if "lists" in attack:
            await asyncio.to_thread(servers.fill, server, pki, LARGE)
        async with prober(server.at.port, str(pki)) as idle:
            await asyncio.sleep(seconds)
        most = server.megabytes()
        async with attacked(server, pki, attack), prober(server.at.port, str(pki)) as busy:
            for _ in range(int(seconds * 5)):
                await asyncio.sleep(0.2)
                most = max(most, server.megabytes())
    ratio = busy[0] / idle[0]
    told = f"{idle[0] * 1000:6.2f} ms idle {busy[0] * 1000:7.2f} ms attacked {ratio:6.2f} x, {most:6.0f} MB at most"
    say(attack, told, "no bar" if attack in UNBARRED else f"bar {BAR:.2f} {'reached' if ratio <= BAR else 'MISSED'}")
    return 0.0 if attack in UNBARRED else ratio, most


async def main(folder: Path, seconds: float, only: str) -> None:
    print("others' reads over TLS, 99 of 100 within", flush=True)
    found = [await measure(folder, attack, seconds) for attack in ATTACKS if only in attack]
    most = max(memory for _, memory in found)
    say("memory", f"{most:,.0f} MB at most", f"bar {MEMORY_BAR:,.0f} {'reached' if most <= MEMORY_BAR else 'MISSED'}")
    print(json.dumps({"worst": max(ratio for ratio, _ in found), "megabytes": most}))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="shorter attacks")
    arguments.add_argument("--only", default="", help="only attacks with this in their name")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="probate-bench-") as place:
        uvloop.run(main(Path(place), 2.0 if chosen.quick else 5.0, chosen.only))
