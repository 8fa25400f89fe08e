"""The status of a DaemonSet."""

from __future__ import annotations

from probate.api.objects import Object
from probate.controllers.workloads import pod_template
from probate.controllers.workloads.daemonsets.decide import NodePods, PodPredicate, is_updated


def status_of(
    daemon_set: Object, nodes: list[NodePods], update_hash: str, *, collisions: int | None, is_available: PodPredicate
) -> Object:
    """Returns the status of a DaemonSet that has these pods on its nodes."""
    desired = [node for node in nodes if node.placement.should_run]
    scheduled = [node for node in desired if node.pods]
    available = sum(any(map(is_available, node.pods)) for node in scheduled)
    counts = {
        "updatedNumberScheduled": sum(any(is_updated(pod, update_hash) for pod in node.pods) for node in scheduled),
        "numberAvailable": available,
        "numberUnavailable": len(desired) - available,
    }
    conditions = (daemon_set.get("status") or {}).get("conditions")
    return {
        "currentNumberScheduled": len(scheduled),
        "numberMisscheduled": sum(bool(node.pods) and not node.placement.should_run for node in nodes),
        "desiredNumberScheduled": len(desired),
        "numberReady": sum(any(map(pod_template.is_ready, node.pods)) for node in scheduled),
        "observedGeneration": daemon_set["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
        **({"collisionCount": collisions} if collisions is not None else {}),
        **({"conditions": conditions} if conditions else {}),
    }
