"""Which of several pods has to go first. (RS-4)

The least is lost with pods that run nowhere yet, then with those that do not serve. Among those that serve, whoever knows what they
are worth has said so by an annotation; else nodes that have several lose one; else the younger go. Ages count by doubling, so that
among pods of about the same age chance decides, and not always the same node loses.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from probate.api.selectors.requirements import whole_number
from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.controllers.workloads.pod_template import is_active, phase, ready_condition

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def in_order(pods: Iterable[Object], related: Iterable[Object], now: float) -> list[Object]:
    """The pods, those that go first first. `related` are all of the same application, whichever version."""
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
        _doublings(ready.get("lastTransitionTime") if ready else None, now),
        -_restarts(pod),
        _doublings(meta.get("creationTimestamp"), now),
        meta["uid"],
    )


def _node(pod: Object) -> str:
    found: str = pod["spec"].get("nodeName") or ""
    return found


def _cost(pod: Object) -> int:
    given = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    return whole_number(given) or 0


def _restarts(pod: Object) -> int:
    return max((one.get("restartCount") or 0 for one in pod.get("status", {}).get("containerStatuses") or ()), default=0)


def _doublings(since: str | None, now: float) -> int:
    """How old, as a power of two. What has no time is the youngest."""
    age = now - seconds(since) if since else 0.0
    return math.floor(math.log2(age)) if age >= 1 else -1
