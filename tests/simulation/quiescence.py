"""The checks of the final state, without clients and faults: everything that should be collected is gone, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from probate.server.codec import object_codec
from probate.server.storage import index_entries
from probate.store.sqlite.store import SqliteStore
from simulation.history import COLLECTORS, History, Version
from simulation.object_graph import ObjectGraph, OwnerState
from simulation.tenants import TENANT

_DOUBT = {OwnerState.UNKNOWN, OwnerState.PRESUMED_DEAD, OwnerState.OUT_OF_REACH}
_PODS = "objects/pods/"
_COUNTED = (_PODS, "objects/replicasets.apps/", "objects/replicationcontrollers/")
_JOB_TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of pods that their Job has not counted yet."""
_OWN_FINALIZERS = COLLECTORS | {"kubezoo.io/tenant"}
"""Those that hold an object only as long as it waits: a Tenant loses its own last."""
_NAMESPACES = "objects/namespaces/-/"
_DEFINITIONS = "objects/customresourcedefinitions.apiextensions.k8s.io/-/"


def unfinished_work(world: ObjectGraph, damaged: Collection[str] = ()) -> Iterator[str]:
    """Describes what the collector should have done."""
    excused = _excused(world, damaged)
    for key, found in world.objects.items():
        owner_states = set(world.owner_states(found).values())
        if key in excused:
            continue
        if found.is_deleting:
            held = [one for one in found.metadata.finalizers if one not in COLLECTORS]
            blockers = [one for one, dependent in world.dependents(found) if dependent.blocks(found.metadata.uid)]
            why = f"held by {held}, blocked by {blockers}"
            yield f"{key} is still being deleted, {why}: {found.metadata}"
        elif owner_states and not owner_states & _DOUBT and owner_states != {OwnerState.SOLID}:
            yield f"{key} was left as it is although its owners are {sorted(one.value for one in owner_states)}: {found.metadata}"


def _excused(world: ObjectGraph, damaged: Collection[str]) -> set[str]:
    """Returns the keys that may remain: an object with an unresolvable owner is kept, and holds the owners that it blocks.

    A dependent that was added to a waiting owner is left alone as long as something else holds that owner. A damaged object stays,
    with its dependents; it holds its orphaning owners, its namespace, its CRD and its tenant.
    """
    excused = {
        key for key, found in world.objects.items() if not found.is_deleting and _DOUBT & set(world.owner_states(found).values())
    }
    excused.update(_held_by_damage(world, damaged))
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


def _held_by_damage(world: ObjectGraph, damaged: Collection[str]) -> Iterator[str]:
    """Yields the damaged objects, and what stays as long as they do."""
    for key in damaged:
        found = world.objects[key]
        yield key
        yield from (
            one
            for one, dependent in world.dependents(found)
            if not dependent.is_deleting or _JOB_TRACKING in dependent.metadata.finalizers
        )
        yield from (owner for owner in world.owners(found) if world.objects[owner].is_orphaning)
        if (namespace := f"{_NAMESPACES}{found.metadata.namespace}") in world.objects:
            yield namespace
        yield from (tenant for name in {found.tenant} if (tenant := TENANT.key("", name)) in world.objects)


def _waits_only(found: Version) -> bool:
    return found.is_waiting and _OWN_FINALIZERS.issuperset(found.metadata.finalizers)


def wrong_replica_counts(history: History, world: ObjectGraph) -> Iterator[str]:
    """Describes ReplicaSets and ReplicationControllers whose number of pods is wrong, however many leaders created pods.

    Not checked are damaged ones, those with damaged pods, and those in a deleting namespace that a damaged object holds.
    """
    objects = {key: msgspec.json.decode(value) for key, (_, value) in history.values.items() if key.startswith(_COUNTED)}
    pods = Counter(
        one["uid"]
        for key, found in objects.items()
        if key.startswith(_PODS) and _is_active(found)
        for one in found["metadata"].get("ownerReferences") or ()
        if one.get("controller")
    )
    uncounted = {
        one["uid"]
        for key in history.damaged
        if key.startswith(_PODS)
        for one in objects[key]["metadata"].get("ownerReferences") or ()
    }
    held = {key.split("/")[2] for key in history.damaged}
    closed = {name for name in held if name != "-" and world.objects[_NAMESPACES + name].is_deleting}
    for key, found in objects.items():
        if key in history.damaged or found["metadata"]["uid"] in uncounted or key.split("/")[2] in closed:
            continue
        if not key.startswith(_PODS) and "deletionTimestamp" not in found["metadata"]:
            wanted, there = found["spec"]["replicas"], pods[found["metadata"]["uid"]]
            if wanted != there:
                yield f"{key} has {there} pods, and wants {wanted}"


def _is_active(pod: dict[str, Any]) -> bool:
    is_over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not is_over and "deletionTimestamp" not in pod["metadata"]


def wrong_index_entries(history: History, store: SqliteStore, of_tenants: set[str]) -> list[str]:
    """Returns the index entries that are missing, or should not exist."""
    there = {key for (key,) in store.database.reader.execute("SELECT key FROM entry")}
    expected = of_tenants | {
        entry
        for key, (_, value) in history.values.items()
        if not key.startswith("objects/positions.probate.dev/")
        for entry in index_entries.entries_of(key, object_codec.meta(value))
    }
    return sorted(there ^ expected)
