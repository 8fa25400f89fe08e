"""Random graphs of owners and dependents against the rules of deletion. A failure prints the steps, and the blob that repeats them."""

from __future__ import annotations

import asyncio
import os

import hypothesis
from hypothesis import stateful

import deletion_machine
from probate.store.contract import Store
from probate.store.sqlite import store as sqlite

RUNS = int(os.environ.get("PROBATE_RUNS", "0"))


def settings(examples: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=RUNS or examples,
        stateful_step_count=30,
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )


def test_server_in_memory_does_what_the_rules_say() -> None:
    class Machine(deletion_machine.DeletionMachine):
        async def open_store(self) -> Store:
            return await sqlite.open_memory()

    with asyncio.Runner() as Machine.runner:
        stateful.run_state_machine_as_test(Machine, settings=settings(2_000))
