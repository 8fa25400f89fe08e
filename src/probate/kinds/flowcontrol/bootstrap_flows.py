"""The bootstrap FlowSchemas and PriorityLevelConfigurations, and how a start restores them after changes.

Two of each are mandatory: a start restores them. The others are suggested: the annotation `apf.kubernetes.io/autoupdate-spec:
"false"` keeps a user's changes. Without the annotation, an object that was never changed is updated.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from probate.api.objects import Object

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
EXEMPT, CATCH_ALL = "exempt", "catch-all"
MANDATORY = frozenset({EXEMPT, CATCH_ALL})

_ALL = ["*"]
_EVERYBODY = ("group=system:unauthenticated", "group=system:authenticated")
_MANAGER, _SCHEDULER = "user=system:kube-controller-manager", "user=system:kube-scheduler"
_SYSTEM_ACCOUNTS = "kube-system/*"
_ELECTION = ["get", "create", "update"]


class BootstrapObject(NamedTuple):
    """A bootstrap object and its resource."""

    resource: str
    object: Object


@cache
def bootstrap_objects() -> tuple[BootstrapObject, ...]:
    """Returns all bootstrap objects, levels first. They are shared: callers must not change them."""
    return (*(BootstrapObject(LEVELS, one) for one in _levels()), *(BootstrapObject(SCHEMAS, one) for one in _schemas()))


def restored_object(seed: BootstrapObject, existing: Object) -> Object | None:
    """Returns the existing object with its spec and annotation restored; None if nothing has to change."""
    meta = existing["metadata"]
    auto_update = (meta.get("annotations") or {}).get(AUTO_UPDATE)
    is_updated = meta["name"] in MANDATORY or auto_update == "true" or (auto_update != "false" and meta.get("generation") == 1)
    annotations = {**(meta.get("annotations") or {}), AUTO_UPDATE: "true" if is_updated else "false"}
    changed = is_updated and existing.get("spec") != seed.object["spec"]
    if not changed and annotations == meta.get("annotations"):
        return None
    generation = (meta.get("generation") or 0) + changed
    spec = seed.object["spec"] if is_updated else existing.get("spec")
    return {**existing, "metadata": {**meta, "annotations": annotations, "generation": generation}, "spec": spec}


def _levels() -> list[Object]:
    none = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    rejecting = {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}}
    return [
        _object("PriorityLevelConfiguration", EXEMPT, {"type": "Exempt", "exempt": none}),
        _object("PriorityLevelConfiguration", CATCH_ALL, {"type": "Limited", "limited": rejecting}),
        _level("system", shares=30, lendable=33, queues=64),
        _level("node-high", shares=40, lendable=25, queues=64),
        _level("leader-election", shares=10, lendable=0, queues=16, hand=4),
        _level("workload-high", shares=40, lendable=50, queues=128),
        _level("workload-low", shares=100, lendable=90, queues=128),
        _level("global-default", shares=20, lendable=50, queues=128),
    ]


def _schemas() -> list[Object]:
    leases = _about(_ELECTION, "coordination.k8s.io", "leases")
    probes = {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}
    health = [_about(_ALL, "", "nodes", "nodes/status", is_wide=True), _about(_ALL, "coordination.k8s.io", "leases")]
    return [
        _schema(EXEMPT, EXEMPT, 1, by="", subjects=["group=system:masters"]),
        _schema("probes", EXEMPT, 2, by="", subjects=_EVERYBODY, resources=(), urls=(probes,)),
        _schema(
            "system-leader-election",
            "leader-election",
            100,
            by="ByUser",
            subjects=[_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS],
            resources=[leases],
        ),
        _schema(
            "endpoint-controller",
            "workload-high",
            150,
            by="ByUser",
            subjects=[_MANAGER, "kube-system/endpoint-controller", "kube-system/endpointslicemirroring-controller"],
            resources=[_about(_ELECTION, "", "endpoints")],
        ),
        _schema(
            "workload-leader-election",
            "leader-election",
            200,
            by="ByUser",
            subjects=[_SYSTEM_ACCOUNTS],
            resources=[_about(_ELECTION, "", "endpoints", "configmaps"), leases],
        ),
        _schema("system-node-high", "node-high", 400, by="ByUser", subjects=["group=system:nodes"], resources=health),
        _schema("system-nodes", "system", 500, by="ByUser", subjects=["group=system:nodes"]),
        _schema("kube-controller-manager", "workload-high", 800, by="ByNamespace", subjects=[_MANAGER]),
        _schema("kube-scheduler", "workload-high", 800, by="ByNamespace", subjects=[_SCHEDULER]),
        _schema("kube-system-service-accounts", "workload-high", 900, by="ByNamespace", subjects=[_SYSTEM_ACCOUNTS]),
        _schema("service-accounts", "workload-low", 9000, by="ByUser", subjects=["group=system:serviceaccounts"]),
        _schema("global-default", "global-default", 9900, by="ByUser", subjects=_EVERYBODY),
        _schema(CATCH_ALL, CATCH_ALL, 10000, by="ByUser", subjects=_EVERYBODY),
    ]


def _level(name: str, *, shares: int, lendable: int, queues: int, hand: int = 6) -> Object:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing}
    limited = {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}
    return _object("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited})


def _about(verbs: list[str], group: str, *resources: str, is_wide: bool = False) -> Object:
    """Returns a rule about resources in every namespace, and also about cluster-scoped requests if it is wide."""
    rule = {"verbs": verbs, "apiGroups": [group], "resources": list(resources), "namespaces": _ALL}
    return {**rule, "clusterScope": True} if is_wide else rule


_ANYTHING = _about(_ALL, "*", "*", is_wide=True)
_ANYWHERE = {"verbs": _ALL, "nonResourceURLs": _ALL}


def _schema(
    name: str,
    level: str,
    precedence: int,
    *,
    by: str,
    subjects: list[str] | tuple[str, ...],
    resources: list[Object] | tuple[Object, ...] | None = None,
    urls: tuple[Object, ...] = (),
) -> Object:
    """Returns a FlowSchema that matches all requests of the subjects, or only those that the arguments name."""
    rule: Object = {"subjects": [_subject(one) for one in subjects]}
    resource_rules, url_rules = ((_ANYTHING,), (_ANYWHERE,)) if resources is None else (resources, urls)
    rule |= {"resourceRules": list(resource_rules)} if resource_rules else {}
    rule |= {"nonResourceRules": list(url_rules)} if url_rules else {}
    spec = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence, "rules": [rule]}
    return _object("FlowSchema", name, {**spec, **({"distinguisherMethod": {"type": by}} if by else {})})


def _subject(text: str) -> Object:
    kind, equals, name = text.partition("=")
    if equals:
        return {"kind": kind.capitalize(), kind: {"name": name}}
    namespace, _, account = text.partition("/")
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": account}}


def _object(kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "annotations": {AUTO_UPDATE: "true"}}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": meta, "spec": spec}
