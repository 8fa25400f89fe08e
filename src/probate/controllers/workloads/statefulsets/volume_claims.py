"""The claims of a StatefulSet's pods: their names, and their owners. (STS-1 to STS-6)

The owner decides when a claim is deleted, because the garbage collector deletes objects whose owner is gone:

    whenScaled   whenDeleted   owner: desired pod   owner: condemned pod
    Retain       Retain        none                 none
    Retain       Delete        the StatefulSet      the StatefulSet
    Delete       Retain        none                 the pod
    Delete       Delete        the StatefulSet      the pod
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import NamespacedName
from probate.client.objects import GroupVersionResource
from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET, OwnerKind, namespace_of

CLAIMS = GroupVersionResource("", "v1", "persistentvolumeclaims")
POD = OwnerKind(PODS, "Pod")


class RetentionPolicy(NamedTuple):
    """Whether claims are deleted with the StatefulSet, and whether they are deleted with a condemned pod."""

    deletes_with_set: bool
    deletes_with_pod: bool


class ClaimOwnership(NamedTuple):
    """The owner references that a claim should get, or None if they are correct already."""

    references: list[Object] | None
    is_contested: bool = False
    """Whether another object controls the claim."""


def retention_policy(stateful_set: Object) -> RetentionPolicy:
    """Returns the retention policy. A missing or unknown value counts as Retain."""
    configured = stateful_set["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    allowed_values = {"Retain", "Delete"}
    if not {configured.get("whenDeleted", "Retain"), configured.get("whenScaled", "Retain")} <= allowed_values:
        return RetentionPolicy(deletes_with_set=False, deletes_with_pod=False)
    return RetentionPolicy(configured.get("whenDeleted") == "Delete", configured.get("whenScaled") == "Delete")


def claim_templates(stateful_set: Object) -> list[Object]:
    """Returns the volume claim templates."""
    value: list[Object] = stateful_set["spec"].get("volumeClaimTemplates") or []
    return value


def claim_name(template: Object, stateful_set: Object, index: int) -> str:
    """Returns the name of the pod's claim. (STS-2)"""
    return f"{template['metadata']['name']}-{stateful_set['metadata']['name']}-{index}"


def claim_names(stateful_set: Object, index: int) -> list[NamespacedName]:
    """Returns the names of the pod's claims."""
    return [
        NamespacedName(namespace_of(stateful_set), claim_name(template, stateful_set, index))
        for template in claim_templates(stateful_set)
    ]


def may_be_claim_of(claim: str, stateful_set: Object) -> bool:
    """Returns whether a claim of this name can belong to the StatefulSet."""
    return any(claim.startswith(claim_name(template, stateful_set, 0)[:-1]) for template in claim_templates(stateful_set))


def new_claims(stateful_set: Object, index: int) -> list[Object]:
    """Returns the pod's claims as they are created: without owner references, identified by labels."""
    selector = stateful_set["spec"]["selector"].get("matchLabels") or {}
    return [
        {
            "metadata": {
                "name": claim_name(template, stateful_set, index),
                "labels": {**(template["metadata"].get("labels") or {}), **selector},
                "annotations": template["metadata"].get("annotations") or {},
            },
            "spec": template["spec"],
        }
        for template in claim_templates(stateful_set)
    ]


def with_volumes(spec: Object, stateful_set: Object, index: int) -> Object:
    """Returns the pod's spec with a volume for each claim; they replace volumes of the same names."""
    claims = {template["metadata"]["name"]: claim_name(template, stateful_set, index) for template in claim_templates(stateful_set)}
    if not claims:
        return spec
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    return {**spec, "volumes": [*volumes, *(volume for volume in spec.get("volumes") or [] if volume["name"] not in claims)]}


def is_owned_by_former_pod(claim: Object, name: str) -> bool:
    """Returns whether the claim refers to a pod of this name as its owner: that pod is gone, so the claim is about to be
    deleted. (STS-8)
    """
    return any(POD.is_referenced_by(reference) and reference["name"] == name for reference in _references(claim))


def desired_ownership(claim: Object, stateful_set: Object, pod: Object, *, is_desired: bool) -> ClaimOwnership:
    """Returns the owner references that the pod's claim should have. (STS-3 to STS-6)"""
    retention, references = retention_policy(stateful_set), _references(claim)
    if any(_is_stale(reference, stateful_set, STATEFUL_SET) or _is_stale(reference, pod, POD) for reference in references):
        return ClaimOwnership(None)
    foreign_references = [
        reference
        for reference in references
        if not _refers_to(reference, stateful_set, STATEFUL_SET) and not _refers_to(reference, pod, POD)
    ]
    if any(retention) and any(reference.get("controller") for reference in foreign_references):
        return ClaimOwnership(
            None if foreign_references == references else foreign_references, is_contested=foreign_references != references
        )
    desired = _desired_references(retention, stateful_set, pod, is_desired=is_desired)
    own_references = [reference for reference in references if reference not in foreign_references]
    is_correct = [(reference["uid"], bool(reference.get("controller"))) for reference in own_references] == [
        (reference["uid"], True) for reference in desired
    ]
    return ClaimOwnership(None if is_correct else [*foreign_references, *desired])


def _desired_references(retention: RetentionPolicy, stateful_set: Object, pod: Object, *, is_desired: bool) -> list[Object]:
    if retention.deletes_with_pod and not is_desired:
        return [POD.reference(pod)]
    return [STATEFUL_SET.reference(stateful_set)] if retention.deletes_with_set else []


def _references(claim: Object) -> list[Object]:
    return claim["metadata"].get("ownerReferences") or []


def _refers_to(reference: Object, owner: Object, kind: OwnerKind) -> bool:
    return kind.is_referenced_by(reference) and reference["name"] == owner["metadata"]["name"]


def _is_stale(reference: Object, owner: Object, kind: OwnerKind) -> bool:
    """Returns whether the reference points to an earlier object of that name."""
    return _refers_to(reference, owner, kind) and reference["uid"] != owner["metadata"]["uid"]
