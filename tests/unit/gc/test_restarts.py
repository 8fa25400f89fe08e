"""A collector that takes up another's work: all it knows is how far that one got, and what is in the store."""

from __future__ import annotations

from typing import Any

import orjson

from probate.gc.backends.store.backend import World
from probate.store import contract
from probate.store.sqlite.store import open_memory
from support.virtual_time_server import Cluster

FOLDER = "/api/v1/namespaces/default"
POD = "objects/pods/default/pod"


async def of_one_that_stopped() -> Cluster:
    """The cluster, whose collector does not run."""
    house = Cluster(await open_memory())
    async with house.running():
        await house.settle()
    return house


async def are_there(house: Cluster, *paths: str) -> list[bool]:
    return [(await house.ask("GET", f"{FOLDER}/{path}")).code == 200 for path in paths]


async def test_owner_that_was_held_when_its_collector_stopped_stayed_for_ever() -> None:
    house = await of_one_that_stopped()
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    await house.ask("DELETE", f"{FOLDER}/configmaps/owner", {"propagationPolicy": "Foreground"})
    await World(house.api).note_position(await house.store.revision())  # it was about to let the owner go
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
    house = Cluster(house.store)
    async with house.running():
        await house.settle()
        assert await are_there(house, "configmaps/owner", "configmaps/dependent") == [False, False]
    await house.store.close()


async def test_pod_that_was_marked_and_not_removed_stayed_for_ever() -> None:
    house = await of_one_that_stopped()
    await mark(house, await house.create("pods", "default", pod()))
    house = Cluster(house.store)
    async with house.running():
        await house.settle()
        assert await are_there(house, "pods/pod") == [False]
    await house.store.close()


async def test_pod_whose_removal_failed_after_it_was_marked_is_tried_again() -> None:
    house = await of_one_that_stopped()
    marked = await house.create("pods", "default", pod())
    house = Cluster(house.store)
    async with house.running():
        await mark(house, marked)
        assert await are_there(house, "pods/pod") == [True], "whoever marked it has a moment to remove it"
        await house.settle()
        assert await are_there(house, "pods/pod") == [False]
    await house.store.close()


def pod() -> Any:
    return {"metadata": {"name": "pod"}, "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}}


async def mark(house: Cluster, made: Any) -> None:
    """What the first half of a delete without grace leaves behind."""
    meta = {**made["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    del meta["resourceVersion"]
    found = await house.store.read(POD)
    assert found is not None
    value = orjson.dumps({**orjson.loads(found.value), "metadata": meta})
    await house.store.commit(contract.update(POD, value, revision=found.revision))
