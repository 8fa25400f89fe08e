"""What a DaemonSet says of itself."""

from __future__ import annotations

from probate.client.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.daemonsets.decide import Place, Test, is_new


def status_of(set_: Object, found: list[Place], hash_: str, collisions: int | None, is_available: Test) -> Object:
    """The status of a set that has these pods on its nodes."""
    wanted = [one for one in found if one.verdict.should_run]
    manned = [one for one in wanted if one.pods]
    available = sum(any(map(is_available, one.pods)) for one in manned)
    counts = {
        "updatedNumberScheduled": sum(any(is_new(pod, hash_) for pod in one.pods) for one in manned),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
    }
    told = (set_.get("status") or {}).get("conditions")
    return {
        "currentNumberScheduled": len(manned),
        "numberMisscheduled": sum(bool(one.pods) and not one.verdict.should_run for one in found),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(any(map(pod_template.is_ready, one.pods)) for one in manned),
        "observedGeneration": set_["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
        **({"collisionCount": collisions} if collisions is not None else {}),
        **({"conditions": told} if told else {}),
    }
