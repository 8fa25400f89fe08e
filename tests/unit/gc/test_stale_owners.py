"""Owners that are not as they were last seen."""

from __future__ import annotations

from collections.abc import Sequence

from probate.api.ownership import Change, Drop, Item
from probate.gc.backends.store.backend import World
from probate.gc.resolver import Looking
from probate.gc.workqueue import Pending
from probate.server.context import Api
from support.in_process_server import running
from support.virtual_time_server import MERGE_PATCH

FOLDER = "/api/v1/namespaces/default/configmaps"
PREFIX = "objects/configmaps/default/"


class Doubting(World):
    """Whoever asks about others learns that the owner has changed."""

    def __init__(self, api: Api, pending: Pending) -> None:
        super().__init__(api)
        self._in_doubt = pending

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        self._in_doubt.doubt([f"{PREFIX}owner"])
        return await super().have_dependents(owners)


async def test_an_owner_that_was_doubted_while_others_were_asked_about_was_not_looked_at_any_more() -> None:
    async with running(collects=False) as house:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {**about("owner", owner["metadata"]["uid"]), "blockOwnerDeletion": True}
        await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": [reference]}})
        await house.create("configmaps", "default", {"metadata": {"name": "other"}})
        await house.ask("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        pending = Pending()
        world = Doubting(house.api, pending)
        waiting, other = await world.items([f"{PREFIX}owner", f"{PREFIX}other"])
        assert waiting is not None
        pending.note(Change(waiting.revision, None, waiting))
        pending.note(Change(waiting.revision + 1, other, None))
        assert list(await Looking(world, pending).gather()) == [f"{PREFIX}dependent"]


async def test_an_owner_was_taken_for_gone_while_a_namesake_that_went_was_still_thought_to_be_there() -> None:
    async with running(collects=False) as house:
        pending = Pending()
        world = World(house.api)
        await house.create("configmaps", "default", {"metadata": {"name": "owner", "finalizers": ["example.com/x"]}})
        await house.ask("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        [namesake] = await world.items([f"{PREFIX}owner"])
        assert namesake is not None
        await house.ask("PATCH", f"{FOLDER}/owner", {"metadata": {"finalizers": None}}, media=MERGE_PATCH)
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        references = [about("gone", "no-such-uid"), about("owner", owner["metadata"]["uid"])]
        await house.create("configmaps", "default", {"metadata": {"name": "dependent", "ownerReferences": references}})
        pending.note(Change(namesake.revision, None, namesake))
        [action] = await Looking(world, pending).decide({f"{PREFIX}dependent": 1})
        assert isinstance(action, Drop)
        assert action.uids == {"no-such-uid"}


def about(name: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
