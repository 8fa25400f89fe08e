"""LocalTransport: timeouts of requests from the server's own process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from probate.core.aio.deadlines import Deadline
from probate.server.local_transport import LocalTransport
from probate.store.sqlite.store import open_memory
from support import slow_stores
from support.in_process_server import InProcessServer, running

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def hanging_server(*, request_seconds: float, read_seconds: float = 0.0) -> AsyncGenerator[InProcessServer, None]:
    """Runs a server with a ConfigMap `a`, whose namespace is known, and a store that hangs from then on."""
    hanging = slow_stores.HangingStore(await open_memory(), seconds=read_seconds)
    hanging.is_slow = False
    store: Any = hanging
    async with running(store, collects=False, request_deadline=Deadline(request_seconds)) as house:
        await house.create("configmaps", "default", {"metadata": {"name": "a"}})
        hanging.is_slow = True
        yield house


async def test_write_that_does_not_finish_times_out() -> None:
    async with hanging_server(request_seconds=0.02) as house:
        code, body = await LocalTransport(house.api).send(
            "POST", CONFIGMAPS, query={}, body=b'{"metadata":{"name":"b"}}', media="application/json"
        )
        assert (code, orjson.loads(body)["reason"]) == (504, "Timeout")


async def test_controller_whose_read_took_long_was_timed_out_and_ended() -> None:
    async with hanging_server(request_seconds=0.01, read_seconds=0.05) as house:
        assert (await LocalTransport(house.api).send("GET", f"{CONFIGMAPS}/a", query={}, body=b"", media=""))[0] == 200
