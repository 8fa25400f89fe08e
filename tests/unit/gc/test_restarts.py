"""A collector that continues another's work knows only the saved position and what is in the store."""

from __future__ import annotations

from typing import Any

import orjson

from probate.controllers.manager import store_backend
from probate.store import contract
from probate.store.sqlite.store import open_memory
from support.virtual_time_server import VirtualTimeServer

FOLDER = "/api/v1/namespaces/default"
POD = "objects/pods/default/pod"


async def cluster_without_collector() -> VirtualTimeServer:
    """Returns a cluster whose collector does not run."""
    house = VirtualTimeServer(await open_memory())
    async with house.running():
        await house.settle()
    return house


async def exist(house: VirtualTimeServer, *paths: str) -> list[bool]:
    return [(await house.request("GET", f"{FOLDER}/{path}")).code == 200 for path in paths]


async def test_owner_that_was_blocked_when_its_collector_stopped_stayed_forever() -> None:
    house = await cluster_without_collector()
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    await house.request("DELETE", f"{FOLDER}/configmaps/owner", {"propagationPolicy": "Foreground"})
    await store_backend(house.api).save_position(await house.store.revision())  # it was about to let the owner go
    uid = owner["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
    house = VirtualTimeServer(house.store)
    async with house.running():
        await house.settle()
        assert await exist(house, "configmaps/owner", "configmaps/dependent") == [False, False]
    await house.store.close()


async def test_pod_that_was_marked_and_not_removed_stayed_forever() -> None:
    house = await cluster_without_collector()
    await mark(house, await house.create("pods", "default", pod()))
    house = VirtualTimeServer(house.store)
    async with house.running():
        await house.settle()
        assert await exist(house, "pods/pod") == [False]
    await house.store.close()


async def test_failed_removal_of_a_marked_pod_is_retried() -> None:
    house = await cluster_without_collector()
    marked = await house.create("pods", "default", pod())
    house = VirtualTimeServer(house.store)
    async with house.running():
        await mark(house, marked)
        assert await exist(house, "pods/pod") == [True], "whoever marked it has a moment to remove it"
        await house.settle()
        assert await exist(house, "pods/pod") == [False]
    await house.store.close()


def pod() -> Any:
    return {"metadata": {"name": "pod"}, "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}}


async def mark(house: VirtualTimeServer, made: Any) -> None:
    """Writes what the first half of a delete without a grace period leaves behind."""
    meta = {**made["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    del meta["resourceVersion"]
    found = await house.store.read(POD)
    assert found is not None
    value = orjson.dumps({**orjson.loads(found.value), "metadata": meta})
    await house.store.commit(contract.update(POD, value, revision=found.revision))
