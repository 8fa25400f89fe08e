"""Events: what is told again is counted, what is told too often is not told, and nobody waits for any of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.client.objects import Client
from probate.controllers.runtime.event_recorder import BURST, REFILL_SECONDS, REMEMBERED, SIMILAR, Events, News
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import Local
from support.in_process_server import House, running


class Teller:
    """Tells things about a config map."""

    def __init__(self, house: House, clock: FakeClock, about: Any) -> None:
        self.house = house
        self.clock = clock
        self.about = about
        self.events = Events(Client(Local(house.api)), clock)

    async def tell(self, message: str, reason: str = "Happened") -> None:
        self.events.tell(News("test-controller", "v1", "ConfigMap", self.about, "Normal", reason, message))
        await self.house.turns(20)

    async def told(self) -> list[tuple[str, int]]:
        items = (await self.house.ask("GET", "/api/v1/namespaces/default/events")).json["items"]
        return sorted((one["message"], one["count"]) for one in items)


@asynccontextmanager
async def telling() -> AsyncGenerator[Teller, None]:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        about = await house.create("configmaps", "default", {"metadata": {"name": "c"}})
        teller = Teller(house, clock, about)
        writing = asyncio.ensure_future(teller.events.run())
        try:
            yield teller
        finally:
            await tasks.stop(writing)


async def test_event_says_what_happened_to_whom_and_who_says_so() -> None:
    async with telling() as teller:
        await teller.tell("it began")
        [event] = (await teller.house.ask("GET", "/api/v1/namespaces/default/events")).json["items"]
        about = {name: event["involvedObject"][name] for name in ("kind", "namespace", "name", "uid")}
        assert about == {"kind": "ConfigMap", "namespace": "default", "name": "c", "uid": teller.about["metadata"]["uid"]}
        assert (event["reason"], event["type"], event["source"]["component"]) == ("Happened", "Normal", "test-controller")


async def test_what_is_told_again_is_counted() -> None:
    async with telling() as teller:
        for _ in range(3):
            await teller.tell("it began")
        await teller.tell("it ended")
        assert await teller.told() == [("it began", 3), ("it ended", 1)]


async def test_what_was_told_by_a_process_before_is_counted_on() -> None:
    async with telling() as teller:
        await teller.tell("it began")
        teller.events._counts.clear()
        await teller.tell("it began")
        assert await teller.told() == [("it began", 2)]


async def test_event_that_is_gone_is_told_anew() -> None:
    async with telling() as teller:
        await teller.tell("it began")
        [event] = (await teller.house.ask("GET", "/api/v1/namespaces/default/events")).json["items"]
        await teller.house.ask("DELETE", f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
        await teller.tell("it began")
        assert await teller.told() == [("it began", 1)]


async def test_many_similar_ones_become_one() -> None:
    async with telling() as teller:
        for number in range(SIMILAR + 5):
            await teller.tell(f"made {number:02d}")
        told = await teller.told()
        assert len(told) == SIMILAR + 1
        assert told[0] == (f"(combined from similar events): made {SIMILAR + 4:02d}", 5)


async def test_one_object_is_not_told_of_more_than_now_and_then() -> None:
    async with telling() as teller:
        for number in range(BURST + 10):
            await teller.tell("again", reason=f"Reason{number}")
        assert len(await teller.told()) == BURST
        await teller.clock.advance(REFILL_SECONDS)
        await teller.tell("again", reason="Later")
        await teller.tell("again", reason="Last")
        assert len(await teller.told()) == BURST + 1


async def test_what_cannot_be_written_is_lost_and_the_next_is_not() -> None:
    async with telling() as teller:
        nowhere = {"metadata": {**teller.about["metadata"], "namespace": "nowhere"}}
        teller.events.tell(News("test-controller", "v1", "ConfigMap", nowhere, "Normal", "Happened", "lost"))
        await teller.tell("kept")
        assert await teller.told() == [("kept", 1)]


async def test_only_so_much_is_remembered() -> None:
    async with telling() as teller:
        for number in range(REMEMBERED + 100):
            about = {"metadata": {**teller.about["metadata"], "uid": f"u{number}"}}
            teller.events.tell(News("test-controller", "v1", "ConfigMap", about, "Normal", "Happened", "x"))
        assert len(teller.events._subjects) == REMEMBERED
