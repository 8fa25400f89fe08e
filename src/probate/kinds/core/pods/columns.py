"""Table columns of Pods and PodTemplates.

The Status column shows one word, from the most specific source: the pod's phase; its reason; the first init container that has not
ended successfully, else the first container that waits or has ended; and finally the deletion.

    phase Pending,  second of three init containers runs      Init:1/3
    phase Running,  a container waits with CrashLoopBackOff   CrashLoopBackOff
    phase Running,  deletionTimestamp set                     Terminating
"""

from __future__ import annotations

from typing import Any

import msgspec

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide

_ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class _Summary(msgspec.Struct):
    """The totals over the containers that have been read so far."""

    reason: str
    total: int
    ready: int = 0
    restarts: int = 0
    restarted_at: float | None = None

    def add_restarts(self, container: Object) -> None:
        self.restarts += object_fields.number(container, "restartCount")
        if not container.get("lastState"):
            return
        moment = ages.parse_timestamp(object_fields.at(container, "lastState", "terminated", "finishedAt"))
        if moment is not None and (self.restarted_at is None or moment > self.restarted_at):
            self.restarted_at = moment


def _pod(pod: Object, now: float) -> list[Any]:
    spec, status = object_fields.mapping(pod, "spec"), object_fields.mapping(pod, "status")
    conditions = object_fields.objects(status, "conditions")
    summary = _summarise(spec, status, conditions)
    return [
        object_fields.name(pod),
        f"{summary.ready}/{summary.total}",
        _reason_of_deletion(pod, status) or summary.reason,
        _restarts(summary, now),
        ages.object_age(pod, now),
        _ip(status) or cell_text.NONE,
        object_fields.text(spec, "nodeName") or cell_text.NONE,
        object_fields.text(status, "nominatedNodeName") or cell_text.NONE,
        _readiness_gates(spec, conditions),
    ]


def _summarise(spec: Object, status: Object, conditions: list[Object]) -> _Summary:
    summary = _Summary(_reason_of_pod(status, conditions), object_fields.count(spec, "containers"))
    if "initContainers" not in spec or _read_init_containers(spec, status, conditions, summary=summary):
        _read_containers(status, conditions, summary)
    return summary


def _is_true(conditions: list[Object], type_: str) -> bool:
    return next((one.get("status") == "True" for one in conditions if one.get("type") == type_), False)


def _reason_of_pod(status: Object, conditions: list[Object]) -> str:
    for condition in conditions:
        if condition.get("reason") == "SchedulingGated" and condition.get("type") == "PodScheduled":
            return "SchedulingGated"
    return object_fields.text(status, "reason") or object_fields.text(status, "phase")


def _read_init_containers(spec: Object, status: Object, conditions: list[Object], *, summary: _Summary) -> bool:
    """Reads the init containers.

    Reports whether the ordinary containers come next: all init containers have ended, or had ended before.
    """
    init_containers = object_fields.objects(spec, "initContainers")
    sidecars = {object_fields.text(one, "name") for one in init_containers if one.get("restartPolicy") == "Always"}
    summary.total += len(sidecars)
    of_sidecars = _Summary("", 0)
    is_initializing = _is_initializing(status, len(init_containers), sidecars, summary=summary, of_sidecars=of_sidecars)
    if is_initializing and not _is_true(conditions, "Initialized"):
        return False
    # Restarts of init containers that have ended do not count; those of sidecars do, because sidecars keep running.
    summary.restarts, summary.restarted_at = of_sidecars.restarts, of_sidecars.restarted_at
    return True


def _is_initializing(status: Object, total: int, sidecars: set[str], *, summary: _Summary, of_sidecars: _Summary) -> bool:
    """Reports whether an init container has not ended yet. The first one gives the reason."""
    for index, container in enumerate(object_fields.objects(status, "initContainerStatuses")):
        is_sidecar = object_fields.text(container, "name") in sidecars
        summary.add_restarts(container)
        if is_sidecar:
            of_sidecars.add_restarts(container)
        terminated = object_fields.at(container, "state", "terminated")
        if isinstance(terminated, dict) and not object_fields.number(terminated, "exitCode"):
            continue
        if is_sidecar and container.get("started") is True:
            summary.ready += container.get("ready") is True
            continue
        summary.reason = "Init:" + (_init_reason(container) or f"{index}/{total}")
        return True
    return False


def _init_reason(container: Object) -> str:
    terminated = object_fields.at(container, "state", "terminated")
    if isinstance(terminated, dict):
        return _reason_of_end(terminated)
    reason = object_fields.text(container, "state", "waiting", "reason")
    return "" if reason == "PodInitializing" else reason


def _reason_of_end(terminated: Object) -> str:
    signal = object_fields.number(terminated, "signal")
    bare = f"Signal:{signal}" if signal else f"ExitCode:{object_fields.number(terminated, 'exitCode')}"
    return object_fields.text(terminated, "reason") or bare


def _read_containers(status: Object, conditions: list[Object], summary: _Summary) -> None:
    """Reads the containers, last to first: the first container that is not running gives the reason."""
    has_running = False
    for container in reversed(object_fields.objects(status, "containerStatuses")):
        summary.add_restarts(container)
        state = object_fields.mapping(container, "state")
        if "waiting" in state and (waiting := object_fields.text(state, "waiting", "reason")):
            summary.reason = waiting
        elif isinstance(terminated := state.get("terminated"), dict):
            summary.reason = _reason_of_end(terminated)
        elif container.get("ready") is True and isinstance(state.get("running"), dict):
            has_running = True
            summary.ready += 1
    if summary.reason == "Completed" and has_running:
        summary.reason = "Running" if _is_true(conditions, "Ready") else "NotReady"


def _reason_of_deletion(pod: Object, status: Object) -> str:
    if not object_fields.is_deleting(pod):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if object_fields.text(status, "phase") in _ENDED else "Terminating"


def _restarts(summary: _Summary, now: float) -> str:
    if not summary.restarts or summary.restarted_at is None:
        return str(summary.restarts)
    return f"{summary.restarts} ({ages.format_duration(now - summary.restarted_at)} ago)"


def _ip(status: Object) -> str:
    ips = status.get("podIPs")
    return object_fields.text(ips[0], "ip") if ips and isinstance(ips, list) else object_fields.text(status, "podIP")


def _readiness_gates(spec: Object, conditions: list[Object]) -> str:
    gates = object_fields.objects(spec, "readinessGates") if "readinessGates" in spec else []
    if not gates:
        return cell_text.NONE
    return f"{sum(_is_true(conditions, object_fields.text(gate, 'conditionType')) for gate in gates)}/{len(gates)}"


def _pod_conditions(pod: Object) -> list[Object]:
    phase = object_fields.text(pod, "status", "phase")
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}] if phase in _ENDED else []


def _pod_template(template: Object, _: float) -> list[Any]:
    containers = cell_text.container_cells(object_fields.at(template, "template", "spec"))
    return [
        object_fields.name(template),
        *containers,
        cell_text.format_labels(object_fields.at(template, "template", "metadata", "labels")),
    ]


PRINTERS = {
    ("", "pods"): Printer(
        (
            NAME,
            text("Ready", "The number of ready containers, and of all containers."),
            text("Status", "The state of the pod, or the reason why it does not run."),
            text("Restarts", "The number of container restarts, and the time since the last one."),
            AGE,
            wide("IP", "The pod's first IP address."),
            wide("Node", "The node that the pod runs on."),
            wide("Nominated Node", "The node on which pods are preempted for this one."),
            wide("Readiness Gates", "The number of readiness gates that are true, and of all gates."),
        ),
        _pod,
        _pod_conditions,
    ),
    ("", "podtemplates"): Printer(
        (
            NAME,
            text("Containers", "The names of the template's containers."),
            text("Images", "The images of the template's containers."),
            text("Pod Labels", "The labels of pods that are created from the template."),
        ),
        _pod_template,
    ),
}
