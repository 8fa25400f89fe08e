"""Who owns what after each way of writing, as clients see it: `metadata.managedFields`, conflicts, and what is written at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, House, Told, running

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
async def house(clock: FakeClock) -> AsyncIterator[House]:
    async with running(clock=clock, collects=False) as house:
        yield house


async def apply(house: House, path: str, document: Any, manager: str = "m", **query: Any) -> Told:
    kind = {"configmaps": ("v1", "ConfigMap"), "deployments": ("apps/v1", "Deployment")}[path.split("/")[-2]]
    whole = {"apiVersion": kind[0], "kind": kind[1], **document}
    return await house.ask("PATCH", path, whole, query={"fieldManager": manager, **query}, media=APPLY)


def owners(told: Told) -> dict[str, Any]:
    assert told.code < 300, told.body
    entries = told.json["metadata"].get("managedFields", [])
    return {" ".join(filter(None, (one["manager"], one["operation"], one.get("subresource")))): one["fieldsV1"] for one in entries}


async def test_whoever_changes_a_field_owns_it(house: House) -> None:
    await house.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}, query={"fieldManager": "one"})
    told = await house.ask("PATCH", f"{MAPS}/a", {"data": {"x": "2"}}, query={"fieldManager": "two"}, media=MERGE)
    assert owners(told) == {"one Update": {"f:data": {".": {}, "f:y": {}}}, "two Update": {"f:data": {"f:x": {}}}}
    changed = {**told.json, "data": {"y": "1"}}
    told = await house.ask("PUT", f"{MAPS}/a", changed, query={"fieldManager": "three"})
    assert owners(told) == {"one Update": {"f:data": {".": {}, "f:y": {}}}}


async def test_write_that_changes_nothing_is_not_written(house: House, clock: FakeClock) -> None:
    first = await apply(house, f"{DEPLOYMENTS}/web", {"spec": SPEC})
    await clock.advance(60)
    for told in (
        await apply(house, f"{DEPLOYMENTS}/web", {"spec": SPEC}),
        await house.ask("PUT", f"{DEPLOYMENTS}/web", first.json),
        await house.ask("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 1}}, media=MERGE),
    ):
        assert told.json == first.json


async def test_time_of_an_entry_is_that_of_its_last_change(house: House, clock: FakeClock) -> None:
    first = await house.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, query={"fieldManager": "one"})
    await clock.advance(60)
    second = await house.ask("PATCH", f"{MAPS}/a", {"data": {"y": "2"}}, query={"fieldManager": "two"}, media=MERGE)
    times = {one["manager"]: one["time"] for one in second.json["metadata"]["managedFields"]}
    assert times["one"] == first.json["metadata"]["creationTimestamp"] < times["two"]


async def test_status_is_owned_by_who_writes_it_through_its_own_path(house: House) -> None:
    await house.ask("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": SPEC, "status": {"replicas": 9}})
    told = await house.ask(
        "PATCH",
        f"{DEPLOYMENTS}/web/status",
        {"spec": {"replicas": 7}, "status": {"replicas": 3}},
        query={"fieldManager": "ctl"},
        media=MERGE,
    )
    found = owners(told)
    assert found["ctl Update status"] == {"f:status": {"f:replicas": {}}}
    assert "f:status" not in found["unknown Update"]


async def test_scale_owns_the_replicas(house: House) -> None:
    await apply(house, f"{DEPLOYMENTS}/web", {"spec": {**SPEC, "replicas": 1}})
    scale = {"spec": {"replicas": 3}}
    assert (await house.ask("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query={"fieldManager": "s"}, media=MERGE)).code == 200
    found = owners(await house.ask("GET", f"{DEPLOYMENTS}/web"))
    assert found["s Update scale"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in found["m Apply"]["f:spec"]


async def test_scale_can_be_applied(house: House) -> None:
    await apply(house, f"{DEPLOYMENTS}/web", {"spec": {**SPEC, "replicas": 1}})
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    query: dict[str, Any] = {"fieldManager": "s"}
    refused = await house.ask("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query=query, media=APPLY)
    assert [cause["field"] for cause in refused.json["details"]["causes"]] == [".spec.replicas"]
    told = await house.ask("PATCH", f"{DEPLOYMENTS}/web/scale", scale, query={**query, "force": "true"}, media=APPLY)
    assert (told.code, told.json["kind"], told.json["spec"]) == (200, "Scale", {"replicas": 3})
    found = owners(await house.ask("GET", f"{DEPLOYMENTS}/web"))
    assert found["s Apply scale"] == {"f:spec": {"f:replicas": {}}}


async def test_conflict_names_fields_and_managers(house: House) -> None:
    created = {"metadata": {"name": "a"}, "data": {"x": "1"}}
    await house.ask("POST", MAPS, created, query={"fieldManager": "creator"})
    await apply(house, f"{MAPS}/a", {"data": {"y": "1"}}, "applier")
    refused = await apply(house, f"{MAPS}/a", {"data": {"x": "2", "y": "2"}}, "me")
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    since = f'"creator" using v1 at {(await house.ask("GET", f"{MAPS}/a")).json["metadata"]["creationTimestamp"]}'
    assert refused.json["message"] == (
        f'Apply failed with 2 conflicts: conflicts with "applier":\n- .data.y\nconflicts with {since}:\n- .data.x'
    )
    assert refused.json["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "applier"', "field": ".data.y"},
        {"reason": "FieldManagerConflict", "message": f"conflict with {since}", "field": ".data.x"},
    ]
    refused = await apply(house, f"{MAPS}/a", {"data": {"y": "2"}}, "me")
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
async def test_bad_document_is_refused(house: House, document: Any, code: int, word: str) -> None:
    await house.ask("POST", MAPS, {"metadata": {"name": "a"}})
    before = await house.ask("GET", f"{MAPS}/a")
    told = await apply(house, f"{MAPS}/a", document)
    assert told.code == code, told.body
    assert word in told.json["message"]
    assert (await house.ask("GET", f"{MAPS}/a")).json == before.json


@pytest.mark.parametrize("query", [{}, {"fieldManager": ""}, {"fieldManager": "m" * 129}, {"fieldManager": "a\nb"}])
async def test_manager_must_have_a_name(house: House, query: Any) -> None:
    told = await house.ask("PATCH", f"{MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap"}, query=query, media=APPLY)
    assert (told.code, [cause["field"] for cause in told.json["details"]["causes"]]) == (422, ["fieldManager"])


async def test_force_is_for_applies_only(house: House) -> None:
    await house.ask("POST", MAPS, {"metadata": {"name": "a"}})
    told = await house.ask("PATCH", f"{MAPS}/a", {}, query={"force": "true"}, media=MERGE)
    assert (told.code, [cause["field"] for cause in told.json["details"]["causes"]]) == (422, ["force"])


async def test_apply_creates_but_neither_a_status_nor_what_is_meant_to_be_there(house: House) -> None:
    assert (await apply(house, f"{MAPS}/dry", {"data": {"x": "1"}}, dryRun="All")).code == 201
    assert (await house.ask("GET", f"{MAPS}/dry")).code == 404
    told = await house.ask(
        "PATCH",
        f"{DEPLOYMENTS}/web/status",
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        query={"fieldManager": "m"},
        media=APPLY,
    )
    assert told.code == 404
    for meant in ({"uid": "some"}, {"resourceVersion": "5"}):
        assert (await apply(house, f"{MAPS}/new", {"metadata": meant})).code == 409
    elsewhere = MAPS.replace("default", "nowhere")
    assert (await apply(house, f"{elsewhere}/a", {})).code == 404


async def test_entries_can_be_reset_and_are_then_not_kept(house: House) -> None:
    await apply(house, f"{MAPS}/a", {"data": {"x": "1"}})
    reset: dict[str, Any] = {"metadata": {"managedFields": [{}]}}
    assert owners(await house.ask("PATCH", f"{MAPS}/a", reset, media=MERGE)) == {}
    assert owners(await house.ask("PATCH", f"{MAPS}/a", {"data": {"y": "1"}}, media=MERGE)) == {}
    told = await apply(house, f"{MAPS}/a", {"data": {"x": "1"}})
    assert owners(told) == {
        "m Apply": {"f:data": {"f:x": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:x": {}, "f:y": {}}},
    }


async def test_entries_can_be_written_by_hand_and_are_kept_if_that_is_nonsense(house: House) -> None:
    made = await apply(house, f"{MAPS}/a", {"data": {"x": "1"}})
    entry = made.json["metadata"]["managedFields"][0]
    mine = {**entry, "manager": "me"}
    told = await house.ask("PATCH", f"{MAPS}/a", {"metadata": {"managedFields": [mine]}}, media=MERGE)
    assert owners(told) == {"me Apply": {"f:data": {"f:x": {}}}}
    for nonsense in ([], [{**mine, "operation": "Steal"}], [{**mine, "fieldsV1": {"k:{": {}}}]):
        told = await house.ask("PATCH", f"{MAPS}/a", {"metadata": {"managedFields": nonsense}}, media=MERGE)
        assert owners(told) == {"me Apply": {"f:data": {"f:x": {}}}}


async def test_oldest_of_many_updates_become_one(house: House, clock: FakeClock) -> None:
    await house.ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, query={"fieldManager": "m00"})
    for number in range(1, 13):
        await clock.advance(1)
        change = {"data": {f"k{number:02}": "1"}}
        told = await house.ask("PATCH", f"{MAPS}/a", change, query={"fieldManager": f"m{number:02}"}, media=MERGE)
    found = owners(told)
    assert found["ancient-changes Update"] == {"f:data": {".": {}, "f:x": {}, "f:k01": {}, "f:k02": {}, "f:k03": {}}}
    assert sorted(found) == ["ancient-changes Update", *(f"m{number:02} Update" for number in range(4, 13))]


async def test_each_version_of_a_kind_owns_in_its_own_words(house: House) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
    body = {"metadata": {"name": "h"}, "spec": spec}
    told = await house.ask("POST", SCALERS.format("v1"), body, query={"fieldManager": "old"})
    assert owners(told)["old Update"]["f:spec"].keys() == {
        "f:maxReplicas",
        "f:minReplicas",
        "f:scaleTargetRef",
        "f:targetCPUUtilizationPercentage",
    }
    change = {"spec": {"metrics": None, "maxReplicas": 4}}
    told = await house.ask("PATCH", f"{SCALERS.format('v2')}/h", change, query={"fieldManager": "new"}, media=MERGE)
    found = owners(told)
    assert found["old Update"]["f:spec"].keys() <= {"f:minReplicas", "f:scaleTargetRef", "f:targetCPUUtilizationPercentage"}
    assert "f:maxReplicas" in found["new Update"]["f:spec"]


@pytest.mark.parametrize("order", [1, -1])
async def test_same_object_in_another_order_is_not_written(house: House, order: int) -> None:
    made = await house.ask("POST", DEPLOYMENTS, {"metadata": {"name": "web", "labels": {"a": "b"}}, "spec": SPEC})
    turned = {key: made.json[key] for key in list(made.json)[::order] if key not in {"kind", "apiVersion"}}
    turned["metadata"] = {key: turned["metadata"][key] for key in list(turned["metadata"])[::order]}
    told = await house.ask("PUT", f"{DEPLOYMENTS}/web", turned)
    assert told.json == made.json
