"""A thousand watchers and a server restart: each watcher sees every change once and in order."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path

import httpx

from support.loopback_ports import free_port
from support.server_process import run_server

WATCHERS = 1_000
CHANGES = 20  # before the restart, and as many after it
PATH = "/api/v1/namespaces/default/configmaps"


class Watcher:
    """Reads consecutive watches, each from the revision where the last one ended."""

    def __init__(self, port: int, after: int) -> None:
        self.seen: list[int] = []
        self._port = port
        self._after = after

    async def watch(self, expected: int) -> None:
        """Reads until this many changes have been received in all, or the server disconnects."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        after = self.seen[-1] if self.seen else self._after
        writer.write(f"GET {PATH}?watch=1&resourceVersion={after} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        while len(self.seen) < expected and (line := await reader.readline()):
            if line.startswith(b"{"):
                event = json.loads(line)
                assert event["type"] != "ERROR", event
                self.seen.append(int(event["object"]["metadata"]["resourceVersion"]))
        writer.close()


async def make(port: int, first: int) -> list[int]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        made = []
        for number in range(first, first + CHANGES):
            answer = await client.post(PATH, json={"metadata": {"name": f"n{number}"}})
            made.append(int(answer.json()["metadata"]["resourceVersion"]))
        return made


async def test_thousand_watchers_see_every_change_once_and_in_order_over_a_restart(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * WATCHERS)), hard))
    port = free_port()
    with run_server(tmp_path, "sqlite:probate.db", "--insecure", "--controllers", "none", listen=f"127.0.0.1:{port}"):
        start = httpx.get(f"http://127.0.0.1:{port}{PATH}", timeout=60).json()["metadata"]["resourceVersion"]
        watchers = [Watcher(port, int(start)) for _ in range(WATCHERS)]
        watching = [asyncio.ensure_future(watcher.watch(2 * CHANGES)) for watcher in watchers]
        made = await make(port, 0)
        await asyncio.sleep(0)
    await asyncio.gather(*watching)  # the server went away
    with run_server(tmp_path, "sqlite:probate.db", "--insecure", "--controllers", "none", listen=f"127.0.0.1:{port}"):
        watching = [asyncio.ensure_future(watcher.watch(2 * CHANGES)) for watcher in watchers]
        made += await make(port, CHANGES)
        await asyncio.wait_for(asyncio.gather(*watching), timeout=60)
    assert all(watcher.seen == made for watcher in watchers)
