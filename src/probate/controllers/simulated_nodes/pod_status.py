"""The status of a simulated pod whose containers are in a certain state."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.runtime import conditions
from probate.controllers.runtime.conditions import Conditions
from probate.controllers.simulated_nodes import container_statuses
from probate.controllers.simulated_nodes.container_statuses import Scene
from probate.controllers.simulated_nodes.pod_lifecycle import State
from probate.controllers.simulated_nodes.pod_resize import PENDING, Grant

READY_TYPES = ("Ready", "ContainersReady")
DEADLINE = "Pod was active on the node longer than the specified deadline"


class Place(NamedTuple):
    """Where a pod is."""

    host: str
    address: str


class Facts(NamedTuple):
    """What is known of a pod beside what its containers do: where it is, whether it may be ready, what it lacks, and what the node
    has given it; since when it has been there, and what time it is."""

    place: Place
    is_ready: bool
    lacking: frozenset[str]
    grant: Grant
    began: str
    now: str


def status(pod: Object, state: State, facts: Facts) -> Object:
    """The pod's status. What others have written into it stays."""
    before, spec, place = pod.get("status") or {}, pod["spec"], facts.place
    scene = Scene(pod, state, facts.lacking, facts.grant.resources)
    is_ready = state.doing == "run" and facts.is_ready
    told = {
        **before,
        "phase": _phase(state),
        "observedGeneration": pod["metadata"].get("generation", 0),
        "startTime": before.get("startTime") or facts.began,
        "hostIP": place.host,
        "hostIPs": [{"ip": place.host}],
        "podIP": place.address,
        "podIPs": [{"ip": place.address}],
        "containerStatuses": [container_statuses.shown(one, scene, is_ready=is_ready) for one in spec["containers"]],
        "conditions": _conditions(scene, facts),
    }
    if spec.get("initContainers"):
        told["initContainerStatuses"] = [container_statuses.init(one, scene) for one in spec["initContainers"]]
    if spec.get("ephemeralContainers"):
        told["ephemeralContainerStatuses"] = [
            container_statuses.ephemeral(one, scene, facts.now) for one in spec["ephemeralContainers"]
        ]
    if state.doing == "ended" and state.reason:
        told["reason"], told["message"] = state.reason, DEADLINE
    return told


def refused(pod: Object, reason: str, message: str, now: str) -> Object:
    """The status of a pod that its node does not take."""
    before, generation = pod.get("status") or {}, pod["metadata"].get("generation", 0)
    why = {"reason": reason, "message": f"Pod was rejected: {message}"}
    return {**before, "phase": "Failed", **why, "observedGeneration": generation, "startTime": now}


def _phase(state: State) -> str:
    if state.doing == "ended":
        return "Failed" if state.code or state.reason else "Succeeded"
    return "Pending" if state.doing == "pull" else "Running"


def _conditions(scene: Scene, facts: Facts) -> Conditions:
    pod, state = scene.pod, scene.state
    told = (pod.get("status") or {}).get("conditions") or []
    are_ready = facts.is_ready and state.doing == "run"
    why = {"ended": "PodFailed" if state.code or state.reason else "PodCompleted"}.get(state.doing, "ContainersNotReady")
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    missing = [gate for gate in gates if not conditions.is_true(told, gate)]
    initial = "" if scene.is_initialised else "ContainersNotInitialized"
    wanted = {
        "PodReadyToStartContainers": (state.doing != "ended", ""),
        "Initialized": (not initial, "PodCompleted" if why == "PodCompleted" and state.doing == "ended" else initial),
        "ContainersReady": (are_ready, why),
        "Ready": (are_ready and not missing, why if not are_ready else "ReadinessGatesNotReady"),
    }
    for type_, (holds, reason) in wanted.items():
        new = conditions.made(type_, str(holds), "" if holds and type_ != "Initialized" else reason, "")
        told = conditions.put(told, {name: value for name, value in new.items() if value}, facts.now)
    told = _with_resize(told, facts) if state.doing != "ended" else conditions.without(told, PENDING)
    return _dated(told, {*wanted, "PodScheduled", PENDING}, pod["metadata"].get("generation"))


def _with_resize(told: Conditions, facts: Facts) -> Conditions:
    """The conditions with what is said about resources that the pod wants and does not get."""
    if not facts.grant.reason:
        return conditions.without(told, PENDING)
    return conditions.put(told, conditions.made(PENDING, "True", facts.grant.reason, facts.grant.message), facts.now)


def _dated(told: Conditions, ours: set[str], generation: int | None) -> Conditions:
    """The conditions, of which those that are the node's say which version of the pod they are about."""
    if not generation:
        return told
    return [{**one, "observedGeneration": generation} if one["type"] in ours else one for one in told]
