"""Statuses that count: what controllers write down of their pods. No number is below nought, nor a part above its whole.

These are checked whoever writes them: a controller that is wrong is told so, and readers need not doubt what they read.
"""

from __future__ import annotations

from probate.machinery import names
from probate.machinery.problems import Path, invalid, too_long
from probate.machinery.validation.conditions import check_conditions
from probate.machinery.validation.fields import Problems, Value, check_nonnegative, check_rule, child, each, text
from probate.machinery.validation.networks import check_new_ip, is_ip

_STATUS = Path("status")
_PARTS = ("readyReplicas", "availableReplicas")
_OTHERS = ("replicas", "unavailableReplicas", "terminatingReplicas", "observedGeneration", "collisionCount")
_DAEMONS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)
_MAX_METADATA_BYTES = 256 * 1024
_MAX_ERROR_BYTES = 1024


def check_deployment(new: Value, old: Value) -> Problems:
    """A Deployment sent to its `status`."""
    yield from _check_replicas(new, *_PARTS, "updatedReplicas")
    yield from _check_collisions(new, old)


def check_replica_set(new: Value, old: Value) -> Problems:
    """A ReplicaSet sent to its `status`."""
    yield from _check_replicas(new, *_PARTS, "fullyLabeledReplicas")


def check_stateful_set(new: Value, old: Value) -> Problems:
    """A StatefulSet sent to its `status`."""
    yield from _check_replicas(new, *_PARTS, "currentReplicas", "updatedReplicas")
    yield from _check_collisions(new, old)


def check_daemons(new: Value, old: Value) -> Problems:
    """A DaemonSet sent to its `status`."""
    yield from check_nonnegative(child(new, "status"), _STATUS, *_DAEMONS)
    yield from _check_collisions(new, old)


def check_autoscaler(new: Value, old: Value) -> Problems:
    """A HorizontalPodAutoscaler sent to its `status`."""
    yield from check_nonnegative(child(new, "status"), _STATUS, "currentReplicas", "desiredReplicas")


def check_budget(new: Value, old: Value) -> Problems:
    """A PodDisruptionBudget sent to its `status`."""
    status = child(new, "status")
    yield from check_conditions(status, _STATUS)
    yield from check_nonnegative(status, _STATUS, "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def check_ingress(new: Value, old: Value) -> Problems:
    """An Ingress sent to its `status`: where its load balancer is reached."""
    known = {text(one, "ip") for one, _ in _points(old)}
    for point, at in _points(new):
        if text(point, "ip"):
            yield from check_new_ip(point["ip"], at / "ip", known)
        if text(point, "hostname"):
            yield from check_rule(point["hostname"], at / "hostname", names.dns_subdomain)
            if is_ip(point["hostname"]):
                yield invalid(at / "hostname", point["hostname"], "must be a DNS name, not an IP address")


def check_attachment(new: Value, old: Value) -> Problems:
    """A VolumeAttachment sent to its `status`."""
    status = child(new, "status")
    metadata = child(status, "attachmentMetadata")
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in metadata.items()) > _MAX_METADATA_BYTES:
        yield too_long(_STATUS / "attachmentMetadata", _MAX_METADATA_BYTES)
    for field in ("attachError", "detachError"):
        error = child(status, field)
        if len(text(error, "message").encode()) > _MAX_ERROR_BYTES:
            yield too_long(_STATUS / field / "message", _MAX_ERROR_BYTES)
        yield from check_nonnegative(error, _STATUS / field, "errorCode")


def _check_replicas(workload: Value, *parts: str) -> Problems:
    status = child(workload, "status")
    yield from check_nonnegative(status, _STATUS, *_OTHERS, *parts)
    for field in parts:
        number = status.get(field) or 0
        if number > (status.get("replicas") or 0):
            yield invalid(_STATUS / field, number, "cannot be greater than status.replicas")
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        yield invalid(_STATUS / "availableReplicas", available, "cannot be greater than readyReplicas")


def _check_collisions(new: Value, old: Value) -> Problems:
    after, before = (child(one, "status").get("collisionCount") for one in (new, old))
    if before is not None and (after is None or after < before):
        yield invalid(_STATUS / "collisionCount", after or 0, "cannot be decremented")


def _points(ingress: Value) -> list[tuple[Value, Path]]:
    balancer = child(child(ingress, "status"), "loadBalancer")
    return list(each(balancer, _STATUS / "loadBalancer", "ingress"))
