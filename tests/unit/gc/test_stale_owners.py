"""Waiting owners that have changed since the collector last saw them."""

from __future__ import annotations

from collections.abc import Sequence

from probate.api.object_keys import object_key
from probate.api.ownership import Change, Item, RemoveOwnerReferences
from probate.controllers.manager import store_backend
from probate.gc.backends.store.store_backend import StoreBackend
from probate.gc.resolver import Resolver
from probate.gc.workqueue import WorkQueue
from probate.server.context import ServerContext
from support.in_process_server import running
from support.virtual_time_server import MERGE_PATCH

FOLDER = "/api/v1/namespaces/default/configmaps"


class ChangingOwner(StoreBackend):
    """While the collector asks about other objects, the owner changes."""

    def __init__(self, api: ServerContext, queue: WorkQueue) -> None:
        vars(self).update(vars(store_backend(api)))
        self._queue = queue

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        self._queue.forget_waiting([object_key("configmaps", "default", "owner")])
        return await super().have_dependents(owners)


async def test_an_owner_that_changed_while_others_were_read_was_not_expanded() -> None:
    async with running(collects=False) as house:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {**reference_to("owner", owner["metadata"]["uid"]), "blockOwnerDeletion": True}
        await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
        await house.create("configmaps", "default", {"metadata": {"name": "other"}})
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        queue = WorkQueue()
        backend = ChangingOwner(house.api, queue)
        waiting, other = await backend.get_items(
            [object_key("configmaps", "default", "owner"), object_key("configmaps", "default", "other")]
        )
        assert waiting is not None
        queue.add_change(Change(waiting.revision, None, waiting))
        queue.add_change(Change(waiting.revision + 1, other, None))
        assert list(await Resolver(backend, queue).take_objects()) == [object_key("configmaps", "default", "dependent")]


async def test_an_owner_counted_as_dangling_while_a_removed_namesake_was_still_known() -> None:
    async with running(collects=False) as house:
        queue = WorkQueue()
        backend = store_backend(house.api)
        await house.create("configmaps", "default", {"metadata": {"name": "owner", "finalizers": ["example.com/x"]}})
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        [namesake] = await backend.get_items([object_key("configmaps", "default", "owner")])
        assert namesake is not None
        await house.request("PATCH", f"{FOLDER}/owner", {"metadata": {"finalizers": None}}, media=MERGE_PATCH)
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        references = [reference_to("gone", "no-such-uid"), reference_to("owner", owner["metadata"]["uid"])]
        await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": references}})
        queue.add_change(Change(namesake.revision, None, namesake))
        [action] = await Resolver(backend, queue).decide({object_key("configmaps", "default", "dependent"): 1})
        assert isinstance(action, RemoveOwnerReferences)
        assert action.uids == {"no-such-uid"}


def reference_to(name: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}


async def test_a_dependent_was_deleted_because_another_referred_to_a_removed_namesake_of_its_owner() -> None:
    """Both were resolved together. The namesake was still known as waiting, so the name was not read and the owner not found."""
    async with running(collects=False) as house:
        queue = WorkQueue()
        backend = store_backend(house.api)
        await house.create("configmaps", "default", {"metadata": {"name": "owner", "finalizers": ["example.com/x"]}})
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        [namesake] = await backend.get_items([object_key("configmaps", "default", "owner")])
        assert namesake is not None
        await house.request("PATCH", f"{FOLDER}/owner", {"metadata": {"finalizers": None}}, media=MERGE_PATCH)
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        for name, uid in (("stray", namesake.meta.uid), ("dependent", owner["metadata"]["uid"])):
            meta = {"name": name, "ownerReferences": [reference_to("owner", uid)]}
            await house.create("configmaps", "default", {"metadata": meta})
        queue.add_change(Change(namesake.revision, None, namesake))
        keys = [object_key("configmaps", "default", name) for name in ("stray", "dependent")]
        actions = await Resolver(backend, queue).decide(dict.fromkeys(keys, 1))
        assert [action.item.key for action in actions] == keys[:1]
