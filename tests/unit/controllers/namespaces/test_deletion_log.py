"""The log lines of a namespace's deletion."""

from __future__ import annotations

import logging

import pytest

from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS
from support.in_process_server import INSECURE, FakeClock, running


async def test_content_is_logged_with_its_reason_before_the_namespace(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate.controllers.namespaces")
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        space = await house.create("namespaces", "", {"metadata": {"name": "doomed"}})
        made = await house.create("configmaps", "doomed", {"metadata": {"name": "inside"}})
        async with run_all(house.api, clock, BULK_CONTROLLERS, settings=INSECURE):
            await house.request("DELETE", "/api/v1/namespaces/doomed")
            await house.yield_to_loop()
            await clock.advance(10)
            await house.yield_to_loop()
    lines = [(record.message, record.facts) for record in caplog.records]  # type: ignore[attr-defined]
    assert [(message, facts["what"], facts["name"]) for message, facts in lines] == [
        ("deleted", "configmaps", "inside"),
        ("finalized", "namespaces", "doomed"),
    ]
    assert lines[0][1]["uid"] == made["metadata"]["uid"]
    assert lines[0][1]["because"] == f"doomed ({space['metadata']['uid']}) is being deleted, and contains the object"
