"""The claims of a StatefulSet's pods: what they are called, and who owns them. (STS-1 to STS-6)

Who owns a claim says when it goes, for the collector deletes what has lost its owner:

    whenScaled   whenDeleted   of a pod that is wanted   of a pod that is too many
    Retain       Retain        nobody                    nobody
    Retain       Delete        the set                   the set
    Delete       Retain        nobody                    the pod
    Delete       Delete        the set                   the pod
"""

from __future__ import annotations

from typing import NamedTuple

from probate.client.informers import Name
from probate.client.objects import Kind, Object
from probate.controllers.workloads.owner_kinds import PODS, STATEFUL_SET, OwnerKind, namespace_of

CLAIMS = Kind("", "v1", "persistentvolumeclaims")
POD = OwnerKind(PODS, "Pod")


class Policy(NamedTuple):
    """Whether claims go with the set, and whether they go with a pod that is too many."""

    goes_with_set: bool
    goes_with_pod: bool


class Ownership(NamedTuple):
    """What is to become of a claim's references. None: they are as they should be."""

    references: list[Object] | None
    is_contested: bool = False
    """Somebody else controls the claim."""


def policy(set_: Object) -> Policy:
    """The set's policy. What is not said, or not known, is Retain."""
    said = set_["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    known = {"Retain", "Delete"}
    if not {said.get("whenDeleted", "Retain"), said.get("whenScaled", "Retain")} <= known:
        return Policy(goes_with_set=False, goes_with_pod=False)
    return Policy(said.get("whenDeleted") == "Delete", said.get("whenScaled") == "Delete")


def templates(set_: Object) -> list[Object]:
    """The templates of claims."""
    found: list[Object] = set_["spec"].get("volumeClaimTemplates") or []
    return found


def claim_name(template: Object, set_: Object, number: int) -> str:
    """What the claim of this pod is called. (STS-2)"""
    return f"{template['metadata']['name']}-{set_['metadata']['name']}-{number}"


def claim_names(set_: Object, number: int) -> list[Name]:
    """The claims of this pod."""
    return [Name(namespace_of(set_), claim_name(one, set_, number)) for one in templates(set_)]


def may_be_claim_of(claim: str, set_: Object) -> bool:
    """Whether a claim of this name can be one of the set's."""
    return any(claim.startswith(claim_name(one, set_, 0)[:-1]) for one in templates(set_))


def new_claims(set_: Object, number: int) -> list[Object]:
    """The claims of this pod, as they are made. They say whom they belong to by labels only."""
    selector = set_["spec"]["selector"].get("matchLabels") or {}
    return [
        {
            "metadata": {
                "name": claim_name(one, set_, number),
                "labels": {**(one["metadata"].get("labels") or {}), **selector},
                "annotations": one["metadata"].get("annotations") or {},
            },
            "spec": one["spec"],
        }
        for one in templates(set_)
    ]


def with_volumes(spec: Object, set_: Object, number: int) -> Object:
    """The pod's spec with a volume for each claim, instead of those of the same names."""
    ours = {one["metadata"]["name"]: claim_name(one, set_, number) for one in templates(set_)}
    if not ours:
        return spec
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in ours.items()]
    return {**spec, "volumes": [*volumes, *(one for one in spec.get("volumes") or [] if one["name"] not in ours)]}


def is_of_another_pod(claim: Object, name: str) -> bool:
    """Whether the claim is about to follow a former pod of this name. (STS-8)"""
    return any(POD.is_meant_by(one) and one["name"] == name for one in _references(claim))


def ownership(claim: Object, set_: Object, pod: Object, *, is_wanted: bool) -> Ownership:
    """Who is to own the claim of this pod. (STS-3 to STS-6)"""
    wanted_policy, references = policy(set_), _references(claim)
    if any(_is_stale(one, set_, STATEFUL_SET) or _is_stale(one, pod, POD) for one in references):
        return Ownership(None)
    others = [one for one in references if not _is_about(one, set_, STATEFUL_SET) and not _is_about(one, pod, POD)]
    if any(wanted_policy) and any(one.get("controller") for one in others):
        return Ownership(None if others == references else others, is_contested=others != references)
    wanted = _wanted(wanted_policy, set_, pod, is_wanted=is_wanted)
    ours = [one for one in references if one not in others]
    is_right = [(one["uid"], bool(one.get("controller"))) for one in ours] == [(one["uid"], True) for one in wanted]
    return Ownership(None if is_right else [*others, *wanted])


def _wanted(wanted: Policy, set_: Object, pod: Object, *, is_wanted: bool) -> list[Object]:
    if wanted.goes_with_pod and not is_wanted:
        return [POD.reference(pod)]
    return [STATEFUL_SET.reference(set_)] if wanted.goes_with_set else []


def _references(claim: Object) -> list[Object]:
    return claim["metadata"].get("ownerReferences") or []


def _is_about(reference: Object, owner: Object, kind: OwnerKind) -> bool:
    return kind.is_meant_by(reference) and reference["name"] == owner["metadata"]["name"]


def _is_stale(reference: Object, owner: Object, kind: OwnerKind) -> bool:
    """Whether it is a former one of that name that is meant."""
    return _is_about(reference, owner, kind) and reference["uid"] != owner["metadata"]["uid"]
