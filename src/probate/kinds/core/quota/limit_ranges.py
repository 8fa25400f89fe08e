"""Applies LimitRanges: default requests and limits of containers, and limits of containers, pods and claims.

Messages are Kubernetes' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from probate.api.objects import Object
from probate.kinds.core.pods import resource_totals
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amount, Amounts

ANNOTATION = "kubernetes.io/limit-ranger"
CONTAINER, POD, CLAIM = "Container", "Pod", "PersistentVolumeClaim"


def set_container_defaults(pod: Object, ranges: Iterable[Object]) -> None:
    """Sets default requests and limits of the pod's containers from the ranges, and records that in an annotation of the pod."""
    for range_ in ranges:
        defaulted = list(_default_pod(pod, range_))
        if defaulted:
            notes = pod.setdefault("metadata", {}).setdefault("annotations", {})
            notes[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(defaulted)


def _default_pod(pod: Object, range_: Object) -> Iterator[str]:
    usual: dict[str, dict[str, Any]] = {"requests": {}, "limits": {}}
    for limit in _limits(range_, CONTAINER):
        usual["requests"] |= limit.get("defaultRequest") or {}
        usual["limits"] |= limit.get("default") or {}
    for part, called in (("initContainers", "init container"), ("containers", "container")):
        for container in pod["spec"].get(part) or ():
            for which, word in (("requests", "request"), ("limits", "limit")):
                if given := _default_container(container, which, usual[which]):
                    yield f"{', '.join(given)} {word} for {called} {container['name']}"


def _default_container(container: Object, which: str, usual: Mapping[str, Any]) -> list[str]:
    has = (container.get("resources") or {}).get(which) or {}
    given = sorted(usual.keys() - has.keys())
    if given:
        resources = container["resources"] = dict(container.get("resources") or {})
        resources[which] = {**has, **{name: usual[name] for name in given}}
    return given


def problems(resource: str, object_: Object, ranges: Iterable[Object]) -> list[str]:
    """Returns the violations of the ranges by the pod or the claim."""
    if resource == "pods":
        return [one for range_ in ranges for one in _of_pod(object_.get("spec") or {}, range_)]
    requests = quantity_sums.read(((object_.get("spec") or {}).get("resources") or {}).get("requests"))
    return [one for range_ in ranges for limit in _limits(range_, CLAIM) for one in _of_claim(limit, requests)]


def join_problems(found: list[str]) -> str:
    """Joins several problems into one message."""
    once = list(dict.fromkeys(found))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


def _limits(range_: Object, kind: str) -> list[Object]:
    return [one for one in (range_.get("spec") or {}).get("limits") or () if one.get("type") == kind]


def _of_pod(spec: Object, range_: Object) -> Iterator[str]:
    for limit in _limits(range_, CONTAINER):
        for container in resource_totals.containers(spec):
            given = container.get("resources") or {}
            yield from _check(
                limit, CONTAINER, requests=quantity_sums.read(given.get("requests")), limits=quantity_sums.read(given.get("limits"))
            )
    for limit in _limits(range_, POD):
        yield from _check(
            limit,
            POD,
            requests=resource_totals.pod_resources(spec, "requests"),
            limits=resource_totals.pod_resources(spec, "limits"),
        )


def _check(limit: Object, kind: str, *, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in _amounts(limit, "min"):
        yield from _below_minimum(kind, name, least, requests=requests, limits=limits)
    for name, most in _amounts(limit, "max"):
        yield from _above_maximum(kind, name, most, requests=requests, limits=limits)
    for name, ratio in _amounts(limit, "maxLimitRequestRatio"):
        yield from _above_ratio(kind, name, ratio, requests=requests, limits=limits)


def _amounts(limit: Object, field: str) -> Iterator[tuple[str, Amount]]:
    yield from sorted(quantity_sums.read(limit.get(field)).items())


def _below_minimum(kind: str, name: str, least: Amount, *, requests: Amounts, limits: Amounts) -> Iterator[str]:
    rule = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{rule}.  No request is specified"
    elif requests[name].size < least.size:
        yield f"{rule}, but request is {requests[name]}"
    elif name in limits and limits[name].size < least.size:
        yield f"{rule}, but limit is {limits[name]}"


def _above_maximum(kind: str, name: str, most: Amount, *, requests: Amounts, limits: Amounts) -> Iterator[str]:
    rule = f"maximum {name} usage per {kind} is {most}"
    if name not in limits:
        yield f"{rule}.  No limit is specified"
    elif limits[name].size > most.size:
        yield f"{rule}, but limit is {limits[name]}"
    elif name in requests and requests[name].size > most.size:
        yield f"{rule}, but request is {requests[name]}"


def _above_ratio(kind: str, name: str, ratio: Amount, *, requests: Amounts, limits: Amounts) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {ratio}"
    if name not in requests or not requests[name].size:
        yield f"{rule}, but no request is specified or request is 0"
    elif name not in limits or not limits[name].size:
        yield f"{rule}, but no limit is specified or limit is 0"
    elif (found := limits[name].size / requests[name].size) > ratio.size:
        yield f"{rule}, but provided ratio is {float(found):f}"


def _of_claim(limit: Object, requests: Amounts) -> Iterator[str]:
    for name, least in _amounts(limit, "min"):
        yield from _below_minimum(CLAIM, name, least, requests=requests, limits={})
    for name, most in _amounts(limit, "max"):
        rule = f"maximum {name} usage per {CLAIM} is {most}"
        if name not in requests:
            yield f"{rule}.  No request is specified"
        elif requests[name].size > most.size:
            yield f"{rule}, but request is {requests[name]}"
