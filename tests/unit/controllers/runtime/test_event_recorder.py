"""Events: repeated ones are counted, too many are limited, and recording never blocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.client.objects import Client
from probate.controllers.runtime.event_recorder import BURST, MAX_KNOWN, REFILL_SECONDS, SIMILAR, EventRecord, EventRecorder
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import LocalTransport
from support.in_process_server import InProcessServer, running


class Recorder:
    """Records Events about a ConfigMap."""

    def __init__(self, house: InProcessServer, clock: FakeClock, about: Any) -> None:
        self.house = house
        self.clock = clock
        self.about = about
        self.events = EventRecorder(Client(LocalTransport(house.api)), clock)

    async def record(self, message: str, reason: str = "Happened") -> None:
        self.events.record(EventRecord("test-controller", "v1", "ConfigMap", self.about, "Normal", reason, message))
        await self.house.yield_to_loop(20)

    async def messages(self) -> list[tuple[str, int]]:
        items = (await self.house.request("GET", "/api/v1/namespaces/default/events")).json["items"]
        return sorted((one["message"], one["count"]) for one in items)


@asynccontextmanager
async def recording() -> AsyncGenerator[Recorder, None]:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        about = await house.create("configmaps", "default", {"metadata": {"name": "c"}})
        recorder = Recorder(house, clock, about)
        writing = asyncio.ensure_future(recorder.events.run())
        try:
            yield recorder
        finally:
            await tasks.stop(writing)


async def test_fields_of_an_event() -> None:
    async with recording() as recorder:
        await recorder.record("it began")
        [event] = (await recorder.house.request("GET", "/api/v1/namespaces/default/events")).json["items"]
        about = {name: event["involvedObject"][name] for name in ("kind", "namespace", "name", "uid")}
        assert about == {"kind": "ConfigMap", "namespace": "default", "name": "c", "uid": recorder.about["metadata"]["uid"]}
        assert (event["reason"], event["type"], event["source"]["component"]) == ("Happened", "Normal", "test-controller")


async def test_repeated_event_is_counted() -> None:
    async with recording() as recorder:
        for _ in range(3):
            await recorder.record("it began")
        await recorder.record("it ended")
        assert await recorder.messages() == [("it began", 3), ("it ended", 1)]


async def test_count_continues_after_a_restart() -> None:
    async with recording() as recorder:
        await recorder.record("it began")
        recorder.events._counts.clear()
        await recorder.record("it began")
        assert await recorder.messages() == [("it began", 2)]


async def test_expired_event_is_created_again() -> None:
    async with recording() as recorder:
        await recorder.record("it began")
        [event] = (await recorder.house.request("GET", "/api/v1/namespaces/default/events")).json["items"]
        await recorder.house.request("DELETE", f"/api/v1/namespaces/default/events/{event['metadata']['name']}")
        await recorder.record("it began")
        assert await recorder.messages() == [("it began", 1)]


async def test_many_similar_events_are_combined() -> None:
    async with recording() as recorder:
        for number in range(SIMILAR + 5):
            await recorder.record(f"made {number:02d}")
        events = await recorder.messages()
        assert len(events) == SIMILAR + 1
        assert events[0] == (f"(combined from similar events): made {SIMILAR + 4:02d}", 5)


async def test_events_about_one_object_are_rate_limited() -> None:
    async with recording() as recorder:
        for number in range(BURST + 10):
            await recorder.record("again", reason=f"Reason{number}")
        assert len(await recorder.messages()) == BURST
        await recorder.clock.advance(REFILL_SECONDS)
        await recorder.record("again", reason="Later")
        await recorder.record("again", reason="Last")
        assert len(await recorder.messages()) == BURST + 1


async def test_event_that_cannot_be_written_is_lost_and_the_next_is_not() -> None:
    async with recording() as recorder:
        nowhere = {"metadata": {**recorder.about["metadata"], "namespace": "nowhere"}}
        recorder.events.record(EventRecord("test-controller", "v1", "ConfigMap", nowhere, "Normal", "Happened", "lost"))
        await recorder.record("kept")
        assert await recorder.messages() == [("kept", 1)]


async def test_history_is_bounded() -> None:
    async with recording() as recorder:
        for number in range(MAX_KNOWN + 100):
            about = {"metadata": {**recorder.about["metadata"], "uid": f"u{number}"}}
            recorder.events.record(EventRecord("test-controller", "v1", "ConfigMap", about, "Normal", "Happened", "x"))
        assert len(recorder.events._histories) == MAX_KNOWN
