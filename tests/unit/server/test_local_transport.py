"""LocalTransport: timeouts of requests from the server's own process."""

from __future__ import annotations

import orjson

from probate.core.aio.deadlines import Deadline
from probate.server.local_transport import LocalTransport
from support import in_process_server, slow_stores

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def test_write_that_does_not_finish_times_out() -> None:
    async with in_process_server.running(collects=False) as house:
        await house.create("configmaps", "default", {"metadata": {"name": "a"}})  # so that its namespace is known
        house.api.store = slow_stores.HangingStore(house.store)
        house.api.request_deadline = Deadline(0.02)
        code, body = await LocalTransport(house.api).send(
            "POST", CONFIGMAPS, query={}, body=b'{"metadata":{"name":"b"}}', media="application/json"
        )
        assert (code, orjson.loads(body)["reason"]) == (504, "Timeout")


async def test_controller_whose_read_took_long_was_timed_out_and_ended() -> None:
    async with in_process_server.running(collects=False) as house:
        await house.create("configmaps", "default", {"metadata": {"name": "a"}})
        house.api.store = slow_stores.HangingStore(house.store, seconds=0.05)
        house.api.request_deadline = Deadline(0.01)
        assert (await LocalTransport(house.api).send("GET", f"{CONFIGMAPS}/a", query={}, body=b"", media=""))[0] == 200
