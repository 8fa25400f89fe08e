"""Deletion and garbage collection compared with a real control plane: 185 recorded scenarios, step by step."""

from __future__ import annotations

import json

import pytest

from probate.controllers import registry
from support import recorded_scenarios, virtual_time_server

MADE_BY_CONTROLLERS = {
    f"{kind}-{policy}"
    for kind, policies in {
        "deployment": ("background", "default", "foreground"),
        "job": ("background", "foreground", "orphan"),
        "rc-with-pods": ("background", "foreground", "orphan"),
        "rs-with-pods": ("background", "foreground", "orphan"),
    }.items()
    for policy in policies
}
"""Scenarios in which controllers create pods."""

SCENARIOS = recorded_scenarios.load()


def test_all_recorded_scenarios_are_present() -> None:
    assert len(SCENARIOS) == 185
    assert {name for name, one in SCENARIOS.items() if "count" in one} == MADE_BY_CONTROLLERS


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario_matches_the_recording(name: str) -> None:
    scenario = SCENARIOS[name]
    async with virtual_time_server.in_memory(*registry.API_CONTROLLERS) as server:
        notes = await recorded_scenarios.ScenarioRunner(server, scenario).run()
    told = zip(scenario["steps"], scenario["expect"], notes, strict=True)
    wrong = [f"{json.dumps(step)}\n  recorded {want}\n  now      {got}" for step, want, got in told if want != got]
    assert not wrong, f"{scenario['about']}\n" + "\n".join(wrong)
