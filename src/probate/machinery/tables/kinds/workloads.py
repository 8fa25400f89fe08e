"""What keeps pods running: replication controllers, replica sets, deployments, stateful sets, daemon sets and their revisions."""

from __future__ import annotations

from typing import Any

from probate.machinery.gvk import GroupKind, GroupVersion
from probate.machinery.tables import ages, fields, notation
from probate.machinery.tables.columns import AGE, CONTAINERS, IMAGES, NAME, SELECTOR, Object, Printer, integer, text


def _template(object_: Object) -> list[str]:
    return notation.containers(fields.at(object_, "spec", "template", "spec"))


def _replicas(object_: Object, now: float) -> list[Any]:
    return [
        fields.name(object_),
        fields.number(object_, "spec", "replicas"),
        fields.number(object_, "status", "replicas"),
        fields.number(object_, "status", "readyReplicas"),
        ages.of(object_, now),
        *_template(object_),
    ]


def _replication_controller(object_: Object, now: float) -> list[Any]:
    return [*_replicas(object_, now), notation.labels(fields.at(object_, "spec", "selector"))]


def _replica_set(object_: Object, now: float) -> list[Any]:
    return [*_replicas(object_, now), notation.selector_or_none(fields.at(object_, "spec", "selector"))]


def _ready(object_: Object) -> str:
    return f"{fields.number(object_, 'status', 'readyReplicas')}/{fields.number(object_, 'spec', 'replicas')}"


def _deployment(deployment: Object, now: float) -> list[Any]:
    selector = notation.selector(fields.at(deployment, "spec", "selector"))
    return [
        fields.name(deployment),
        _ready(deployment),
        fields.number(deployment, "status", "updatedReplicas"),
        fields.number(deployment, "status", "availableReplicas"),
        ages.of(deployment, now),
        *_template(deployment),
        "<invalid>" if selector is None else selector,
    ]


def _stateful_set(stateful_set: Object, now: float) -> list[Any]:
    return [fields.name(stateful_set), _ready(stateful_set), ages.of(stateful_set, now), *_template(stateful_set)]


def _daemon_set(daemon_set: Object, now: float) -> list[Any]:
    status = fields.mapping(daemon_set, "status")
    return [
        fields.name(daemon_set),
        fields.number(status, "desiredNumberScheduled"),
        fields.number(status, "currentNumberScheduled"),
        fields.number(status, "numberReady"),
        fields.number(status, "updatedNumberScheduled"),
        fields.number(status, "numberAvailable"),
        notation.labels(fields.at(daemon_set, "spec", "template", "spec", "nodeSelector")),
        ages.of(daemon_set, now),
        *_template(daemon_set),
        notation.selector_or_none(fields.at(daemon_set, "spec", "selector")),
    ]


def _controller_revision(revision: Object, now: float) -> list[Any]:
    return [fields.name(revision), _controller(revision), fields.number(revision, "revision"), ages.of(revision, now)]


def _controller(object_: Object) -> str:
    owners = fields.objects(object_, "metadata", "ownerReferences")
    owner = next((one for one in owners if one.get("controller") is True), None)
    if owner is None:
        return notation.NONE
    kind = GroupKind(GroupVersion.parse(fields.text(owner, "apiVersion")).group, fields.text(owner, "kind"))
    return f"{kind}".lower() + "/" + fields.text(owner, "name")


_REPLICA_COLUMNS = (
    NAME,
    integer("Desired", "How many pods there should be."),
    integer("Current", "How many pods there are."),
    integer("Ready", "How many pods are ready."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
_READY = text("Ready", "How many pods are ready, and how many there should be.")
_UP_TO_DATE = "How many pods are as the current template wants them."
_AVAILABLE = "How many pods have been ready for long enough."

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
            integer("Desired", "How many nodes should run the pod."),
            integer("Current", "How many of them run it."),
            integer("Ready", "On how many nodes the pod is ready."),
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
            text("Controller", "The object whose state this is."),
            text("Revision", "The number of the revision."),
            AGE,
        ),
        _controller_revision,
    ),
}
