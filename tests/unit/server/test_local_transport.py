"""What asks the server from within its own process, and how long it waits."""

from __future__ import annotations

import orjson

from probate.core.aio.deadlines import Deadline
from probate.server.local_transport import Local
from support import in_process_server, slow_stores

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


async def test_write_that_does_not_end_is_answered_in_time() -> None:
    async with in_process_server.running(collects=False) as house:
        await house.create("configmaps", "default", {"metadata": {"name": "a"}})  # so that its namespace is known
        house.api.store = slow_stores.Stuck(house.store)
        house.api.patience = Deadline(0.02)
        code, body = await Local(house.api).send("POST", CONFIGMAPS, {}, b'{"metadata":{"name":"b"}}', "application/json")
        assert (code, orjson.loads(body)["reason"]) == (504, "Timeout")


async def test_controller_that_read_for_long_was_cut_off_and_ended() -> None:
    async with in_process_server.running(collects=False) as house:
        await house.create("configmaps", "default", {"metadata": {"name": "a"}})
        house.api.store = slow_stores.Stuck(house.store, seconds=0.05)
        house.api.patience = Deadline(0.01)
        assert (await Local(house.api).send("GET", f"{CONFIGMAPS}/a", {}, b"", ""))[0] == 200
