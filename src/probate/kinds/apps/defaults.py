"""Sets the defaults of the apps group and of ReplicationController."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.pods.defaults import default_template
from probate.kinds.core.volumes.claim_defaults import default_claim_template
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero, items, text

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default_deployment(deployment: Object) -> None:
    """Sets the defaults of a Deployment: a rolling update with 25% surge and 25% unavailable."""
    spec = ensure_child(deployment, "spec")
    if spec is None:
        return
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    if (rolling := _default_strategy(spec, "strategy")) is not None:
        fill(rolling, maxUnavailable="25%", maxSurge="25%")
    default_template(spec)


def default_replica_set(replica_set: Object) -> None:
    """Sets the defaults of a ReplicaSet."""
    if (spec := ensure_child(replica_set, "spec")) is not None:
        fill(spec, replicas=1)
        default_template(spec)


def default_daemon_set(daemon_set: Object) -> None:
    """Sets the defaults of a DaemonSet. An annotation for old clients holds the generation of its template."""
    spec = ensure_child(daemon_set, "spec")
    if spec is None:
        return
    fill(spec, revisionHistoryLimit=10)
    if (rolling := _default_strategy(spec, "updateStrategy")) is not None:
        fill(rolling, maxUnavailable=1, maxSurge=0)
    default_template(spec)
    annotations = ensure_child(ensure_child(daemon_set, "metadata") or {}, "annotations")
    if annotations is not None:
        fill(annotations, **{TEMPLATE_GENERATION: "0"})


def default_stateful_set(stateful_set: Object) -> None:
    """Sets the defaults of a StatefulSet. A `RollingUpdate` strategy that is set without details stays without them."""
    spec = ensure_child(stateful_set, "spec")
    if spec is None:
        return
    fill_zero(spec, podManagementPolicy="OrderedReady")
    fill(spec, replicas=1, revisionHistoryLimit=10)
    _default_stateful_strategy(spec)
    if (policy := ensure_child(spec, "persistentVolumeClaimRetentionPolicy")) is not None:
        fill_zero(policy, whenDeleted="Retain", whenScaled="Retain")
    default_template(spec)
    for claim in items(spec, "volumeClaimTemplates"):
        default_claim_template(claim)


def default_replication_controller(controller: Object) -> None:
    """Sets the defaults of a ReplicationController: its selector and labels default to the labels of its template."""
    spec = ensure_child(controller, "spec")
    if spec is None:
        return
    fill(spec, replicas=1)
    if child(spec, "template") is not None:
        default_template(spec)
    labels = {key: value for key, value in (below(spec, "template", "metadata", "labels") or {}).items() if isinstance(value, str)}
    metadata = ensure_child(controller, "metadata")
    for owner, key in ((spec, "selector"), (metadata, "labels")):
        if labels and owner is not None and not owner.get(key):
            owner[key] = dict(labels)


def default_pod_template(pod_template: Object) -> None:
    """Sets the defaults of a PodTemplate."""
    default_template(pod_template)


def _default_strategy(spec: Object, key: str) -> Object | None:
    """Sets the default strategy type. Returns the details of the strategy if it is the rolling one."""
    strategy = ensure_child(spec, key)
    if strategy is None:
        return None
    fill_zero(strategy, type="RollingUpdate")
    return ensure_child(strategy, "rollingUpdate") if strategy["type"] == "RollingUpdate" else None


def _default_stateful_strategy(spec: Object) -> None:
    strategy = ensure_child(spec, "updateStrategy")
    if strategy is None:
        return
    if not text(strategy, "type"):
        fill_zero(strategy, type="RollingUpdate")
        ensure_child(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and (rolling := child(strategy, "rollingUpdate")) is not None:
        fill(rolling, partition=0)
