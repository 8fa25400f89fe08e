"""`/readyz` knows whether the collector follows the changes, and says why if it does not."""

from __future__ import annotations

from probate.controllers.manager import COLLECTOR, at_work
from probate.gc.collector import RETRY_SECONDS
from probate.store.contract import create
from support.in_process_server import OPEN, FakeClock, running


async def test_server_is_not_ready_before_its_collector_follows() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        told = await house.ask("GET", "/readyz")
        assert told.code == 500
        lines = told.body.splitlines()
        assert {b"[+]store ok", b"[-]collector failed: it has not begun yet"} <= set(lines)
        assert lines[-1] == b"readyz check failed"
        assert (await house.ask("GET", "/readyz/store")).code == 200
        assert (await house.ask("GET", "/livez")).code == 200


async def test_server_is_ready_while_its_collector_follows() -> None:
    async with running(clock=FakeClock()) as house:
        await house.turns()
        assert (await house.ask("GET", "/readyz")).code == 200
        assert (await house.ask("GET", "/readyz/collector")).code == 200


async def test_collector_that_lost_the_thread_says_so_until_it_has_it_again() -> None:
    clock = FakeClock()
    async with running(clock=clock) as house:
        await house.turns()
        await house.store.close()
        await house.turns()
        await clock.advance(RETRY_SECONDS)
        told = await house.ask("GET", "/readyz/collector")
        assert told.code == 500
        assert b"collector failed: it lost the thread and takes it up again: " in told.body


async def test_collector_that_ended_says_so() -> None:
    async with running(clock=FakeClock(), collects=False) as house, at_work(house.api, house.clock, [COLLECTOR], OPEN):
        assert (await house.ask("GET", "/readyz")).code == 200
        await house.store.commit(create("objects/configmaps/default/broken", b'nothing that a server writes: "ownerReferences"'))
        await house.turns()
        told = await house.ask("GET", "/readyz/collector")
        assert told.code == 500
        assert b"collector failed: its loop has ended: DecodeError(" in told.body
