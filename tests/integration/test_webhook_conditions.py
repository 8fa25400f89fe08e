"""Match conditions of webhooks: CEL expressions that select the writes a webhook is called for."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, Response, running
from support.webhook_servers import WebhookServer, allow, configuration, serving

VALIDATING = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


async def configure(server: InProcessServer, hook: WebhookServer, *expressions: str, **options: Any) -> Response:
    conditions = [{"name": f"c{number}", "expression": one} for number, one in enumerate(expressions)]
    made = configuration(VALIDATING, hook.client, matchConditions=conditions, **options)
    return await server.request("POST", f"/{VALIDATING}", made)


async def post(server: InProcessServer, name: str) -> Response:
    return await server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": name}, "data": {"a": "1"}})


async def test_webhook_is_called_only_if_its_conditions_are_true() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        told = await configure(server, hook, "object.metadata.name.startsWith('x')", "request.operation == 'CREATE'")
        assert told.code == 201, told.body
        assert (await post(server, "m")).code == 201
        assert hook.reviews == []
        assert (await post(server, "x")).code == 201
        assert [one["name"] for one in hook.requests] == ["x"]


@pytest.mark.parametrize(("policy", "code"), [("Fail", 403), ("Ignore", 201)])
async def test_condition_error_follows_the_failure_policy(policy: str, code: int) -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        assert (await configure(server, hook, "object.data.zz == '1'", failurePolicy=policy)).code == 201
        response = await post(server, "m")
        assert response.code == code
        assert hook.reviews == []
        if code == 403:
            assert "no such key: zz" in response.json["message"]


async def test_false_condition_wins_over_errors_of_others() -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        assert (await configure(server, hook, "object.data.zz == '1'", "false")).code == 201
        assert (await post(server, "m")).code == 201
        assert hook.reviews == []


@pytest.mark.parametrize(
    "expression", ["object.metadata.name ==", "'text'", "nobody == 1", "namespaceObject.metadata.name == 'x'", ""]
)
async def test_invalid_condition_is_rejected_when_written(expression: str) -> None:
    async with running(collects=False) as server, serving(allow) as hook:
        told = await configure(server, hook, expression)
        assert told.code == 422
        assert [one["field"] for one in told.json["details"]["causes"]] == ["webhooks[0].matchConditions[0].expression"]
