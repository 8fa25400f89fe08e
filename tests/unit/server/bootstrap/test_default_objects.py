"""What every server has besides namespaces, roles and its own Service: priority classes, flows, and the range of addresses."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.kinds import validation
from probate.kinds.flowcontrol import bootstrap_flows
from probate.server.bootstrap import default_objects
from support.in_process_server import House, running

FLOWS = f"/apis/{bootstrap_flows.GROUP}/v1"
SCHEMAS, LEVELS = f"{FLOWS}/flowschemas", f"{FLOWS}/prioritylevelconfigurations"
RANGE = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(collects=False) as one:
        await default_objects.ensure(one.api)
        yield one


async def found(house: House, path: str) -> Any:
    told = await house.ask("GET", path)
    assert told.code == 200, told.body
    return told.json


async def change(house: House, path: str, change: Any) -> None:
    assert (await house.ask("PATCH", path, change, media=MERGE)).code == 200


async def names(house: House, path: str) -> list[str]:
    return [one["metadata"]["name"] for one in (await found(house, path))["items"]]


async def test_all_of_it_is_there(house: House) -> None:
    classes = {one["metadata"]["name"]: one["value"] for one in (await found(house, CLASSES))["items"]}
    assert classes == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
    assert len(await names(house, SCHEMAS)) == 13
    assert len(await names(house, LEVELS)) == 8
    range_ = await found(house, RANGE)
    assert range_["spec"] == {"cidrs": ["10.96.0.0/12"]}
    assert range_["metadata"]["finalizers"] == ["networking.k8s.io/service-cidr-finalizer"]
    assert [(one["type"], one["status"]) for one in range_["status"]["conditions"]] == [("Ready", "True")]


async def test_flows_lead_to_levels_that_are_there(house: House) -> None:
    levels = await names(house, LEVELS)
    for schema in (await found(house, SCHEMAS))["items"]:
        assert schema["spec"]["priorityLevelConfiguration"]["name"] in levels
        assert [(one["type"], one["status"]) for one in schema["status"]["conditions"]] == [("Dangling", "False")]


async def test_a_second_start_writes_nothing(house: House) -> None:
    before = await house.store.revision()
    await default_objects.ensure(house.api)
    assert await house.store.revision() == before


async def test_what_is_gone_comes_back_at_the_next_start(house: House) -> None:
    for path in (f"{SCHEMAS}/exempt", f"{LEVELS}/system"):
        assert (await house.ask("DELETE", path)).code == 200
    await default_objects.ensure(house.api)
    for path in (f"{SCHEMAS}/exempt", f"{LEVELS}/system"):
        await found(house, path)


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
async def test_what_was_changed(house: House, name: str, annotation: str | None, is_kept: bool) -> None:
    path = f"{LEVELS}/{name}"
    annotations = {bootstrap_flows.AUTO_UPDATE: annotation}
    await change(house, path, {"metadata": {"annotations": annotations}, "spec": {"limited": {"nominalConcurrencyShares": 7}}})
    await default_objects.ensure(house.api)
    level = await found(house, path)
    assert (level["spec"]["limited"]["nominalConcurrencyShares"] == 7) is is_kept
    assert level["metadata"]["annotations"][bootstrap_flows.AUTO_UPDATE] == ("false" if is_kept else "true")
    assert level["metadata"]["generation"] == (2 if is_kept else 3)


async def test_what_was_never_changed_follows(house: House) -> None:
    path = f"{SCHEMAS}/probes"
    await change(house, path, {"metadata": {"annotations": None}})
    await default_objects.ensure(house.api)
    assert (await found(house, path))["metadata"]["annotations"] == {bootstrap_flows.AUTO_UPDATE: "true"}


def test_flows_have_no_problems() -> None:
    kinds = {bootstrap_flows.SCHEMAS: "FlowSchema", bootstrap_flows.LEVELS: "PriorityLevelConfiguration"}
    for seed in bootstrap_flows.seeds():
        assert validation.create(bootstrap_flows.GROUP, "v1", kinds[seed.resource], seed.object) == [], seed.object["metadata"][
            "name"
        ]


async def test_starts_leave_the_seeds_alone() -> None:
    before = copy.deepcopy(bootstrap_flows.seeds())
    async with running(collects=False) as house:
        await default_objects.ensure(house.api)
    assert bootstrap_flows.seeds() == before
