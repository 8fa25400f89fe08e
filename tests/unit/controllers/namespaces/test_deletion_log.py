"""What the log says when a namespace goes with all that is in it."""

from __future__ import annotations

import logging

import pytest

from probate.controllers.manager import IN_BULK, at_work
from support.in_process_server import OPEN, FakeClock, running


async def test_content_of_a_namespace_is_told_with_the_reason_and_then_the_namespace(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate.controllers.namespaces")
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        space = await house.create("namespaces", "", {"metadata": {"name": "doomed"}})
        made = await house.create("configmaps", "doomed", {"metadata": {"name": "inside"}})
        async with at_work(house.api, clock, IN_BULK, OPEN):
            await house.ask("DELETE", "/api/v1/namespaces/doomed")
            await house.turns()
            await clock.advance(10)
            await house.turns()
    told = [(record.message, record.facts) for record in caplog.records]  # type: ignore[attr-defined]
    assert [(message, facts["what"], facts["name"]) for message, facts in told] == [
        ("deleted", "configmaps", "inside"),
        ("emptied and let go", "namespaces", "doomed"),
    ]
    assert told[0][1]["uid"] == made["metadata"]["uid"]
    assert told[0][1]["because"] == f"doomed ({space['metadata']['uid']}) is being deleted, and it lies in there"
