"""The status of a simulated pod whose containers are in a certain state."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.control import conditions
from probate.machinery.moments import timestamp
from probate.simulation.life import State

READY_TYPES = ("Ready", "ContainersReady")


class Place(NamedTuple):
    """Where a pod is."""

    host: str
    address: str


def status(pod: Object, state: State, place: Place, *, is_ready: bool, began: str, now: str) -> Object:
    """The pod's status. What others have written into it stays."""
    before, spec = pod.get("status") or {}, pod["spec"]
    is_running = state.doing == "run"
    told = {
        **before,
        "phase": _phase(state),
        "observedGeneration": pod["metadata"].get("generation", 0),
        "startTime": before.get("startTime") or began,
        "hostIP": place.host,
        "hostIPs": [{"ip": place.host}],
        "podIP": place.address,
        "podIPs": [{"ip": place.address}],
        "containerStatuses": [_container(one, pod, state, is_ready=is_running and is_ready) for one in spec["containers"]],
        "conditions": _conditions(pod, state, is_ready=is_ready, now=now),
    }
    if spec.get("initContainers"):
        told["initContainerStatuses"] = [_init(one, pod, state) for one in spec["initContainers"]]
    if state.reason:
        told["reason"], told["message"] = state.reason, "Pod was active on the node longer than the specified deadline"
    return told


def _phase(state: State) -> str:
    if state.doing == "ended":
        return "Failed" if state.code or state.reason else "Succeeded"
    return "Running"


def _conditions(pod: Object, state: State, *, is_ready: bool, now: str) -> list[Object]:
    told = (pod.get("status") or {}).get("conditions") or []
    are_ready = is_ready and state.doing == "run"
    why = {"ended": "PodFailed" if state.code or state.reason else "PodCompleted"}.get(state.doing, "ContainersNotReady")
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    missing = [gate for gate in gates if not conditions.is_true(told, gate)]
    wanted = {
        "PodReadyToStartContainers": (state.doing != "ended", ""),
        "Initialized": (True, "PodCompleted" if why == "PodCompleted" and state.doing == "ended" else ""),
        "ContainersReady": (are_ready, why),
        "Ready": (are_ready and not missing, why if not are_ready else "ReadinessGatesNotReady"),
    }
    for type_, (holds, reason) in wanted.items():
        new = conditions.made(type_, str(holds), "" if holds and type_ != "Initialized" else reason, "")
        told = conditions.put(told, {name: value for name, value in new.items() if value}, now)
    return told


def _container(container: Object, pod: Object, state: State, *, is_ready: bool) -> Object:
    id_ = f"simulated://{pod['metadata']['uid']}/{container['name']}/{state.runs}"
    image = container.get("image") or ""
    now, last = _states(container, pod, state, id_)
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"simulated://{image}",
        "containerID": id_,
        "restartCount": state.runs,
        "ready": is_ready,
        "started": state.doing == "run",
        "state": now,
        "lastState": last,
    }


def _states(container: Object, pod: Object, state: State, id_: str) -> tuple[Object, Object]:
    """How the container is, and how it was before that."""
    known = (pod.get("status") or {}).get("containerStatuses") or ()
    before: Object = next((one for one in known if one["name"] == container["name"]), {})
    at, last = timestamp(state.since or 0), before.get("lastState") or {}
    began = ((before.get("state") or {}).get("running") or {}).get("startedAt")
    if state.doing == "run":
        if began is not None and (before.get("restartCount") or 0) == state.runs:
            return before["state"], last
        if before and "running" in before["state"]:  # it ended, and runs again at once
            last = {"terminated": _ended(state, began or at, at, before["containerID"])}
        return {"running": {"startedAt": at}}, last
    if state.doing == "rest":
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "the container has ended, and starts again after a rest"}}
        return waiting, last if began is None else {"terminated": _ended(state, began, at, id_)}
    if "terminated" in (before.get("state") or {}):
        return before["state"], last
    return {"terminated": _ended(state, began or at, at, id_)}, last


def _ended(state: State, began: str, at: str, id_: str) -> Object:
    code = state.code or 0
    reason = "Error" if code else "Completed"
    return {"exitCode": code, "reason": reason, "startedAt": began, "finishedAt": at, "containerID": id_}


def _init(container: Object, pod: Object, state: State) -> Object:
    """An init container, which has ended well before the others began; or a sidecar, which does as they do."""
    is_sidecar = container.get("restartPolicy") == "Always"
    shown = _container(container, pod, state._replace(runs=0), is_ready=is_sidecar and state.doing == "run")
    if is_sidecar and state.doing != "ended":
        return {**shown, "state": {"running": {"startedAt": _first(pod, state)}}, "lastState": {}}
    began = _first(pod, state)
    done = _ended(State("ended", code=0), began, began, shown["containerID"])
    return {**shown, "ready": not is_sidecar, "started": False, "state": {"terminated": done}, "lastState": {}}


def _first(pod: Object, state: State) -> str:
    began: str = (pod.get("status") or {}).get("startTime") or timestamp(state.since or 0)
    return began
