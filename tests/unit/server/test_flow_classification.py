"""Answers tell by which FlowSchema and level their requests were sorted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.bootstrap import default_objects
from support.in_process_server import House, Told, running
from support.rbac_server import Guarded, guarded

FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded() as one:
        await default_objects.ensure(one.api)
        await one.api.configured.refresh_all()
        yield one


async def uids(house: House, schema: str, level: str) -> tuple[str, str]:
    paths = (f"{FLOWS}/flowschemas/{schema}", f"{FLOWS}/prioritylevelconfigurations/{level}")
    first, second = [(await house.ask("GET", path)).json["metadata"]["uid"] for path in paths]
    return first, second


def told(answer: Told) -> tuple[str, str]:
    names = ("x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")
    first, second = [answer.headers[name] for name in names]
    return first, second


async def asked(house: Guarded, path: str, user: str = "") -> Told:
    return await (house.ask_as(user, "GET", path) if user else house.ask("GET", path))


@pytest.mark.parametrize(
    ("path", "user", "code", "schema", "level"),
    [
        pytest.param(PODS, "", 200, "exempt", "exempt", id="master"),
        pytest.param(PODS, "ann", 403, "global-default", "global-default", id="refused"),
        pytest.param(f"{PODS}/none", "", 404, "exempt", "exempt", id="not there"),
        pytest.param(PODS, "system:kube-scheduler", 200, "kube-scheduler", "workload-high", id="scheduler"),
        pytest.param("/version", "", 200, "exempt", "exempt", id="no resource"),
    ],
)
async def test_by_what_a_request_was_sorted(house: Guarded, path: str, user: str, code: int, schema: str, level: str) -> None:
    answer = await asked(house, path, user)
    assert (answer.code, told(answer)) == (code, await uids(house, schema, level))


async def test_a_new_schema_counts_from_its_first_moment(house: Guarded) -> None:
    await asked(house, PODS, "ann")
    limited = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    await house.create(f"{FLOWS[1:]}/prioritylevelconfigurations", "", {"metadata": {"name": "new"}, "spec": limited})
    rule: Any = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["default"]}
    rules = [{"subjects": [{"kind": "User", "user": {"name": "ann"}}], "resourceRules": [rule]}]
    spec = {"matchingPrecedence": 50, "priorityLevelConfiguration": {"name": "new"}, "rules": rules}
    await house.create(f"{FLOWS[1:]}/flowschemas", "", {"metadata": {"name": "new"}, "spec": spec})
    for _ in range(2):
        assert told(await asked(house, PODS, "ann")) == await uids(house, "new", "new")
        assert told(await asked(house, f"{PODS}/x", "ann")) == await uids(house, "global-default", "global-default")
    await house.ask("DELETE", f"{FLOWS}/flowschemas/new")
    assert told(await asked(house, PODS, "ann")) == await uids(house, "global-default", "global-default")


async def test_levels_have_seats(house: Guarded) -> None:
    page = (await house.ask("GET", "/metrics")).body.decode()
    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 164' in page


async def test_without_schemas_nothing_is_told() -> None:
    async with running(collects=False) as house:
        assert "x-kubernetes-pf-flowschema-uid" not in (await house.ask("GET", PODS)).headers
