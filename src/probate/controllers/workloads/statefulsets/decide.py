"""Decides the next changes to the pods of a StatefulSet, as a pure function of the existing pods.

With OrderedReady, a pod is created only when all pods before it are available, and deleted only when all pods after it are gone:
one change at a time. With Parallel no pod waits. Once all desired pods are in place, those of the old revision are replaced,
highest ordinal first.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import int_or_percent, pod_template
from probate.controllers.workloads.statefulsets import ordinals
from probate.controllers.workloads.statefulsets.ordinals import is_available, ordinal


class StatefulSetPods(NamedTuple):
    """The pods of a StatefulSet: the desired ones by ordinal, and the condemned ones (surplus), highest ordinal first."""

    stateful_set: Object
    replicas: dict[int, Object]
    condemned: list[Object]


class PodChanges(NamedTuple):
    """The ordinals to create, the pods to delete, and the existing pods to maintain."""

    creates: list[int]
    deletes: list[Object]
    updates: list[Object]


def classify_pods(stateful_set: Object, pods: list[Object]) -> StatefulSetPods:
    """Returns the pods, divided into desired and condemned ones."""
    indexes, replicas = ordinals.desired_ordinals(stateful_set), dict[int, Object]()
    condemned: list[tuple[int, Object]] = []
    for pod in pods:
        index = ordinal(pod, stateful_set)
        if index is not None and index in indexes:
            replicas[index] = pod
        elif index is not None:
            condemned.append((index, pod))
    condemned.sort(key=lambda entry: entry[0], reverse=True)
    return StatefulSetPods(stateful_set, replicas, [pod for _, pod in condemned])


def plan_changes(pods: StatefulSetPods, update_revision: str, now: float) -> PodChanges:
    """Returns the next changes. `update_revision` is the name of the revision that pods should have."""
    changes, is_ordered = PodChanges([], [], []), ordinals.is_ordered(pods.stateful_set)
    for index in ordinals.desired_ordinals(pods.stateful_set):
        if not _plan_replica(pods, index, changes, now=now) and is_ordered:
            return changes
    changes.updates.extend(pods.condemned)
    if _plan_scale_down(pods, changes, now, is_ordered=is_ordered):
        changes.deletes.extend(pods_to_update(pods, update_revision, now))
    return changes


def _plan_replica(pods: StatefulSetPods, index: int, changes: PodChanges, *, now: float) -> bool:
    """Handles one desired ordinal. Returns whether the ordinals after it need not wait."""
    pod = pods.replicas.get(index)
    if pod is None:
        changes.creates.append(index)
        return False
    if pod_template.is_finished(pod):
        changes.deletes.extend([] if is_deleting(pod) else [pod])  # its replacement is created once it is gone (SS-3)
        return False
    changes.updates.append(pod)
    return is_available(pod, pods.stateful_set, now)


def _plan_scale_down(pods: StatefulSetPods, changes: PodChanges, now: float, *, is_ordered: bool) -> bool:
    """Deletes condemned pods. Returns whether none is left, or no other step waits for them."""
    if not is_ordered:
        changes.deletes.extend(pod for pod in pods.condemned if not is_deleting(pod))
        return True
    if not pods.condemned:
        return True
    last, earlier = pods.condemned[0], pods.condemned[1:]
    # An unavailable pod is not deleted while a pod before it is unavailable too: the earlier one has to recover first.
    is_blocked = not is_available(last, pods.stateful_set, now) and not all(
        is_available(pod, pods.stateful_set, now) for pod in earlier
    )
    if not is_deleting(last) and not is_blocked:
        changes.deletes.append(last)
    return False


def pods_to_update(pods: StatefulSetPods, update_revision: str, now: float) -> list[Object]:
    """Returns the pods to delete so that they are created again in the update revision.

    At most `maxUnavailable` pods may be unavailable at once. An outdated pod that is unavailable anyway does not count before it is
    deleted: otherwise a broken pod could block its own replacement.
    """
    strategy = pods.stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    indexes = ordinals.desired_ordinals(pods.stateful_set)
    missing = sum(index not in pods.replicas or not is_available(pods.replicas[index], pods.stateful_set, now) for index in indexes)
    outdated_pods = [
        pods.replicas[index]
        for index in sorted(pods.replicas, reverse=True)
        if index >= indexes.start + partition(pods.stateful_set)
    ]
    outdated_pods = [
        pod
        for pod in outdated_pods
        if ordinals.pod_revision(pod) != update_revision and not is_deleting(pod) and not pod_template.is_finished(pod)
    ]
    unavailable_outdated = sum(not is_available(pod, pods.stateful_set, now) for pod in outdated_pods)
    unavailable, limit, result = missing - unavailable_outdated, max_unavailable(pods.stateful_set), list[Object]()
    for pod in outdated_pods:
        if is_available(pod, pods.stateful_set, now):
            if missing < limit:
                result.append(pod)
                missing, unavailable = missing + 1, unavailable + 1
        elif unavailable < limit:
            result.append(pod)
            unavailable += 1
    return result


def partition(stateful_set: Object) -> int:
    """Returns the ordinal offset below which pods stay in the old revision."""
    rolling = (stateful_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def max_unavailable(stateful_set: Object) -> int:
    """Returns how many pods may be unavailable during an update: at least one, otherwise the update would never end."""
    rolling = (stateful_set["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return max(1, int_or_percent.round_down(rolling.get("maxUnavailable", 1), stateful_set["spec"]["replicas"]))


def uses_current_revision(stateful_set: Object, index: int) -> bool:
    """Returns whether a pod of this ordinal is created in the current (old) revision."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return False
    first = ordinals.desired_ordinals(stateful_set).start
    if strategy.get("rollingUpdate") is None:
        return index < first + int((stateful_set.get("status") or {}).get("currentReplicas") or 0)
    return index < first + partition(stateful_set)
