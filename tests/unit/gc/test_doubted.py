"""An owner that turns out not to be as it was last seen, in the middle of a turn."""

from __future__ import annotations

from collections.abc import Sequence

from in_process import running
from probate.gc.looking import Looking
from probate.gc.pending import Pending
from probate.machinery.ownership import Change, Item
from probate.server.api import Api
from probate.server.world import World

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
        about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        reference = {**about, "blockOwnerDeletion": True}
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
