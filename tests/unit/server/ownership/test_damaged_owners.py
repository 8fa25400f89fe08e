"""A damaged owner is unresolvable, never dangling, even if it is repaired while it is resolved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probate.api.object_keys import Key
from probate.api.ownership import OwnerState
from probate.controllers.manager import store_backend
from probate.core.clock import SystemClock
from probate.store.contract import DamagedRecord, ReadResult, Record
from probate.store.sqlite.store import open_file
from support import stored_value_damage
from support.in_process_server import running

FOLDER = "objects/configmaps/default"


class Repaired:
    """A store in which the damaged value is repaired right after its first read."""

    def __init__(self, inner: Any, value: bytes) -> None:
        self._inner, self._value, self._was_read = inner, value, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        found: list[ReadResult] = await self._inner.read_many(keys)
        damaged = [one for one in found if isinstance(one, DamagedRecord)]
        if damaged and self._was_read:
            return [Record(one.key, self._value, one.revision) if isinstance(one, DamagedRecord) else one for one in found]
        self._was_read = bool(damaged)
        return found


async def test_damaged_owner_that_was_repaired_during_resolution_counted_as_dangling(quick_path: Path) -> None:
    place = stored_value_damage.SqliteFile(quick_path)
    async with running(await open_file(place.path), clock=SystemClock(), collects=False) as server:
        owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await server.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [reference]}})
    value = place.value(f"{FOLDER}/owner")
    stored_value_damage.flip_bit(place, f"{FOLDER}/owner")
    async with running(await open_file(place.path), clock=SystemClock(), collects=False) as server:
        world = store_backend(server.api)
        world._store = Repaired(server.store, value)
        [child] = await world.get_items([Key(f"{FOLDER}/child")])
        assert child is not None
        [seen] = await world.resolve_owners([(child, child.meta.owner_references[0])])
        assert seen.state is OwnerState.UNKNOWN
