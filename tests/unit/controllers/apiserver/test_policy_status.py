"""Type checking in the status of ValidatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.controllers.apiserver.policy_status import CRDS, POLICIES
from support.admission_policies import policy, rules, validating_policy
from support.cel_rule_kind import definition
from support.workload_cluster import WorkloadCluster, workload_cluster


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("policychecks") as one:
        yield one


def about(plural: str, group: str, version: str = "v1") -> dict[str, Any]:
    return {"resourceRules": [{**rules(plural, group=group), "apiVersions": [version]}]}


async def checked(stage: WorkloadCluster, made: Object) -> Object:
    await stage.client.create(POLICIES, "", made)
    await stage.settle()
    status: Object = (await stage.client.get(POLICIES, "", "p") or {})["status"]
    return status


async def test_well_typed_expressions_have_no_warnings(stage: WorkloadCluster) -> None:
    made = validating_policy(
        "object.spec.replicas <= 5 && object.metadata.labels.all(k, k != '')",
        "object.spec.template.spec.containers.all(c, !has(c.resources.limits) || 'cpu' in c.resources.limits)",
        match=about("deployments", "apps"),
    )
    assert await checked(stage, made) == {"observedGeneration": 1, "typeChecking": {}}


async def test_type_error_is_reported(stage: WorkloadCluster) -> None:
    status = await checked(stage, validating_policy("true", "object.spec.nope == 1", match=about("deployments", "apps")))
    [warning] = status["typeChecking"]["expressionWarnings"]
    assert warning == {
        "fieldRef": "spec.validations[1].expression",
        "warning": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nope'\n | object.spec.nope == 1\n | ...........^"
        ),
    }


async def test_custom_kinds_are_checked_too(stage: WorkloadCluster) -> None:
    crd = definition({"type": "object", "properties": {"n": {"type": "integer"}}})
    await stage.client.create(CRDS, "", crd)
    made = validating_policy("object.spec.n == 'x'", "object.metadata.labels.a == 'b'", match=about("things", "example.com"))
    status = await checked(stage, made)
    [warning] = status["typeChecking"]["expressionWarnings"]
    assert "applied to '(int, string)'" in warning["warning"]


async def test_wildcard_rules_are_not_checked(stage: WorkloadCluster) -> None:
    assert (await checked(stage, validating_policy("object.nope == 1", match=about("*", "apps"))))["typeChecking"] == {}


async def test_changed_policy_is_checked_again(stage: WorkloadCluster) -> None:
    await checked(stage, validating_policy("object.nope == 1", match=about("pods", "")))
    await stage.client.patch(POLICIES, "", "p", change={"spec": {"validations": [{"expression": "true"}]}})
    await stage.settle()
    status = (await stage.client.get(POLICIES, "", "p") or {})["status"]
    assert (status["observedGeneration"], status["typeChecking"]) == (2, {})


async def test_policy_that_takes_too_many_steps_is_not_checked(stage: WorkloadCluster) -> None:
    long = " && ".join(["object.nope == 1"] * 2000)
    status = await checked(stage, policy(validations=[{"expression": long}], match=about("pods", "")))
    assert status == {"observedGeneration": 1, "typeChecking": {}}
