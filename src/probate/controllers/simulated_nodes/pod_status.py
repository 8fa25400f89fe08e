"""The status of a simulated pod, given the state of its containers."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.runtime import conditions
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.simulated_nodes import container_statuses
from probate.controllers.simulated_nodes.container_statuses import PodSnapshot
from probate.controllers.simulated_nodes.pod_lifecycle import ContainerState
from probate.controllers.simulated_nodes.pod_resize import RESIZE_PENDING, Grant

DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"


class PodIPs(NamedTuple):
    """The IP of the host and of the pod."""

    host_ip: str
    pod_ip: str


class StatusInputs(NamedTuple):
    """What the pod's status depends on besides its containers: its IPs, whether it may be ready, the images that cannot be
    pulled, its resources, when it was bound, and the current time.
    """

    pod_ips: PodIPs
    is_ready: bool
    unpullable: frozenset[str]
    grant: Grant
    bound_at: str
    now: str


def status(pod: Object, state: ContainerState, inputs: StatusInputs) -> Object:
    """Returns the pod's status. Fields that other clients wrote into it stay."""
    before, spec, pod_ips = pod.get("status") or {}, pod["spec"], inputs.pod_ips
    snapshot = PodSnapshot(pod, state, inputs.unpullable, inputs.grant.resources)
    is_ready = state.activity == "running" and inputs.is_ready
    new_status = {
        **before,
        "phase": _phase(state),
        "observedGeneration": pod["metadata"].get("generation", 0),
        "startTime": before.get("startTime") or inputs.bound_at,
        "hostIP": pod_ips.host_ip,
        "hostIPs": [{"ip": pod_ips.host_ip}],
        "podIP": pod_ips.pod_ip,
        "podIPs": [{"ip": pod_ips.pod_ip}],
        "containerStatuses": [
            container_statuses.container_status(container, snapshot, is_ready=is_ready) for container in spec["containers"]
        ],
        "conditions": _conditions(snapshot, inputs),
    }
    if spec.get("initContainers"):
        new_status["initContainerStatuses"] = [
            container_statuses.init_container_status(container, snapshot) for container in spec["initContainers"]
        ]
    if spec.get("ephemeralContainers"):
        new_status["ephemeralContainerStatuses"] = [
            container_statuses.ephemeral_container_status(container, snapshot, inputs.now)
            for container in spec["ephemeralContainers"]
        ]
    if state.activity == "terminated" and state.reason:
        new_status["reason"], new_status["message"] = state.reason, DEADLINE_MESSAGE
    return new_status


def rejected_status(pod: Object, *, reason: str, message: str, now: str) -> Object:
    """Returns the status of a pod that its node rejects."""
    before, generation = pod.get("status") or {}, pod["metadata"].get("generation", 0)
    rejection = {"reason": reason, "message": f"Pod was rejected: {message}"}
    return {**before, "phase": "Failed", **rejection, "observedGeneration": generation, "startTime": now}


def _phase(state: ContainerState) -> str:
    if state.activity == "terminated":
        return "Failed" if state.exit_code or state.reason else "Succeeded"
    return "Pending" if state.activity == "pull_failed" else "Running"


def _conditions(snapshot: PodSnapshot, inputs: StatusInputs) -> Conditions:
    pod, state = snapshot.pod, snapshot.state
    pod_conditions = (pod.get("status") or {}).get("conditions") or []
    containers_ready = inputs.is_ready and state.activity == "running"
    default_reason = {"terminated": "PodFailed" if state.exit_code or state.reason else "PodCompleted"}.get(
        state.activity, "ContainersNotReady"
    )
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    missing_gates = [gate for gate in gates if not conditions.is_true(pod_conditions, gate)]
    not_initialized = "" if snapshot.is_initialized else "ContainersNotInitialized"
    node_conditions = {
        "PodReadyToStartContainers": (state.activity != "terminated", ""),
        "Initialized": (
            not not_initialized,
            "PodCompleted" if default_reason == "PodCompleted" and state.activity == "terminated" else not_initialized,
        ),
        "ContainersReady": (containers_ready, default_reason),
        "Ready": (containers_ready and not missing_gates, default_reason if not containers_ready else "ReadinessGatesNotReady"),
    }
    for type_, (holds, reason) in node_conditions.items():
        condition = conditions.new_condition(
            type_, str(holds), reason="" if holds and type_ != "Initialized" else reason, message=""
        )
        pod_conditions = conditions.replace(pod_conditions, {name: value for name, value in condition.items() if value}, inputs.now)
    pod_conditions = (
        _with_resize(pod_conditions, inputs)
        if state.activity != "terminated"
        else conditions.without(pod_conditions, RESIZE_PENDING)
    )
    return _with_generation(pod_conditions, {*node_conditions, "PodScheduled", RESIZE_PENDING}, pod["metadata"].get("generation"))


def _with_resize(pod_conditions: Conditions, inputs: StatusInputs) -> Conditions:
    """Returns the conditions with PodResizePending if the pod does not get the resources that it requests."""
    if not inputs.grant.reason:
        return conditions.without(pod_conditions, RESIZE_PENDING)
    return conditions.replace(
        pod_conditions,
        conditions.new_condition(RESIZE_PENDING, "True", reason=inputs.grant.reason, message=inputs.grant.message),
        inputs.now,
    )


def _with_generation(pod_conditions: Conditions, own_types: set[str], generation: int | None) -> Conditions:
    """Returns the conditions with the pod's generation in those that the node maintains."""
    if not generation:
        return pod_conditions
    return [
        {**condition, "observedGeneration": generation} if condition["type"] in own_types else condition
        for condition in pod_conditions
    ]
