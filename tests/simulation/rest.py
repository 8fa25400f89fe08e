"""What must hold when nobody does anything any more and nothing goes wrong: what should be gone is gone, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from probate.server import index, wire
from probate.store.sqlite.store import SqliteStore
from simulation.history import COLLECTORS, History, Version
from simulation.world import Standing, World

_DOUBT = {Standing.UNKNOWN, Standing.PRESUMED_DEAD, Standing.OUT_OF_REACH}
_PODS = "objects/pods/"
_COUNTED = (_PODS, "objects/replicasets.apps/", "objects/replicationcontrollers/")
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/-/"


def left_undone(world: World) -> Iterator[str]:
    """What the collector should have done, in words."""
    excused = _excused(world)
    for key, found in world.objects.items():
        standings = set(world.standings(found).values())
        if key in excused:
            continue
        if found.is_deleting:
            held = [one for one in found.metadata.finalizers if one not in COLLECTORS]
            blockers = [one for one, dependent in world.dependents(found) if dependent.blocks(found.metadata.uid)]
            why = f"held by {held}, blocked by {blockers}"
            yield f"{key} is still being deleted, {why}: {found.metadata}"
        elif standings and not standings & _DOUBT and standings != {Standing.SOLID}:
            yield f"{key} was left as it is although its owners are {sorted(one.value for one in standings)}: {found.metadata}"


def _excused(world: World) -> set[str]:
    """What may be left: whoever has an owner of whom nobody can say anything is kept, and holds whom it blocks.

    Whoever comes to an owner that waits is left alone as long as something else holds that owner.
    """
    excused = {
        key for key, found in world.objects.items() if not found.is_deleting and _DOUBT & set(world.standings(found).values())
    }
    todo = list(excused)
    while todo:
        for owner in world.blocked_by(world.objects[todo.pop()]):
            if owner not in excused and _waits_only(world.objects[owner]):
                excused.add(owner)
                todo.append(owner)
    held = {world.objects[key].metadata.uid for key in excused if world.objects[key].is_waiting}
    late = {world.by_uid[dependent] for dependent, owner in world.late if owner in held and dependent in world.by_uid}
    excused |= {key for key in late if not world.objects[key].is_deleting}
    return excused | {f"{_DEFINITIONS}{key.split('/')[1]}" for key in excused}


def _waits_only(found: Version) -> bool:
    return found.is_waiting and COLLECTORS.issuperset(found.metadata.finalizers)


def miscounted(history: History) -> Iterator[str]:
    """ReplicaSets and ReplicationControllers that have more or fewer pods than they want, however many have made them."""
    objects = {key: msgspec.json.decode(value) for key, (_, value) in history.values.items() if key.startswith(_COUNTED)}
    pods = Counter(
        one["uid"]
        for key, found in objects.items()
        if key.startswith(_PODS) and _is_active(found)
        for one in found["metadata"].get("ownerReferences") or ()
        if one.get("controller")
    )
    for key, found in objects.items():
        if not key.startswith(_PODS) and "deletionTimestamp" not in found["metadata"]:
            wanted, there = found["spec"]["replicas"], pods[found["metadata"]["uid"]]
            if wanted != there:
                yield f"{key} has {there} pods, and wants {wanted}"


def _is_active(pod: dict[str, Any]) -> bool:
    is_over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not is_over and "deletionTimestamp" not in pod["metadata"]


def entries_wrong(history: History, store: SqliteStore) -> list[str]:
    """Index entries that should not be there, or are missing."""
    there = {key for (key,) in store.database.reader.execute("SELECT key FROM entry")}
    expected = {
        entry
        for key, (_, value) in history.values.items()
        if not key.startswith("objects/positions.probate.dev/")
        for entry in index.entries(key, wire.meta(value))
    }
    return sorted(there ^ expected)
