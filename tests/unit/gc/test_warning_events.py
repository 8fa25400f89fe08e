"""What the collector tells by Events: references across namespaces, and controllers that do not notice a deletion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.gc.backends.store.backend import World
from probate.gc.collector import BIRTH_SECONDS
from support.in_process_server import FakeClock, House, running

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(clock=FakeClock()) as house:
        await house.create("namespaces", "", {"metadata": {"name": "other"}})
        yield house


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: House, name: str, *references: Any, namespace: str = "default") -> Any:
    return await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references}})


async def pass_time(house: House, seconds: float = BIRTH_SECONDS) -> None:
    assert isinstance(house.clock, FakeClock)
    await house.turns()
    await house.clock.advance(seconds)
    await house.turns()


async def events(house: House, namespace: str) -> list[Any]:
    return list((await house.ask("GET", f"/api/v1/namespaces/{namespace}/events")).json["items"])


async def test_reference_to_another_namespace_is_warned_of_before_its_object_is_collected(house: House) -> None:
    owner = await make(house, "owner")
    child = await make(house, "child", reference(owner), namespace="other")
    await pass_time(house)
    assert (await house.ask("GET", "/api/v1/namespaces/other/configmaps/child")).code == 404
    assert (await house.ask("GET", "/api/v1/namespaces/default/configmaps/owner")).code == 200
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


async def test_object_that_another_owner_keeps_is_warned_of_too(house: House) -> None:
    owner, keeper = await make(house, "owner"), await make(house, "keeper", namespace="other")
    await make(house, "child", reference(owner), reference(keeper), namespace="other")
    await pass_time(house)
    left = (await house.ask("GET", "/api/v1/namespaces/other/configmaps/child")).json
    assert left["metadata"]["ownerReferences"] == [reference(keeper)]
    assert [event["reason"] for event in await events(house, "other")] == ["OwnerRefInvalidNamespace"]


async def test_object_without_a_namespace_that_refers_into_one_stays_and_is_warned_of_in_default(house: House) -> None:
    owner = await make(house, "owner", namespace="other")
    child = {"metadata": {"name": "child", "ownerReferences": [reference(owner)]}, "value": 1}
    await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", child)
    await pass_time(house)
    assert (await house.ask("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/child")).code == 200
    (event,) = await events(house, "default")
    assert (event["reason"], event["involvedObject"]["name"]) == ("OwnerRefInvalidNamespace", "child")
    assert event["message"].endswith('does not exist in namespace ""')


async def test_owner_that_is_nowhere_is_not_warned_of(house: House) -> None:
    owner = await make(house, "owner")
    await make(house, "child", {**reference(owner), "uid": "another"}, namespace="other")
    await make(house, "cousin", {**reference(owner), "name": "nobody"}, namespace="other")
    await pass_time(house)
    assert (await house.ask("GET", "/api/v1/namespaces/other/configmaps")).json["items"] == []
    assert await events(house, "other") == []


async def test_ordinary_cascade_looks_for_nobody_elsewhere(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    elsewhere = World.elsewhere

    async def noted(self: World, sought: Any) -> list[bool]:
        asked.extend(sought)
        return await elsewhere(self, sought)

    monkeypatch.setattr(World, "elsewhere", noted)
    owner = await make(house, "owner")
    child = await make(house, "child", reference(owner))
    await make(house, "grandchild", reference(child))
    await pass_time(house)
    await house.ask("DELETE", "/api/v1/namespaces/default/configmaps/owner")
    await pass_time(house)
    assert [
        one["metadata"]["name"] for one in (await house.ask("GET", "/api/v1/namespaces/default/configmaps")).json["items"]
    ] == []
    assert asked == []
    await make(house, "bad", reference(owner, uid="never-there"))
    await pass_time(house)
    assert len(asked) == 1  # so it would have been noticed


# --- controllers that lag ---


async def make_deployment(house: House) -> Any:
    """A deployment whose controller has seen its first generation."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = await house.create("apis/apps/v1/deployments", "default", {"metadata": {"name": "web"}, "spec": spec})
    return await observe(house, made)


async def observe(house: House, made: Any) -> Any:
    made["status"] = {"observedGeneration": made["metadata"]["generation"]}
    told = await house.ask("PUT", f"{DEPLOYMENTS}/web/status", made)
    assert told.code == 200, told.body
    return told.json


async def is_there(house: House) -> bool:
    return (await house.ask("GET", f"{DEPLOYMENTS}/web")).code == 200


async def delete(house: House) -> Any:
    told = await house.ask("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Foreground"})
    assert told.code == 200
    await house.turns()
    return (await house.ask("GET", f"{DEPLOYMENTS}/web")).json


async def test_owner_is_held_until_its_controller_has_seen_the_deletion(house: House) -> None:
    await make_deployment(house)
    going = await delete(house)
    assert going["metadata"]["generation"] > going["status"]["observedGeneration"]
    await pass_time(house, 0.5)
    assert await is_there(house)
    await observe(house, going)
    await house.turns()
    assert not await is_there(house)
    assert await events(house, "default") == []


async def test_owner_whose_controller_does_not_see_the_deletion_goes_when_patience_is_over_and_that_is_told(house: House) -> None:
    made = await make_deployment(house)
    await delete(house)
    await pass_time(house, 0.9)
    assert await is_there(house)
    assert await events(house, "default") == []
    await pass_time(house, 0.2)
    assert not await is_there(house)
    (event,) = await events(house, "default")
    assert (event["type"], event["reason"], event["involvedObject"]["uid"]) == (
        "Warning",
        "ControllerLags",
        made["metadata"]["uid"],
    )


async def test_patience_with_an_owner_is_not_that_with_the_last_one_of_its_name(house: House) -> None:
    await make_deployment(house)
    going = await delete(house)
    await pass_time(house, 0.5)
    del going["metadata"]["finalizers"]
    assert (await house.ask("PUT", f"{DEPLOYMENTS}/web", going)).code == 200
    assert not await is_there(house)
    await make_deployment(house)
    await delete(house)
    await pass_time(house, 0.7)  # the patience with the first would be over now
    assert await is_there(house)
    await pass_time(house, 0.4)
    assert not await is_there(house)
