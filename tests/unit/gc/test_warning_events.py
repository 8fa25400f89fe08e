"""The collector's warning Events: references across namespaces, and controllers that do not observe a deletion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.gc.backends.store.store_backend import StoreBackend
from probate.gc.collector import NEW_OBJECT_SECONDS
from support.in_process_server import FakeClock, InProcessServer, running

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
async def house() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock()) as house:
        await house.create("namespaces", "", {"metadata": {"name": "other"}})
        yield house


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: InProcessServer, name: str, *references: Any, namespace: str = "default") -> Any:
    return await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references}})


async def pass_time(house: InProcessServer, seconds: float = NEW_OBJECT_SECONDS) -> None:
    assert isinstance(house.clock, FakeClock)
    await house.yield_to_loop()
    await house.clock.advance(seconds)
    await house.yield_to_loop()


async def events(house: InProcessServer, namespace: str) -> list[Any]:
    return list((await house.request("GET", f"/api/v1/namespaces/{namespace}/events")).json["items"])


async def test_reference_to_another_namespace_gets_a_warning_before_its_object_is_collected(house: InProcessServer) -> None:
    owner = await make(house, "owner")
    child = await make(house, "child", reference(owner), namespace="other")
    await pass_time(house)
    assert (await house.request("GET", "/api/v1/namespaces/other/configmaps/child")).code == 404
    assert (await house.request("GET", "/api/v1/namespaces/default/configmaps/owner")).code == 200
    (event,) = await events(house, "other")
    uid = owner["metadata"]["uid"]
    assert (event["type"], event["reason"], event["source"]["component"]) == (
        "Warning",
        "OwnerRefInvalidNamespace",
        "garbage-collector-controller",
    )
    assert event["message"] == (
        f'ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: {uid}] does not exist in namespace "other"'
    )
    about = event["involvedObject"]
    assert (about["kind"], about["namespace"], about["name"], about["uid"]) == (
        "ConfigMap",
        "other",
        "child",
        child["metadata"]["uid"],
    )
    assert await events(house, "default") == []


async def test_object_that_another_owner_keeps_gets_a_warning_too(house: InProcessServer) -> None:
    owner, keeper = await make(house, "owner"), await make(house, "keeper", namespace="other")
    await make(house, "child", reference(owner), reference(keeper), namespace="other")
    await pass_time(house)
    left = (await house.request("GET", "/api/v1/namespaces/other/configmaps/child")).json
    assert left["metadata"]["ownerReferences"] == [reference(keeper)]
    assert [event["reason"] for event in await events(house, "other")] == ["OwnerRefInvalidNamespace"]


async def test_cluster_scoped_object_with_a_namespaced_owner_stays_and_gets_a_warning_in_default(house: InProcessServer) -> None:
    owner = await make(house, "owner", namespace="other")
    child = {"metadata": {"name": "child", "ownerReferences": [reference(owner)]}, "value": 1}
    await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", child)
    await pass_time(house)
    assert (await house.request("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/child")).code == 200
    (event,) = await events(house, "default")
    assert (event["reason"], event["involvedObject"]["name"]) == ("OwnerRefInvalidNamespace", "child")
    assert event["message"].endswith('does not exist in namespace ""')


async def test_dangling_owner_gets_no_warning(house: InProcessServer) -> None:
    owner = await make(house, "owner")
    await make(house, "child", {**reference(owner), "uid": "another"}, namespace="other")
    await make(house, "cousin", {**reference(owner), "name": "nobody"}, namespace="other")
    await pass_time(house)
    assert (await house.request("GET", "/api/v1/namespaces/other/configmaps")).json["items"] == []
    assert await events(house, "other") == []


async def test_ordinary_cascade_searches_no_other_namespace(house: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    elsewhere = StoreBackend.exist_in_other_namespaces

    async def recorded(self: StoreBackend, sought: Any) -> list[bool]:
        asked.extend(sought)
        return await elsewhere(self, sought)

    monkeypatch.setattr(StoreBackend, "exist_in_other_namespaces", recorded)
    owner = await make(house, "owner")
    child = await make(house, "child", reference(owner))
    await make(house, "grandchild", reference(child))
    await pass_time(house)
    await house.request("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    await pass_time(house)
    assert [
        one["metadata"]["name"] for one in (await house.request("GET", "/api/v1/namespaces/default/configmaps")).json["items"]
    ] == []
    assert asked == []
    await make(house, "bad", reference(owner, uid="never-there"))
    await pass_time(house)
    assert len(asked) == 1  # so it would have been noticed


# --- controllers that lag ---


async def make_deployment(house: InProcessServer) -> Any:
    """Creates a deployment whose controller has observed its first generation."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = await house.create("apis/apps/v1/deployments", "default", {"metadata": {"name": "web"}, "spec": spec})
    return await observe(house, made)


async def observe(house: InProcessServer, made: Any) -> Any:
    made["status"] = {"observedGeneration": made["metadata"]["generation"]}
    response = await house.request("PUT", f"{DEPLOYMENTS}/web/status", made)
    assert response.code == 200, response.body
    return response.json


async def exists(house: InProcessServer) -> bool:
    return (await house.request("GET", f"{DEPLOYMENTS}/web")).code == 200


async def delete(house: InProcessServer) -> Any:
    response = await house.request("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Foreground"})
    assert response.code == 200
    await house.yield_to_loop()
    return (await house.request("GET", f"{DEPLOYMENTS}/web")).json


async def test_owner_is_held_until_its_controller_has_observed_the_deletion(house: InProcessServer) -> None:
    await make_deployment(house)
    going = await delete(house)
    assert going["metadata"]["generation"] > going["status"]["observedGeneration"]
    await pass_time(house, 0.5)
    assert await exists(house)
    await observe(house, going)
    await house.yield_to_loop()
    assert not await exists(house)
    assert await events(house, "default") == []


async def test_owner_whose_controller_lags_is_released_after_the_patience_with_a_warning(house: InProcessServer) -> None:
    made = await make_deployment(house)
    await delete(house)
    await pass_time(house, 0.9)
    assert await exists(house)
    assert await events(house, "default") == []
    await pass_time(house, 0.2)
    assert not await exists(house)
    (event,) = await events(house, "default")
    assert (event["type"], event["reason"], event["involvedObject"]["uid"]) == (
        "Warning",
        "ControllerLags",
        made["metadata"]["uid"],
    )


async def test_patience_starts_anew_for_another_owner_of_the_same_name(house: InProcessServer) -> None:
    await make_deployment(house)
    going = await delete(house)
    await pass_time(house, 0.5)
    del going["metadata"]["finalizers"]
    assert (await house.request("PUT", f"{DEPLOYMENTS}/web", going)).code == 200
    assert not await exists(house)
    await make_deployment(house)
    await delete(house)
    await pass_time(house, 0.7)  # the patience with the first would be over now
    assert await exists(house)
    await pass_time(house, 0.4)
    assert not await exists(house)
