"""Nodes, what they can run containers with, and the leases by which they and others show that they live."""

from __future__ import annotations

from typing import Any

from probate.machinery.tables import ages, fields, notation
from probate.machinery.tables.columns import AGE, NAME, Object, Printer, text, wide

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node(node: Object, now: float) -> list[Any]:
    info = fields.mapping(node, "status", "nodeInfo")
    return [
        fields.name(node),
        _status(node),
        _roles(fields.mapping(node, "metadata", "labels")),
        ages.of(node, now),
        fields.text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        *(fields.text(info, one) or "<unknown>" for one in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _status(node: Object) -> str:
    ready = fields.condition(node, "Ready")
    told = "Ready" if fields.text(ready, "status") == "True" else "NotReady"
    status = "Unknown" if ready is None else told
    return f"{status},SchedulingDisabled" if fields.boolean(node, "spec", "unschedulable") else status


def _roles(labels: Object) -> str:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(fields.text(labels, _ROLE_LABEL))
    return ",".join(sorted(roles - {""})) or notation.NONE


def _address(node: Object, type_: str) -> str:
    addresses = fields.objects(node, "status", "addresses")
    return next((fields.text(one, "address") for one in addresses if one.get("type") == type_), notation.NONE)


def _runtime_class(runtime_class: Object, now: float) -> list[Any]:
    return [fields.name(runtime_class), fields.text(runtime_class, "handler"), ages.of(runtime_class, now)]


def _lease(lease: Object, now: float) -> list[Any]:
    return [fields.name(lease), fields.text(lease, "spec", "holderIdentity"), ages.of(lease, now)]


def _lease_candidate(candidate: Object, now: float) -> list[Any]:
    spec = fields.mapping(candidate, "spec")
    told = (fields.text(spec, one) for one in ("leaseName", "binaryVersion", "emulationVersion"))
    return [fields.name(candidate), *told, ages.of(candidate, now)]


PRINTERS = {
    ("", "nodes"): Printer(
        (
            NAME,
            text("Status", "Whether the node is ready, and whether pods may be scheduled on it."),
            text("Roles", "What the node is for, by its labels."),
            AGE,
            text("Version", "The version of the node's kubelet."),
            wide("Internal-IP", "The node's address inside the cluster."),
            wide("External-IP", "The node's address for the outside."),
            wide("OS-Image", "The operating system, as it calls itself."),
            wide("Kernel-Version", "The version of the kernel."),
            wide("Container-Runtime", "What runs the containers, and its version."),
        ),
        _node,
    ),
    ("node.k8s.io", "runtimeclasses"): Printer(
        (NAME, text("Handler", "What the container runtime calls this way of running."), AGE), _runtime_class
    ),
    ("coordination.k8s.io", "leases"): Printer((NAME, text("Holder", "Who holds the lease."), AGE), _lease),
    ("coordination.k8s.io", "leasecandidates"): Printer(
        (
            NAME,
            text("LeaseName", "The lease that is wanted."),
            text("BinaryVersion", "The version of the program that wants it."),
            text("EmulationVersion", "The version that the program behaves as."),
            AGE,
        ),
        _lease_candidate,
    ),
}
