"""Table columns of Nodes, RuntimeClasses, Leases and LeaseCandidates."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node(node: Object, now: float) -> list[Any]:
    info = object_fields.mapping(node, "status", "nodeInfo")
    return [
        object_fields.name(node),
        _status(node),
        _roles(object_fields.mapping(node, "metadata", "labels")),
        ages.object_age(node, now),
        object_fields.text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        *(object_fields.text(info, one) or "<unknown>" for one in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _status(node: Object) -> str:
    ready = object_fields.condition(node, "Ready")
    readiness = "Ready" if object_fields.text(ready, "status") == "True" else "NotReady"
    status = "Unknown" if ready is None else readiness
    return f"{status},SchedulingDisabled" if object_fields.boolean(node, "spec", "unschedulable") else status


def _roles(labels: Object) -> str:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(object_fields.text(labels, _ROLE_LABEL))
    return ",".join(sorted(roles - {""})) or cell_text.NONE


def _address(node: Object, type_: str) -> str:
    addresses = object_fields.objects(node, "status", "addresses")
    return next((object_fields.text(one, "address") for one in addresses if one.get("type") == type_), cell_text.NONE)


def _runtime_class(runtime_class: Object, now: float) -> list[Any]:
    return [object_fields.name(runtime_class), object_fields.text(runtime_class, "handler"), ages.object_age(runtime_class, now)]


def _lease(lease: Object, now: float) -> list[Any]:
    return [object_fields.name(lease), object_fields.text(lease, "spec", "holderIdentity"), ages.object_age(lease, now)]


def _lease_candidate(candidate: Object, now: float) -> list[Any]:
    spec = object_fields.mapping(candidate, "spec")
    cells = (object_fields.text(spec, one) for one in ("leaseName", "binaryVersion", "emulationVersion"))
    return [object_fields.name(candidate), *cells, ages.object_age(candidate, now)]


PRINTERS = {
    ("", "nodes"): Printer(
        (
            NAME,
            text("Status", "Whether the node is ready, and whether pods may be scheduled on it."),
            text("Roles", "The roles of the node, from its labels."),
            AGE,
            text("Version", "The version of the node's kubelet."),
            wide("Internal-IP", "The node's internal address."),
            wide("External-IP", "The node's external address."),
            wide("OS-Image", "The operating system."),
            wide("Kernel-Version", "The version of the kernel."),
            wide("Container-Runtime", "The container runtime and its version."),
        ),
        _node,
    ),
    ("node.k8s.io", "runtimeclasses"): Printer(
        (NAME, text("Handler", "The name of the handler in the container runtime."), AGE), _runtime_class
    ),
    ("coordination.k8s.io", "leases"): Printer((NAME, text("Holder", "The holder of the Lease."), AGE), _lease),
    ("coordination.k8s.io", "leasecandidates"): Printer(
        (
            NAME,
            text("LeaseName", "The Lease that the candidate wants."),
            text("BinaryVersion", "The binary version of the candidate."),
            text("EmulationVersion", "The emulation version of the candidate."),
            AGE,
        ),
        _lease_candidate,
    ),
}
