"""The order in which surplus pods are deleted: the counterpart of Kubernetes' `ActivePodsWithRanks`. (RS-4)

Pods without a node go first, then pods that are not ready. Among ready pods the order is: the pod-deletion-cost annotation, then
pods on nodes that run several pods of the application, then younger pods. Ages are compared by powers of two, so chance decides
among pods of about the same age, and the same node does not always lose its pod.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from probate.api.objects import Object
from probate.api.selectors.requirements import parse_int64
from probate.api.timestamps import parse_time
from probate.controllers.workloads.pod_template import is_active, phase, ready_condition

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def sort_for_deletion(pods: Iterable[Object], related: Iterable[Object], now: float) -> list[Object]:
    """Returns the pods, the first to delete first. `related` are all pods of the application, of every version."""
    on_node = Counter(_node(pod) for pod in related if is_active(pod))
    return sorted(pods, key=lambda pod: _rank(pod, on_node[_node(pod)], now))


def _rank(pod: Object, peers: int, now: float) -> tuple[Any, ...]:
    meta, ready = pod["metadata"], ready_condition(pod)
    return (
        bool(_node(pod)),
        _PHASES.get(phase(pod), 0),
        ready is not None,
        _cost(pod),
        -peers,
        _age_exponent(ready.get("lastTransitionTime") if ready else None, now),
        -_restarts(pod),
        _age_exponent(meta.get("creationTimestamp"), now),
        meta["uid"],
    )


def _node(pod: Object) -> str:
    name: str = pod["spec"].get("nodeName") or ""
    return name


def _cost(pod: Object) -> int:
    annotation = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    return parse_int64(annotation) or 0


def _restarts(pod: Object) -> int:
    return max(
        (container_status.get("restartCount") or 0 for container_status in pod.get("status", {}).get("containerStatuses") or ()),
        default=0,
    )


def _age_exponent(since: str | None, now: float) -> int:
    """Returns the logarithm of the age to base 2. An object without a time counts as the youngest."""
    age = now - parse_time(since) if since else 0.0
    return math.floor(math.log2(age)) if age >= 1 else -1
