"""Deletion and garbage collection compared with a real control plane: 185 recorded scenarios, step by step.

They run in the cluster of the administrator, and in that of a tenant: there, most of them only in `make test-all`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from probate.controllers import registry
from support import recorded_scenarios, virtual_time_server, virtual_time_tenant
from support.recorded_scenarios import Cluster, Note

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
_NUMBERS = (2, 3, 4, 6, 11, 15, 20, 22, 23, 24, 27, 30, 37, 39, 40, 41, 42, 48, 58)
BLOCKING_ABSENT_OWNERS = {
    *("cluster-dependent-namespaced-owner", "cluster-dependent-namespaced-owner-foreground", "late-dependent-background"),
    *("preset-foregrounddeletion-orphan-default", *(f"random-{number}" for number in _NUMBERS)),
}
"""Scenarios in which blockOwnerDeletion is set for an owner that does not exist: only superusers may do that (422 for others)."""
EVERYDAY = frozenset([*MADE_BY_CONTROLLERS, *list(SCENARIOS)[::12]])
"""The scenarios of tenants that every run includes."""


def test_all_recorded_scenarios_are_present() -> None:
    assert len(SCENARIOS) == 185
    assert {name for name, one in SCENARIOS.items() if "count" in one} == MADE_BY_CONTROLLERS


@pytest.mark.parametrize("name", SCENARIOS)
async def test_scenario_matches_the_recording(name: str) -> None:
    async with virtual_time_server.in_memory(*registry.API_CONTROLLERS) as server:
        await assert_same(server, SCENARIOS[name])


@pytest.mark.parametrize("name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.long) for name in SCENARIOS])
async def test_scenario_has_the_same_result_in_a_tenant(name: str) -> None:
    """As for an administrator outside who is no superuser. Superusers recorded the scenarios; they may block absent owners."""
    scenario = SCENARIOS[name]
    async with virtual_time_server.in_memory(*registry.API_CONTROLLERS) as server:
        administrator = virtual_time_tenant.OrdinaryAdministrator(server)
        await administrator.grant()
        outside = await recorded_scenarios.ScenarioRunner(administrator, scenario).run()
    async with (
        virtual_time_server.in_memory(*registry.API_CONTROLLERS) as server,
        virtual_time_tenant.running_tenant(server) as tenant,
    ):
        inside = await recorded_scenarios.ScenarioRunner(tenant, scenario).run()
    assert not _differences(scenario, outside, inside), scenario["about"]
    assert (inside == scenario["expect"]) == (name not in BLOCKING_ABSENT_OWNERS)


async def assert_same(cluster: Cluster, scenario: Any) -> None:
    """Asserts that a client sees what was recorded."""
    notes = await recorded_scenarios.ScenarioRunner(cluster, scenario).run()
    wrong = _differences(scenario, scenario["expect"], notes)
    assert not wrong, f"{scenario['about']}\n" + "\n".join(wrong)


def _differences(scenario: Any, expected: list[Note], notes: list[Note]) -> list[str]:
    told = zip(scenario["steps"], expected, notes, strict=True)
    return [f"{json.dumps(step)}\n  expected {want}\n  now      {got}" for step, want, got in told if want != got]
