"""`/readyz` reports whether the collector follows the change feed, and why if it does not."""

from __future__ import annotations

from probate.controllers.manager import run_all
from probate.controllers.registry import COLLECTOR
from probate.gc.collector import RETRY_SECONDS
from probate.store.contract import create
from support.in_process_server import INSECURE, FakeClock, running


async def test_server_is_not_ready_before_its_collector_follows() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        response = await house.request("GET", "/readyz")
        assert response.code == 500
        lines = response.body.splitlines()
        assert {b"[+]store ok", b"[-]garbage-collector-controller failed: it has not started yet"} <= set(lines)
        assert lines[-1] == b"readyz check failed"
        assert (await house.request("GET", "/readyz/store")).code == 200
        assert (await house.request("GET", "/livez")).code == 200


async def test_server_is_ready_while_its_collector_follows() -> None:
    async with running(clock=FakeClock()) as house:
        await house.yield_to_loop()
        assert (await house.request("GET", "/readyz")).code == 200
        assert (await house.request("GET", "/readyz/garbage-collector-controller")).code == 200


async def test_failed_watch_is_reported_until_it_is_restarted() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        await house.yield_to_loop()
        await house.store.close()
        await house.yield_to_loop()
        await clock.advance(RETRY_SECONDS)
        response = await house.request("GET", "/readyz/garbage-collector-controller")
        assert response.code == 500
        assert b"garbage-collector-controller failed: its watch failed and is restarted: " in response.body


async def test_collector_that_ended_is_reported() -> None:
    async with running(clock=FakeClock(), collects=False) as house, run_all(house.api, house.clock, [COLLECTOR], settings=INSECURE):
        assert (await house.request("GET", "/readyz")).code == 200
        await house.store.commit(create("objects/configmaps/default/broken", b'nothing that a server writes: "ownerReferences"'))
        await house.yield_to_loop()
        response = await house.request("GET", "/readyz/garbage-collector-controller")
        assert response.code == 500
        assert b"garbage-collector-controller failed: its loop has ended: DecodeError(" in response.body
