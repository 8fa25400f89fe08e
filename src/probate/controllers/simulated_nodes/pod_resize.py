"""In-place resize: whether a pod gets the resources that it requests. At once if its node has them free, later if other pods
have to end first, or never if the node is too small.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.pod_resources import Amounts

RESIZE_PENDING = "PodResizePending"
DEFERRED, INFEASIBLE = "Deferred", "Infeasible"


class Grant(NamedTuple):
    """The resources of a pod's containers, by name. If they are not the desired ones, the reason and the message of the
    PodResizePending condition.
    """

    resources: Mapping[str, Object]
    reason: str = ""
    message: str = ""


def desired_resources(pod: Object) -> dict[str, Object]:
    """Returns the resources that the pod's containers request."""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return {container["name"]: container.get("resources") or {} for container in containers}


def allocated_resources(pod: Object) -> dict[str, Object]:
    """Returns the resources in the container statuses. Containers that have not started have none."""
    status = pod.get("status") or {}
    container_statuses = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    return {
        container_status["name"]: container_status["resources"]
        for container_status in container_statuses
        if "resources" in container_status
    }


def decide(pod: Object, allocatable: Amounts, used: Amounts) -> Grant:
    """Returns the resources for a pod that requests others, on a node with `allocatable` resources of which the other pods use
    `used`.
    """
    desired, allocated = desired_resources(pod), allocated_resources(pod)
    for reason, in_use in ((INFEASIBLE, {}), (DEFERRED, used)):
        for name, amount in pod_resources.of_pod(pod["spec"]).items():
            if name in allocatable and amount > allocatable[name] - in_use.get(name, 0):
                return Grant({**desired, **allocated}, reason, f"Node didn't have enough {name}")
    return Grant(desired)
