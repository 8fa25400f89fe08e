"""Responses and watch events while an object is deleted: 53 flows recorded from a real control plane."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from probate.controllers import registry
from support import sample_kinds
from support.in_process_server import Response
from support.virtual_time_server import MERGE_PATCH, VirtualTimeServer, in_memory

FLOWS = json.loads((Path(__file__).parents[1] / "data" / "deletion-events.json").read_text())
OF_KIND = {"node-pod": "pod"}
GRACE = 40  # that the recorded pods were given
PATIENCE = 60


def named(flow: dict[str, Any]) -> str:
    return f"{flow['kind']} {flow['flow']}"


def test_all_recorded_flows_are_present() -> None:
    assert len(FLOWS) == len({named(flow) for flow in FLOWS}) == 53


class Flow:
    """A running flow on an object `o`."""

    def __init__(self, server: VirtualTimeServer, kind: str, events: list[Any]) -> None:
        self._server = server
        self._collection = sample_kinds.KINDS[OF_KIND.get(kind, kind)].path("default")
        self._body = sample_kinds.body(OF_KIND.get(kind, kind), node="absent" if kind == "node-pod" else "", grace=GRACE)
        self._events = events
        self._markers = 0

    async def create(self, name: str, finalizers: list[str] | None = None) -> None:
        meta = {"name": name, **({"finalizers": finalizers} if finalizers else {})}
        assert (await self._server.request("POST", self._collection, {**self._body, "metadata": meta})).code == 201

    async def take(self, step: dict[str, Any]) -> Response:
        path = f"{self._collection}/o"
        if step["do"] == "delete":
            return await self._server.request("DELETE", path, step["body"] or None)
        return await self._server.request("PATCH", path, step["body"], media=MERGE_PATCH)

    async def new_events(self) -> list[Any]:
        """The object's events since the last call. All are there once the watch has shown another object that came after them."""
        await self._server.settle()
        self._markers += 1
        await self.create(f"marker-{self._markers}")
        async with asyncio.timeout(PATIENCE):
            while not self._events or _name(self._events[-1]) != f"marker-{self._markers}":  # noqa: ASYNC110 - it comes by itself
                await asyncio.sleep(0)
        found = [event for event in self._events if _name(event) == "o"]
        self._events.clear()
        return found


@pytest.mark.parametrize("flow", FLOWS, ids=named)
async def test_flow_matches_the_recording(flow: dict[str, Any]) -> None:
    async with in_memory(*registry.API_CONTROLLERS) as server:
        await sample_kinds.define(server)
        async with server.watching(sample_kinds.KINDS[OF_KIND.get(flow["kind"], flow["kind"])].path("default")) as events:
            under_way = Flow(server, flow["kind"], events)
            await under_way.create("o", flow["finalizers"])
            first, *others = [event["type"] for event in await under_way.new_events()]
            assert (first, set(others) - {"MODIFIED"}) == ("ADDED", set())  # controllers write its status
            for step in flow["steps"]:
                answer = await under_way.take(step)
                shown = [{"type": event["type"], **brief(event["object"])} for event in await under_way.new_events()]
                assert {**told(answer), "events": shown} == {name: step[name] for name in step if name not in {"do", "body"}}


def told(answer: Response) -> dict[str, Any]:
    """Returns the comparable part of a response."""
    body = answer.json
    about = {"code": answer.code, "answers": body["kind"]}
    if body["kind"] != "Status":
        return {**about, "object": brief(body)}
    return {**about, "status": body["status"], "reason": body.get("reason"), "details": sorted(body["details"])}


def brief(object_: dict[str, Any]) -> dict[str, Any]:
    """Returns the comparable part of a deleting object."""
    meta = object_["metadata"]
    found = {"deleting": True} if "deletionTimestamp" in meta else {}
    names = {"deletionGracePeriodSeconds": "grace", "finalizers": "finalizers", "generation": "generation"}
    return {**found, **{name: meta[field] for field, name in names.items() if meta.get(field) not in (None, [])}}


def _name(event: dict[str, Any]) -> str:
    return str(event["object"]["metadata"]["name"])
