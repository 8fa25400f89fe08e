"""A damaged owner is unknown, never gone, whatever happens to it while it is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probate.api.ownership import Standing
from probate.core.clock import SystemClock
from probate.gc.backends.store.backend import World
from probate.store.contract import Damaged, Found, Record
from probate.store.sqlite.store import open_file
from support import stored_value_damage
from support.in_process_server import running

FOLDER = "objects/configmaps/default"


class Repaired:
    """A store in which somebody puts the damaged value right as soon as it was read once."""

    def __init__(self, inner: Any, value: bytes) -> None:
        self._inner, self._value, self._was_read = inner, value, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read_many(self, keys: Sequence[str]) -> list[Found]:
        found: list[Found] = await self._inner.read_many(keys)
        damaged = [one for one in found if isinstance(one, Damaged)]
        if damaged and self._was_read:
            return [Record(one.key, self._value, one.revision) if isinstance(one, Damaged) else one for one in found]
        self._was_read = bool(damaged)
        return found


async def test_damaged_owner_that_was_repaired_meanwhile_counted_as_gone(quick_path: Path) -> None:
    place = stored_value_damage.SqliteFile(quick_path)
    async with running(await open_file(place.path), clock=SystemClock(), collects=False) as house:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
    value = place.value(f"{FOLDER}/owner")
    stored_value_damage.flip(place, f"{FOLDER}/owner")
    async with running(await open_file(place.path), clock=SystemClock(), collects=False) as house:
        world = World(house.api)
        world._store = Repaired(house.store, value)
        [child] = await world.items([f"{FOLDER}/child"])
        assert child is not None
        [seen] = await world.owners([(child, child.meta.owner_references[0])])
        assert seen.standing is Standing.UNKNOWN
