"""Match conditions of webhooks: expressions that say which writes a webhook is asked about."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, Told, running
from support.webhook_servers import Hook, allow, configuration, serving

VALIDATING = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


async def configure(house: House, hook: Hook, *expressions: str, **options: Any) -> Told:
    conditions = [{"name": f"c{number}", "expression": one} for number, one in enumerate(expressions)]
    made = configuration(VALIDATING, hook.client, matchConditions=conditions, **options)
    return await house.ask("POST", f"/{VALIDATING}", made)


async def post(house: House, name: str) -> Told:
    return await house.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}, "data": {"a": "1"}})


async def test_webhook_is_asked_only_if_its_conditions_hold() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        told = await configure(house, hook, "object.metadata.name.startsWith('x')", "request.operation == 'CREATE'")
        assert told.code == 201, told.body
        assert (await post(house, "m")).code == 201
        assert hook.asked == []
        assert (await post(house, "x")).code == 201
        assert [one["name"] for one in hook.requests] == ["x"]


@pytest.mark.parametrize(("policy", "code"), [("Fail", 403), ("Ignore", 201)])
async def test_condition_that_cannot_be_evaluated_is_as_the_failure_policy_says(policy: str, code: int) -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        assert (await configure(house, hook, "object.data.zz == '1'", failurePolicy=policy)).code == 201
        told = await post(house, "m")
        assert told.code == code
        assert hook.asked == []
        if code == 403:
            assert "no such key: zz" in told.json["message"]


async def test_one_that_is_false_decides_whatever_is_wrong_with_others() -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        assert (await configure(house, hook, "object.data.zz == '1'", "false")).code == 201
        assert (await post(house, "m")).code == 201
        assert hook.asked == []


@pytest.mark.parametrize(
    "expression", ["object.metadata.name ==", "'text'", "nobody == 1", "namespaceObject.metadata.name == 'x'", ""]
)
async def test_condition_that_is_wrong_is_refused_when_it_is_written(expression: str) -> None:
    async with running(collects=False) as house, serving(allow) as hook:
        told = await configure(house, hook, expression)
        assert told.code == 422
        assert [one["field"] for one in told.json["details"]["causes"]] == ["webhooks[0].matchConditions[0].expression"]
