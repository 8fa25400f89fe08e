"""Response headers name the FlowSchema and the priority level of a request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support import bootstrap
from support.in_process_server import InProcessServer, Response, running
from support.rbac_server import RbacServer, running_with_rbac

FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        await bootstrap.ensure_default_objects(item.api)
        await item.api.admission.configuration.refresh_all()
        yield item


async def uids(server: InProcessServer, schema: str, level: str) -> tuple[str, str]:
    paths = (f"{FLOWS}/flowschemas/{schema}", f"{FLOWS}/prioritylevelconfigurations/{level}")
    first, second = [(await server.request("GET", path)).json["metadata"]["uid"] for path in paths]
    return first, second


def flow_headers(answer: Response) -> tuple[str, str]:
    names = ("x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid")
    first, second = [answer.headers[name] for name in names]
    return first, second


async def request(server: RbacServer, path: str, user: str = "") -> Response:
    return await (server.ask_as(user, "GET", path) if user else server.request("GET", path))


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
async def test_request_is_classified(server: RbacServer, path: str, user: str, code: int, schema: str, level: str) -> None:
    answer = await request(server, path, user)
    assert (answer.code, flow_headers(answer)) == (code, await uids(server, schema, level))


async def test_new_flow_schema_applies_at_once(server: RbacServer) -> None:
    await request(server, PODS, "ann")
    limited = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    await server.create(f"{FLOWS[1:]}/prioritylevelconfigurations", "", {"metadata": {"name": "new"}, "spec": limited})
    rule: Any = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["default"]}
    rules = [{"subjects": [{"kind": "User", "user": {"name": "ann"}}], "resourceRules": [rule]}]
    spec = {"matchingPrecedence": 50, "priorityLevelConfiguration": {"name": "new"}, "rules": rules}
    await server.create(f"{FLOWS[1:]}/flowschemas", "", {"metadata": {"name": "new"}, "spec": spec})
    for _ in range(2):
        assert flow_headers(await request(server, PODS, "ann")) == await uids(server, "new", "new")
        assert flow_headers(await request(server, f"{PODS}/x", "ann")) == await uids(server, "global-default", "global-default")
    await server.request("DELETE", f"{FLOWS}/flowschemas/new")
    assert flow_headers(await request(server, PODS, "ann")) == await uids(server, "global-default", "global-default")


async def test_levels_have_seats(server: RbacServer) -> None:
    page = (await server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 164' in page


async def test_without_flow_schemas_there_are_no_headers() -> None:
    async with running(collects=False) as server:
        assert "x-kubernetes-pf-flowschema-uid" not in (await server.request("GET", PODS)).headers
