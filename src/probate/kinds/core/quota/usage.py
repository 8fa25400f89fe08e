"""What one object counts for, by the names that quotas have for it. (Resources are named as in the store: `deployments.apps`.)"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from probate.kinds.core.pods import resource_totals
from probate.kinds.core.pods.qos_class import qos_class
from probate.kinds.core.quota import quantity_sums
from probate.kinds.core.quota.quantity_sums import ONE, Amount, Amounts

Object = dict[str, Any]

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_OLD_NAMES = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_OF_A_CLASS = ".storageclass.storage.k8s.io/"
_ENDED = frozenset({"Succeeded", "Failed"})


class Facts(NamedTuple):
    """What scopes ask of an object."""

    is_terminating: bool = False
    is_best_effort: bool = False
    priority_class: str = ""
    is_crossing: bool = False
    attribute_classes: frozenset[str] = frozenset()


class Counted(NamedTuple):
    """An object as quotas see it."""

    resource: str
    usage: Amounts
    facts: Facts


def count(resource: str, object_: Object) -> Counted:
    """What the object counts for."""
    if resource == PODS:
        return Counted(resource, _pod(object_), _pod_facts(object_))
    if resource == SERVICES:
        return Counted(resource, _service(object_.get("spec") or {}), Facts())
    if resource == CLAIMS:
        return Counted(resource, _claim(object_), Facts(attribute_classes=_attribute_classes(object_)))
    return Counted(resource, _plain(resource), Facts())


def counted_by(name: str) -> str:
    """The resource whose objects count for what a quota calls this."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _OLD_NAMES:
        return name
    if name == SERVICES or name.startswith("services."):
        return SERVICES
    if name in {CLAIMS, "requests.storage"} or _OF_A_CLASS in name:
        return CLAIMS
    return PODS


def counted_together(names: Iterable[str]) -> set[str]:
    """The resources whose objects count for any of these."""
    return {counted_by(name) for name in names}


def _plain(resource: str) -> Amounts:
    return {f"count/{resource}": ONE} | ({resource: ONE} if resource in _OLD_NAMES else {})


def _pod(pod: Object) -> Amounts:
    found = _plain(PODS)
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return found
    spec = pod.get("spec") or {}
    return {
        **found,
        PODS: ONE,
        **resource_totals.computed(resource_totals.needs(spec, "requests"), resource_totals.needs(spec, "limits")),
    }


def _pod_facts(pod: Object) -> Facts:
    spec = pod.get("spec") or {}
    seconds = spec.get("activeDeadlineSeconds")
    return Facts(
        is_terminating=seconds is not None and seconds >= 0,
        is_best_effort=qos_class(spec) == "BestEffort",
        priority_class=spec.get("priorityClassName") or "",
        is_crossing=any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _terms(spec)),
    )


def _terms(spec: Object) -> Iterable[Object]:
    """What a pod says about its neighbours."""
    affinity = spec.get("affinity") or {}
    for side in ("podAffinity", "podAntiAffinity"):
        about = affinity.get(side) or {}
        yield from about.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for one in about.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield one.get("podAffinityTerm") or {}


def _service(spec: Object) -> Amounts:
    found, ports = {**_plain(SERVICES), SERVICES: ONE}, spec.get("ports") or []
    balances = spec.get("type") == "LoadBalancer"
    if balances and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [one for one in ports if one.get("nodePort")]
    if spec.get("type") in {"NodePort", "LoadBalancer"}:
        found["services.nodeports"] = Amount(ONE.size * len(ports))
    if balances:
        found["services.loadbalancers"] = ONE
    return found


def _claim(claim: Object) -> Amounts:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    found = {**_plain(CLAIMS), CLAIMS: ONE}
    asked = quantity_sums.read((spec.get("resources") or {}).get("requests"))
    size = (
        quantity_sums.most(asked, quantity_sums.read(status.get("allocatedResources"))).get("storage")
        if "storage" in asked
        else None
    )
    name = spec.get("storageClassName") or (claim.get("metadata") or {}).get("annotations", {}).get(
        "volume.beta.kubernetes.io/storage-class"
    )
    if size is not None:
        found["requests.storage"] = size
    if name:
        found[f"{name}{_OF_A_CLASS}persistentvolumeclaims"] = ONE
        if size is not None:
            found[f"{name}{_OF_A_CLASS}requests.storage"] = size
    return found


def _attribute_classes(claim: Object) -> frozenset[str]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    under_way = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), under_way)
    return frozenset(name for name in names if name)
