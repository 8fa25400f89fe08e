"""The status of a StatefulSet."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.statefulsets import ordinals


class Revisions(NamedTuple):
    """The names of the current (old) and the update (desired) revision, and the collision count."""

    current: str
    update: str
    collisions: int | None


def status_of(stateful_set: Object, pods: list[Object], revisions: Revisions, *, now: float) -> Object:
    """Returns the status of a StatefulSet that has these pods."""
    min_ready_seconds = stateful_set["spec"].get("minReadySeconds") or 0
    remaining_revisions = [ordinals.pod_revision(pod) for pod in pods if not is_deleting(pod)]
    ready = [pod for pod in pods if ordinals.is_running_and_ready(pod)]
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": remaining_revisions.count(revisions.current),
        "updatedReplicas": remaining_revisions.count(revisions.update),
    }
    current_revision = revisions.current
    if _is_complete(stateful_set, len(pods), counts):
        current_revision, counts["currentReplicas"] = revisions.update, counts["updatedReplicas"]
    status: Object = {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": len(pods),
        "availableReplicas": sum(pod_template.seconds_until_available(pod, min_ready_seconds, now) == 0 for pod in ready),
        **{name: count for name, count in counts.items() if count},
        "currentRevision": current_revision,
        "updateRevision": revisions.update,
        "collisionCount": revisions.collisions or 0,
    }
    conditions = (stateful_set.get("status") or {}).get("conditions")
    return {**status, **({"conditions": conditions} if conditions else {})}


def next_availability(stateful_set: Object, pods: list[Object], now: float) -> float | None:
    """Returns in how many seconds the next ready pod becomes available."""
    waits = [pod_template.seconds_until_available(pod, stateful_set["spec"].get("minReadySeconds") or 0, now) for pod in pods]
    return min((wait for wait in waits if wait), default=None)


def _is_complete(stateful_set: Object, pod_count: int, counts: dict[str, int]) -> bool:
    """Returns whether a rolling update is complete."""
    if (stateful_set["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
        return False
    return {pod_count, counts["updatedReplicas"], counts["readyReplicas"]} == {stateful_set["spec"]["replicas"]}
