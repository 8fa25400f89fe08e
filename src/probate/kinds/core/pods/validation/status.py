"""Validates a Pod's status: terminated containers stay terminated, the QoS class does not change, and addresses are valid.

Some field paths have Kubernetes' own spelling: conditions as if they were metadata, addresses without their `ip`.
"""

from __future__ import annotations

from collections.abc import Collection

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid
from probate.kinds.core.pods.validation import annotations as validation_annotations
from probate.kinds.shared.field_checks import Problems, Value, check_rule, check_unchanged, child, each, objects, text
from probate.kinds.shared.ip_addresses import check_new_ip
from probate.kinds.shared.reachable_addresses import check_families

_STATUS = FieldPath("status")


def check_pod_status(new: Value, old: Value) -> Problems:
    """Validates the status of a Pod that replaces `old`."""
    status, before = child(new, "status"), child(old, "status")
    yield from validation_annotations.check_changes(new, old)
    for condition, at in each(status, FieldPath("metadata"), "conditions"):
        yield from check_rule(text(condition, "type"), at / "Type", names.validate_qualified_name)
    nominated = text(status, "nominatedNodeName")
    if nominated and nominated != text(before, "nominatedNodeName"):
        yield from check_rule(nominated, _STATUS / "nominatedNodeName", names.validate_dns_subdomain)
    yield from check_unchanged(status.get("qosClass"), before.get("qosClass"), _STATUS / "qosClass")
    yield from _check_ended(status, before, child(old, "spec"))
    yield from _check_claims(status, child(new, "spec"))
    yield from _check_addresses(status)


def _check_ended(status: Value, before: Value, spec: Value) -> Problems:
    """Validates that terminated containers that must not restart do not restart. Ephemeral containers never restart.

    A container's own restart policy takes precedence over that of its Pod.
    """
    policy = text(spec, "restartPolicy") or "Always"
    if any(text(rule, "action") == "RestartAllContainers" for one in _all(spec) for rule in objects(one, "restartPolicyRules")):
        return
    own = {text(one, "name") for one in _all(spec) if text(one, "restartPolicy") or one.get("restartPolicyRules")}
    yield from _check_restarts(status, before, "containerStatuses", policy=policy, exempt=own)
    yield from _check_restarts(status, before, "initContainerStatuses", policy=policy, exempt=own)
    yield from _check_restarts(status, before, "ephemeralContainerStatuses", policy="Never", exempt=())


def _all(spec: Value) -> list[Value]:
    return [*objects(spec, "containers"), *objects(spec, "initContainers")]


def _check_restarts(status: Value, before: Value, field: str, *, policy: str, exempt: Collection[str]) -> Problems:
    if policy == "Always":
        return
    running = {text(one, "name") for one in objects(status, field) if child(one, "state").get("terminated") is None}
    for one, at in each(before, _STATUS, field):
        ended = child(one, "state").get("terminated")
        if ended is None or text(one, "name") not in running or text(one, "name") in exempt:
            continue
        if policy != "OnFailure" or not ended.get("exitCode"):
            yield forbidden(at / "state", "may not be transitioned to non-terminated state")


def _check_claims(status: Value, spec: Value) -> Problems:
    known = {text(claim, "name") for claim in objects(spec, "resourceClaims")}
    seen: set[str] = set()
    for claim, at in each(status, _STATUS, "resourceClaimStatuses"):
        name = text(claim, "name")
        if name not in known:
            yield invalid(at / "name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(at / "name", name)
        seen.add(name)
        if claim.get("resourceClaimName") is not None:
            yield from check_rule(text(claim, "resourceClaimName"), at / "name", names.validate_dns_subdomain)


def _check_addresses(status: Value) -> Problems:
    for field in ("podIPs", "hostIPs"):
        addresses = [text(one, "ip") for one in objects(status, field)]
        for index, address in enumerate(addresses):
            yield from check_new_ip(address, _STATUS / field / index)
        yield from check_families(addresses, _STATUS / field)
    hosts = [text(one, "ip") for one in objects(status, "hostIPs")]
    if hosts and hosts[0] != text(status, "hostIP"):
        yield invalid(_STATUS / "hostIPs" / 0 / "ip", hosts[0], "must be equal to `hostIP`")
