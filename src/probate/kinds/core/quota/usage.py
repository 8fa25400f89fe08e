"""Computes the usage of one object, under the names that quotas use.

Resources are named as in the store: `deployments.apps`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.kinds.core.pods import resource_totals
from probate.kinds.core.pods.qos_class import qos_class
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import ONE, Amount, Amounts

PODS, SERVICES, CLAIMS = "pods", "services", "persistentvolumeclaims"
_OLD_NAMES = frozenset({"configmaps", "secrets", "replicationcontrollers", "resourcequotas"})
_OF_A_CLASS = ".storageclass.storage.k8s.io/"
_ENDED = frozenset({"Succeeded", "Failed"})


class ScopeFacts(NamedTuple):
    """The properties of an object that scopes select by."""

    is_terminating: bool = False
    is_best_effort: bool = False
    priority_class: str = ""
    is_crossing: bool = False
    attribute_classes: frozenset[str] = frozenset()


class ObjectUsage(NamedTuple):
    """An object's usage and facts, as quotas evaluate them."""

    resource: str
    usage: Amounts
    facts: ScopeFacts


def object_usage(resource: str, object_: Object) -> ObjectUsage:
    """Returns the usage of the object."""
    if resource == PODS:
        return ObjectUsage(resource, _pod(object_), _pod_facts(object_))
    if resource == SERVICES:
        return ObjectUsage(resource, _service(object_.get("spec") or {}), ScopeFacts())
    if resource == CLAIMS:
        return ObjectUsage(resource, _claim(object_), ScopeFacts(attribute_classes=_attribute_classes(object_)))
    return ObjectUsage(resource, _plain(resource), ScopeFacts())


def counted_resource(name: str) -> str:
    """Returns the resource whose objects count towards this quota resource name."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _OLD_NAMES:
        return name
    if name == SERVICES or name.startswith("services."):
        return SERVICES
    if name in {CLAIMS, "requests.storage"} or _OF_A_CLASS in name:
        return CLAIMS
    return PODS


def counted_resources(names: Iterable[str]) -> set[str]:
    """Returns the resources whose objects count towards any of these names."""
    return {counted_resource(name) for name in names}


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
        **resource_totals.quota_amounts(
            resource_totals.pod_resources(spec, "requests"), resource_totals.pod_resources(spec, "limits")
        ),
    }


def _pod_facts(pod: Object) -> ScopeFacts:
    spec = pod.get("spec") or {}
    seconds = spec.get("activeDeadlineSeconds")
    return ScopeFacts(
        is_terminating=seconds is not None and seconds >= 0,
        is_best_effort=qos_class(spec) == "BestEffort",
        priority_class=spec.get("priorityClassName") or "",
        is_crossing=any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _terms(spec)),
    )


def _terms(spec: Object) -> Iterable[Object]:
    """Returns the pod affinity and anti-affinity terms of a pod."""
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
    requests = quantity_sums.read((spec.get("resources") or {}).get("requests"))
    size = (
        quantity_sums.larger_amounts(requests, quantity_sums.read(status.get("allocatedResources"))).get("storage")
        if "storage" in requests
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
