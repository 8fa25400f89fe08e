"""The status of validating policies: where their expressions do not fit the kinds that they are about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.controllers.apiserver.policy_status import DEFINITIONS, POLICIES
from support.admission_policies import policy, rules, wanting
from support.cel_rule_kind import definition
from support.workload_cluster import Object, Stage, staged


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("policychecks") as one:
        yield one


def about(plural: str, group: str, version: str = "v1") -> dict[str, Any]:
    return {"resourceRules": [{**rules(plural, group=group), "apiVersions": [version]}]}


async def checked(stage: Stage, made: Object) -> Object:
    await stage.client.create(POLICIES, "", made)
    await stage.settle()
    status: Object = (await stage.client.get(POLICIES, "", "p") or {})["status"]
    return status


async def test_expressions_that_fit_have_no_warnings(stage: Stage) -> None:
    made = wanting(
        "object.spec.replicas <= 5 && object.metadata.labels.all(k, k != '')",
        "object.spec.template.spec.containers.all(c, !has(c.resources.limits) || 'cpu' in c.resources.limits)",
        match=about("deployments", "apps"),
    )
    assert await checked(stage, made) == {"observedGeneration": 1, "typeChecking": {}}


async def test_expression_that_does_not_fit_is_told(stage: Stage) -> None:
    status = await checked(stage, wanting("true", "object.spec.nope == 1", match=about("deployments", "apps")))
    [warning] = status["typeChecking"]["expressionWarnings"]
    assert warning == {
        "fieldRef": "spec.validations[1].expression",
        "warning": (
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nope'\n | object.spec.nope == 1\n | ...........^"
        ),
    }


async def test_custom_kinds_are_checked_too(stage: Stage) -> None:
    crd = definition({"type": "object", "properties": {"n": {"type": "integer"}}})
    await stage.client.create(DEFINITIONS, "", crd)
    made = wanting("object.spec.n == 'x'", "object.metadata.labels.a == 'b'", match=about("things", "example.com"))
    status = await checked(stage, made)
    [warning] = status["typeChecking"]["expressionWarnings"]
    assert "applied to '(int, string)'" in warning["warning"]


async def test_rules_with_stars_name_nothing_to_check(stage: Stage) -> None:
    assert (await checked(stage, wanting("object.nope == 1", match=about("*", "apps"))))["typeChecking"] == {}


async def test_changed_policy_is_checked_again(stage: Stage) -> None:
    await checked(stage, wanting("object.nope == 1", match=about("pods", "")))
    await stage.client.patch(POLICIES, "", "p", {"spec": {"validations": [{"expression": "true"}]}})
    await stage.settle()
    status = (await stage.client.get(POLICIES, "", "p") or {})["status"]
    assert (status["observedGeneration"], status["typeChecking"]) == (2, {})


async def test_policy_that_takes_long_to_check_is_not_checked(stage: Stage) -> None:
    long = " && ".join(["object.nope == 1"] * 2000)
    status = await checked(stage, policy(validations=[{"expression": long}], match=about("pods", "")))
    assert status == {"observedGeneration": 1, "typeChecking": {}}
