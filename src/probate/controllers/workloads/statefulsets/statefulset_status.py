"""What a StatefulSet says of itself."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.statefulsets import ordinals


class Versions(NamedTuple):
    """The names of the revision that is being left, and of the one that is wanted."""

    current: str
    updated: str
    collisions: int | None


def status_of(set_: Object, ours: list[Object], versions: Versions, now: float) -> Object:
    """The status of a set that has these pods."""
    min_ready = set_["spec"].get("minReadySeconds") or 0
    staying = [ordinals.revision(pod) for pod in ours if not is_deleting(pod)]
    serving = [pod for pod in ours if ordinals.is_running_and_ready(pod)]
    counts = {
        "readyReplicas": len(serving),
        "currentReplicas": staying.count(versions.current),
        "updatedReplicas": staying.count(versions.updated),
    }
    current = versions.current
    if _is_complete(set_, len(ours), counts):
        current, counts["currentReplicas"] = versions.updated, counts["updatedReplicas"]
    status: Object = {
        "observedGeneration": set_["metadata"]["generation"],
        "replicas": len(ours),
        "availableReplicas": sum(pod_template.available_in(pod, min_ready, now) == 0 for pod in serving),
        **{name: count for name, count in counts.items() if count},
        "currentRevision": current,
        "updateRevision": versions.updated,
        "collisionCount": versions.collisions or 0,
    }
    told = (set_.get("status") or {}).get("conditions")
    return {**status, **({"conditions": told} if told else {})}


def next_availability(set_: Object, ours: list[Object], now: float) -> float | None:
    """In how many seconds the next pod that is ready counts as available."""
    waits = [pod_template.available_in(pod, set_["spec"].get("minReadySeconds") or 0, now) for pod in ours]
    return min((wait for wait in waits if wait), default=None)


def _is_complete(set_: Object, number: int, counts: dict[str, int]) -> bool:
    """Whether a rolling update is over."""
    if (set_["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
        return False
    return {number, counts["updatedReplicas"], counts["readyReplicas"]} == {set_["spec"]["replicas"]}
