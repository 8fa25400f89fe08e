"""`metadata.managedFields` after each kind of write, apply conflicts, and writes that change nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, InProcessServer, Response, running

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALERS = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


@pytest.fixture
async def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[InProcessServer]:
    async with running(clock=clock, collects=False) as server:
        yield server


async def apply(server: InProcessServer, path: str, document: Any, manager: str = "m", **query: Any) -> Response:
    kind = {"configmaps": ("v1", "ConfigMap"), "deployments": ("apps/v1", "Deployment")}[path.split("/")[-2]]
    whole = {"apiVersion": kind[0], "kind": kind[1], **document}
    return await server.request("PATCH", path, whole, query={"fieldManager": manager, **query}, media=APPLY)


def owners(told: Response) -> dict[str, Any]:
    assert told.code < 300, told.body
    entries = told.json["metadata"].get("managedFields", [])
    return {" ".join(filter(None, (one["manager"], one["operation"], one.get("subresource")))): one["fieldsV1"] for one in entries}


async def test_manager_that_changes_a_field_owns_it(server: InProcessServer) -> None:
    await server.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}, query={"fieldManager": "one"})
    response = await server.request("PATCH", f"{MAPS}/a", {"data": {"x": "2"}}, query={"fieldManager": "two"}, media=MERGE)
    assert owners(response) == {"one Update": {"f:data": {".": {}, "f:y": {}}}, "two Update": {"f:data": {"f:x": {}}}}
    changed = {**response.json, "data": {"y": "1"}}
    response = await server.request("PUT", f"{MAPS}/a", changed, query={"fieldManager": "three"})
    assert owners(response) == {"one Update": {"f:data": {".": {}, "f:y": {}}}}


async def test_update_without_changes_is_not_written(server: InProcessServer, clock: FakeClock) -> None:
    first = await apply(server, f"{DEPLOYMENTS}/web", {"spec": SPEC})
    await clock.advance(60)
    for told in (
        await apply(server, f"{DEPLOYMENTS}/web", {"spec": SPEC}),
        await server.request("PUT", f"{DEPLOYMENTS}/web", first.json),
        await server.request("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 1}}, media=MERGE),
    ):
        assert told.json == first.json


async def test_entry_time_is_that_of_its_last_change(server: InProcessServer, clock: FakeClock) -> None:
    first = await server.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, query={"fieldManager": "one"})
    await clock.advance(60)
    second = await server.request("PATCH", f"{MAPS}/a", {"data": {"y": "2"}}, query={"fieldManager": "two"}, media=MERGE)
    times = {one["manager"]: one["time"] for one in second.json["metadata"]["managedFields"]}
    assert times["one"] == first.json["metadata"]["creationTimestamp"] < times["two"]


async def test_status_is_owned_through_the_status_subresource(server: InProcessServer) -> None:
    await server.request("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": SPEC, "status": {"replicas": 9}})
    response = await server.request(
        "PATCH",
        f"{DEPLOYMENTS}/web/status",
        {"spec": {"replicas": 7}, "status": {"replicas": 3}},
        query={"fieldManager": "ctl"},
        media=MERGE,
    )
    found = owners(response)
    assert found["ctl Update status"] == {"f:status": {"f:replicas": {}}}
    assert "f:status" not in found["unknown Update"]


async def test_update_through_scale_owns_replicas(server: InProcessServer) -> None:
    await apply(server, f"{DEPLOYMENTS}/web", {"spec": {**SPEC, "replicas": 1}})
    scale = {"spec": {"replicas": 3}}
    assert (await server.request("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query={"fieldManager": "s"}, media=MERGE)).code == 200
    found = owners(await server.request("GET", f"{DEPLOYMENTS}/web"))
    assert found["s Update scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in found["m Apply"]["f:spec"]


async def test_scale_can_be_applied(server: InProcessServer) -> None:
    await apply(server, f"{DEPLOYMENTS}/web", {"spec": {**SPEC, "replicas": 1}})
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    query: dict[str, Any] = {"fieldManager": "s"}
    refused = await server.request("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query=query, media=APPLY)
    assert [cause["field"] for cause in refused.json["details"]["causes"]] == [".spec.replicas"]
    response = await server.request("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query={**query, "force": "true"}, media=APPLY)
    assert (response.code, response.json["kind"], response.json["spec"]) == (200, "Scale", {"replicas": 3})
    found = owners(await server.request("GET", f"{DEPLOYMENTS}/web"))
    assert found["s Apply scale"] == {"f:spec": {"f:replicas": {}}}


async def test_conflict_names_fields_and_managers(server: InProcessServer) -> None:
    created = {"metadata": {"name": "a"}, "data": {"x": "1"}}
    await server.request("POST", MAPS, created, query={"fieldManager": "creator"})
    await apply(server, f"{MAPS}/a", {"data": {"y": "1"}}, "applier")
    refused = await apply(server, f"{MAPS}/a", {"data": {"x": "2", "y": "2"}}, "me")
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    since = f'"creator" using v1 at {(await server.request("GET", f"{MAPS}/a")).json["metadata"]["creationTimestamp"]}'
    assert refused.json["message"] == (
        f'Apply failed with 2 conflicts: conflicts with "applier":\n- .data.y\nconflicts with {since}:\n- .data.x'
    )
    assert refused.json["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "applier"', "field": ".data.y"},
        {"reason": "FieldManagerConflict", "message": f"conflict with {since}", "field": ".data.x"},
    ]
    refused = await apply(server, f"{MAPS}/a", {"data": {"y": "2"}}, "me")
    assert refused.json["message"] == 'Apply failed with 1 conflict: conflict with "applier": .data.y'


@pytest.mark.parametrize(
    ("document", "code", "word"),
    [
        ({"kind": ""}, 400, "apiVersion and kind"),
        ({"apiVersion": "v2"}, 400, "v2"),
        ({"metadata": {"name": "b"}}, 400, "does not match"),
        ({"metadata": {"managedFields": []}}, 400, "managedFields"),
        ({"metadata": []}, 400, "metadata"),
        ({"metadata": {"uid": "another"}}, 409, "uid"),
        ({"metadata": {"resourceVersion": "1"}}, 409, "modified"),
        ({"data": {"x": {"y": "z"}}}, 400, ".data.x"),
        ({"date": {}}, 400, ".date: field not declared in schema"),
        ({"metadata": {"finalizers": ["e.com/a", "e.com/a"]}}, 400, "finalizers[1]"),
        ({"metadata": {"ownerReferences": [{"name": "n"}]}}, 400, "'uid'"),
        ({"metadata": {"labels": {"a": "not a label"}}}, 422, "labels"),
    ],
)
async def test_invalid_apply_configuration_is_rejected(server: InProcessServer, document: Any, code: int, word: str) -> None:
    await server.request("POST", MAPS, {"metadata": {"name": "a"}})
    before = await server.request("GET", f"{MAPS}/a")
    told = await apply(server, f"{MAPS}/a", document)
    assert told.code == code, told.body
    assert word in told.json["message"]
    assert (await server.request("GET", f"{MAPS}/a")).json == before.json


@pytest.mark.parametrize("query", [{}, {"fieldManager": ""}, {"fieldManager": "m" * 129}, {"fieldManager": "a\nb"}])
async def test_apply_requires_a_field_manager(server: InProcessServer, query: Any) -> None:
    response = await server.request("PATCH", f"{MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"}, query=query, media=APPLY)
    assert (response.code, [cause["field"] for cause in response.json["details"]["causes"]]) == (422, ["fieldManager"])


async def test_force_is_rejected_except_for_apply(server: InProcessServer) -> None:
    await server.request("POST", MAPS, {"metadata": {"name": "a"}})
    response = await server.request("PATCH", f"{MAPS}/a", {}, query={"force": "true"}, media=MERGE)
    assert (response.code, [cause["field"] for cause in response.json["details"]["causes"]]) == (422, ["force"])


async def test_apply_creates_but_not_through_status_and_not_with_a_precondition(server: InProcessServer) -> None:
    assert (await apply(server, f"{MAPS}/dry", {"data": {"x": "1"}}, dryRun="All")).code == 201
    assert (await server.request("GET", f"{MAPS}/dry")).code == 404
    response = await server.request(
        "PATCH",
        f"{DEPLOYMENTS}/web/status",
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        query={"fieldManager": "m"},
        media=APPLY,
    )
    assert response.code == 404
    for meant in ({"uid": "some"}, {"resourceVersion": "5"}):
        assert (await apply(server, f"{MAPS}/new", {"metadata": meant})).code == 409
    elsewhere = MAPS.replace("default", "nowhere")
    assert (await apply(server, f"{elsewhere}/a", {})).code == 404


async def test_managed_fields_can_be_reset(server: InProcessServer) -> None:
    await apply(server, f"{MAPS}/a", {"data": {"x": "1"}})
    reset: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    assert owners(await server.request("PATCH", f"{MAPS}/a", reset, media=MERGE)) == {}
    assert owners(await server.request("PATCH", f"{MAPS}/a", {"data": {"y": "1"}}, media=MERGE)) == {}
    told = await apply(server, f"{MAPS}/a", {"data": {"x": "1"}})
    assert owners(told) == {
        "m Apply": {"f:data": {"f:x": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:x": {}, "f:y": {}}},
    }


async def test_managed_fields_can_be_set_by_hand_and_invalid_ones_are_ignored(server: InProcessServer) -> None:
    made = await apply(server, f"{MAPS}/a", {"data": {"x": "1"}})
    entry = made.json["metadata"]["managedFields"][0]
    mine = {**entry, "manager": "me"}
    response = await server.request("PATCH", f"{MAPS}/a", {"metadata": {"managedFields": [mine]}}, media=MERGE)
    assert owners(response) == {"me Apply": {"f:data": {"f:x": {}}}}
    for nonsense in ([], [{**mine, "operation": "Steal"}], [{**mine, "fieldsV1": {"k:{": {}}}]):
        response = await server.request("PATCH", f"{MAPS}/a", {"metadata": {"managedFields": nonsense}}, media=MERGE)
        assert owners(response) == {"me Apply": {"f:data": {"f:x": {}}}}


async def test_oldest_update_entries_are_merged(server: InProcessServer, clock: FakeClock) -> None:
    await server.request("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, query={"fieldManager": "m00"})
    for number in range(1, 13):
        await clock.advance(1)
        change = {"data": {f"k{number:02}": "1"}}
        response = await server.request("PATCH", f"{MAPS}/a", change, query={"fieldManager": f"m{number:02}"}, media=MERGE)
    found = owners(response)
    assert found["ancient-changes Update"] == {"f:data": {".": {}, "f:x": {}, "f:k01": {}, "f:k02": {}, "f:k03": {}}}
    assert sorted(found) == ["ancient-changes Update", *(f"m{number:02} Update" for number in range(4, 13))]


async def test_each_version_owns_fields_by_its_own_schema(server: InProcessServer) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
    body = {"metadata": {"name": "h"}, "spec": spec}
    response = await server.request("POST", SCALERS.format("v1"), body, query={"fieldManager": "old"})
    assert owners(response)["old Update"]["f:spec"].keys() == {
        "f:maxReplicas",
        "f:minReplicas",
        "f:scaleTargetRef",
        "f:targetCPUUtilizationPercentage",
    }
    change = {"spec": {"metrics": None, "maxReplicas": 4}}
    response = await server.request("PATCH", f"{SCALERS.format('v2')}/h", change, query={"fieldManager": "new"}, media=MERGE)
    found = owners(response)
    assert found["old Update"]["f:spec"].keys() <= {"f:minReplicas", "f:scaleTargetRef", "f:targetCPUUtilizationPercentage"}
    assert "f:maxReplicas" in found["new Update"]["f:spec"]


@pytest.mark.parametrize("order", [1, -1])
async def test_object_with_reordered_fields_is_not_written(server: InProcessServer, order: int) -> None:
    made = await server.request("POST", DEPLOYMENTS, {"metadata": {"name": "web", "labels": {"a": "b"}}, "spec": SPEC})
    turned = {key: made.json[key] for key in list(made.json)[::order] if key not in {"kind", "apiVersion"}}
    turned["metadata"] = {key: turned["metadata"][key] for key in list(turned["metadata"])[::order]}
    response = await server.request("PUT", f"{DEPLOYMENTS}/web", turned)
    assert response.json == made.json
