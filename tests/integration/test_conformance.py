"""Deletion and garbage collection compared with a real control plane: 185 recorded scenarios, step by step.

They run in the cluster of the administrator, and in that of a tenant: there, most of them only in `make test-all`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from probate.controllers import registry
from probate.server.authz.owner_checks import OwnerChecks
from support import recorded_scenarios, virtual_time_server, virtual_time_tenant
from support.recorded_scenarios import Cluster

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
async def test_scenario_matches_the_recording_in_a_tenant(name: str) -> None:
    """Without the check of rights to owners: it does not concern superusers, who recorded the scenarios, and a tenant has none."""
    async with (
        virtual_time_server.in_memory(*registry.API_CONTROLLERS, owner_permissions=OwnerChecks.NONE) as server,
        virtual_time_tenant.running_tenant(server) as tenant,
    ):
        await assert_same(tenant, SCENARIOS[name])


async def assert_same(cluster: Cluster, scenario: Any) -> None:
    """Asserts that a client sees what was recorded."""
    notes = await recorded_scenarios.ScenarioRunner(cluster, scenario).run()
    told = zip(scenario["steps"], scenario["expect"], notes, strict=True)
    wrong = [f"{json.dumps(step)}\n  recorded {want}\n  now      {got}" for step, want, got in told if want != got]
    assert not wrong, f"{scenario['about']}\n" + "\n".join(wrong)
