"""Whether a pod that wants other resources than it has gets them: at once if its node has them, later if others have to go first,
or never there, if the node is too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts

PENDING = "PodResizePending"
DEFERRED, INFEASIBLE = "Deferred", "Infeasible"


class Grant(NamedTuple):
    """The resources of a pod's containers, by name; and why these are not what the pod wants, if they are not."""

    resources: Mapping[str, Object]
    reason: str = ""
    message: str = ""


def wanted(pod: Object) -> dict[str, Object]:
    """What the pod's containers want."""
    spec = pod["spec"]
    every = (*(spec.get("initContainers") or ()), *spec["containers"])
    return {one["name"]: one.get("resources") or {} for one in every}


def given(pod: Object) -> dict[str, Object]:
    """What the pod's containers have, as its status tells it: nothing of those that have not started."""
    status = pod.get("status") or {}
    every = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return {one["name"]: one["resources"] for one in every if "resources" in one}


def decide(pod: Object, has: Amounts, taken: Amounts) -> Grant:
    """What a pod that wants something else gets on a node that has so much, of which the others have taken so much."""
    wishes, has_now = wanted(pod), given(pod)
    for reason, used in ((INFEASIBLE, {}), (DEFERRED, taken)):
        for name, amount in pod_resources.of_pod(pod["spec"]).items():
            if name in has and amount > has[name] - used.get(name, 0):
                return Grant({**wishes, **has_now}, reason, f"Node didn't have enough {name}")
    return Grant(wishes)
