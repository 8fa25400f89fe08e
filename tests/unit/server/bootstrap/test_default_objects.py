"""Default objects besides namespaces, roles and the server's Service: priority classes, flow schemas, the ServiceCIDR."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from probate.kinds.flowcontrol import bootstrap_flows
from support import bootstrap
from support.in_process_server import InProcessServer, running

FLOWS = f"/apis/{bootstrap_flows.GROUP}/v1"
SCHEMAS, LEVELS = f"{FLOWS}/flowschemas", f"{FLOWS}/prioritylevelconfigurations"
RANGE = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(collects=False) as item:
        await bootstrap.ensure_default_objects(item.api)
        yield item


async def result(server: InProcessServer, path: str) -> Any:
    response = await server.request("GET", path)
    assert response.code == 200, response.body
    return response.json


async def change(server: InProcessServer, path: str, change: Any) -> None:
    assert (await server.request("PATCH", path, change, media=MERGE)).code == 200


async def names(server: InProcessServer, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in (await result(server, path))["items"]]


async def test_all_default_objects_exist(server: InProcessServer) -> None:
    classes = {item["metadata"]["name"]: item["value"] for item in (await result(server, CLASSES))["items"]}
    assert classes == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
    assert len(await names(server, SCHEMAS)) == 13
    assert len(await names(server, LEVELS)) == 8
    range_ = await result(server, RANGE)
    assert range_["spec"] == {"cidrs": ["10.96.0.0/12"]}
    assert range_["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
    assert [(item["type"], item["status"]) for item in range_["status"]["conditions"]] == [("Ready", "True")]


async def test_flow_schemas_name_existing_levels(server: InProcessServer) -> None:
    levels = await names(server, LEVELS)
    for schema in (await result(server, SCHEMAS))["items"]:
        assert schema["spec"]["priorityLevelConfiguration"]["name"] in levels
        assert [(item["type"], item["status"]) for item in schema["status"]["conditions"]] == [("Dangling", "False")]


async def test_a_second_start_writes_nothing(server: InProcessServer) -> None:
    before = await server.store.revision()
    await bootstrap.ensure_default_objects(server.api)
    assert await server.store.revision() == before


async def test_deleted_objects_are_recreated_at_the_next_start(server: InProcessServer) -> None:
    for path in (f"{SCHEMAS}/exempt", f"{LEVELS}/system"):
        assert (await server.request("DELETE", path)).code == 200
    await bootstrap.ensure_default_objects(server.api)
    for path in (f"{SCHEMAS}/exempt", f"{LEVELS}/system"):
        await result(server, path)


@pytest.mark.parametrize(
    ("name", "annotation", "is_kept"),
    [
        pytest.param("catch-all", "true", False, id="mandatory"),
        pytest.param("catch-all", "false", False, id="mandatory, whatever is said"),
        pytest.param("workload-low", "true", False, id="suggested"),
        pytest.param("workload-low", "false", True, id="suggested, and to stay"),
        pytest.param("workload-low", None, True, id="suggested, and changed"),
    ],
)
async def test_changed_objects_are_restored_unless_annotated(
    server: InProcessServer, name: str, annotation: str | None, is_kept: bool
) -> None:
    path = f"{LEVELS}/{name}"
    annotations = {bootstrap_flows.AUTO_UPDATE: annotation}
    await change(server, path, {"metadata": {"annotations": annotations}, "spec": {"limited": {"nominalConcurrencyShares": 7}}})
    await bootstrap.ensure_default_objects(server.api)
    level = await result(server, path)
    assert (level["spec"]["limited"]["nominalConcurrencyShares"] == 7) is is_kept
    assert level["metadata"]["annotations"][bootstrap_flows.AUTO_UPDATE] == ("false" if is_kept else "true")
    assert level["metadata"]["generation"] == (2 if is_kept else 3)


async def test_unchanged_objects_follow_new_defaults(server: InProcessServer) -> None:
    path = f"{SCHEMAS}/probes"
    await change(server, path, {"metadata": {"annotations": None}})
    await bootstrap.ensure_default_objects(server.api)
    assert (await result(server, path))["metadata"]["annotations"] == {bootstrap_flows.AUTO_UPDATE: "true"}


def test_flows_have_no_problems() -> None:
    kinds = {bootstrap_flows.SCHEMAS: "FlowSchema", bootstrap_flows.LEVELS: "PriorityLevelConfiguration"}
    for seed in bootstrap_flows.bootstrap_objects():
        assert validation.create(GroupVersionKind(bootstrap_flows.GROUP, "v1", kinds[seed.resource]), seed.object) == [], (
            seed.object["metadata"]["name"]
        )


async def test_starting_does_not_modify_the_seeds() -> None:
    before = copy.deepcopy(bootstrap_flows.bootstrap_objects())
    async with running(collects=False) as server:
        await bootstrap.ensure_default_objects(server.api)
    assert bootstrap_flows.bootstrap_objects() == before
