"""Table columns of workloads: ReplicationController, ReplicaSet, Deployment, StatefulSet, DaemonSet, ControllerRevision."""

from __future__ import annotations

from typing import Any

from probate.api.gvk import GroupKind, GroupVersion
from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Printer, integer, text


def _template(object_: Object) -> list[str]:
    return cell_text.container_cells(object_fields.at(object_, "spec", "template", "spec"))


def _replicas(object_: Object, now: float) -> list[Any]:
    return [
        object_fields.name(object_),
        object_fields.number(object_, "spec", "replicas"),
        object_fields.number(object_, "status", "replicas"),
        object_fields.number(object_, "status", "readyReplicas"),
        ages.object_age(object_, now),
        *_template(object_),
    ]


def _replication_controller(object_: Object, now: float) -> list[Any]:
    return [*_replicas(object_, now), cell_text.format_labels(object_fields.at(object_, "spec", "selector"))]


def _replica_set(object_: Object, now: float) -> list[Any]:
    return [*_replicas(object_, now), cell_text.format_selector_or_none(object_fields.at(object_, "spec", "selector"))]


def _ready(object_: Object) -> str:
    return f"{object_fields.number(object_, 'status', 'readyReplicas')}/{object_fields.number(object_, 'spec', 'replicas')}"


def _deployment(deployment: Object, now: float) -> list[Any]:
    selector = cell_text.format_selector(object_fields.at(deployment, "spec", "selector"))
    return [
        object_fields.name(deployment),
        _ready(deployment),
        object_fields.number(deployment, "status", "updatedReplicas"),
        object_fields.number(deployment, "status", "availableReplicas"),
        ages.object_age(deployment, now),
        *_template(deployment),
        "<invalid>" if selector is None else selector,
    ]


def _stateful_set(stateful_set: Object, now: float) -> list[Any]:
    return [object_fields.name(stateful_set), _ready(stateful_set), ages.object_age(stateful_set, now), *_template(stateful_set)]


def _daemon_set(daemon_set: Object, now: float) -> list[Any]:
    status = object_fields.mapping(daemon_set, "status")
    return [
        object_fields.name(daemon_set),
        object_fields.number(status, "desiredNumberScheduled"),
        object_fields.number(status, "currentNumberScheduled"),
        object_fields.number(status, "numberReady"),
        object_fields.number(status, "updatedNumberScheduled"),
        object_fields.number(status, "numberAvailable"),
        cell_text.format_labels(object_fields.at(daemon_set, "spec", "template", "spec", "nodeSelector")),
        ages.object_age(daemon_set, now),
        *_template(daemon_set),
        cell_text.format_selector_or_none(object_fields.at(daemon_set, "spec", "selector")),
    ]


def _controller_revision(revision: Object, now: float) -> list[Any]:
    return [
        object_fields.name(revision),
        _controller(revision),
        object_fields.number(revision, "revision"),
        ages.object_age(revision, now),
    ]


def _controller(object_: Object) -> str:
    owners = object_fields.objects(object_, "metadata", "ownerReferences")
    owner = next((one for one in owners if one.get("controller") is True), None)
    if owner is None:
        return cell_text.NONE
    kind = GroupKind(GroupVersion.parse(object_fields.text(owner, "apiVersion")).group, object_fields.text(owner, "kind"))
    return f"{kind}".lower() + "/" + object_fields.text(owner, "name")


_REPLICA_COLUMNS = (
    NAME,
    integer("Desired", "The desired number of pods."),
    integer("Current", "The number of pods."),
    integer("Ready", "The number of ready pods."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
_READY = text("Ready", "The number of ready pods, and the desired number.")
_UP_TO_DATE = "The number of pods that match the current template."
_AVAILABLE = "The number of available pods: ready for at least minReadySeconds."

PRINTERS = {
    ("", "replicationcontrollers"): Printer(_REPLICA_COLUMNS, _replication_controller),
    ("apps", "replicasets"): Printer(_REPLICA_COLUMNS, _replica_set),
    ("apps", "deployments"): Printer(
        (
            NAME,
            _READY,
            text("Up-to-date", _UP_TO_DATE),
            text("Available", _AVAILABLE),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _deployment,
    ),
    ("apps", "statefulsets"): Printer((NAME, _READY, AGE, CONTAINERS, IMAGES), _stateful_set),
    ("apps", "daemonsets"): Printer(
        (
            NAME,
            integer("Desired", "The number of nodes that should run the pod."),
            integer("Current", "The number of these nodes that run it."),
            integer("Ready", "The number of nodes on which the pod is ready."),
            integer("Up-to-date", _UP_TO_DATE),
            integer("Available", _AVAILABLE),
            text("Node Selector", "The labels that a node must have to run the pod."),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ),
        _daemon_set,
    ),
    ("apps", "controllerrevisions"): Printer(
        (
            NAME,
            text("Controller", "The object that controls the revision."),
            text("Revision", "The number of the revision."),
            AGE,
        ),
        _controller_revision,
    ),
}
