"""The apps group, and the replication controller that came before it."""

from __future__ import annotations

from probate.kinds.core.pods.defaults import default_template
from probate.kinds.core.volumes.claim_defaults import default_claim_template
from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, items, made, text

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default_deployment(deployment: Object) -> None:
    """Fill a Deployment: a rolling update of a quarter at a time."""
    spec = made(deployment, "spec")
    if spec is None:
        return
    fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    if (rolling := _default_strategy(spec, "strategy")) is not None:
        fill(rolling, maxUnavailable="25%", maxSurge="25%")
    default_template(spec)


def default_replica_set(replica_set: Object) -> None:
    """Fill a ReplicaSet."""
    if (spec := made(replica_set, "spec")) is not None:
        fill(spec, replicas=1)
        default_template(spec)


def default_daemon_set(daemon_set: Object) -> None:
    """Fill a DaemonSet. Its template's generation is kept in an annotation that old clients read."""
    spec = made(daemon_set, "spec")
    if spec is None:
        return
    fill(spec, revisionHistoryLimit=10)
    if (rolling := _default_strategy(spec, "updateStrategy")) is not None:
        fill(rolling, maxUnavailable=1, maxSurge=0)
    default_template(spec)
    annotations = made(made(daemon_set, "metadata") or {}, "annotations")
    if annotations is not None:
        fill(annotations, **{TEMPLATE_GENERATION: "0"})


def default_stateful_set(stateful_set: Object) -> None:
    """Fill a StatefulSet. A rolling update that was asked for by name alone stays without details."""
    spec = made(stateful_set, "spec")
    if spec is None:
        return
    fill_zero(spec, podManagementPolicy="OrderedReady")
    fill(spec, replicas=1, revisionHistoryLimit=10)
    _default_stateful_strategy(spec)
    if (policy := made(spec, "persistentVolumeClaimRetentionPolicy")) is not None:
        fill_zero(policy, whenDeleted="Retain", whenScaled="Retain")
    default_template(spec)
    for claim in items(spec, "volumeClaimTemplates"):
        default_claim_template(claim)


def default_replication_controller(controller: Object) -> None:
    """Fill a ReplicationController: its selector and labels are those of its template."""
    spec = made(controller, "spec")
    if spec is None:
        return
    fill(spec, replicas=1)
    if child(spec, "template") is not None:
        default_template(spec)
    labels = {key: value for key, value in (below(spec, "template", "metadata", "labels") or {}).items() if isinstance(value, str)}
    metadata = made(controller, "metadata")
    for owner, key in ((spec, "selector"), (metadata, "labels")):
        if labels and owner is not None and not owner.get(key):
            owner[key] = dict(labels)


def default_pod_template(pod_template: Object) -> None:
    """Fill a PodTemplate."""
    default_template(pod_template)


def _default_strategy(spec: Object, key: str) -> Object | None:
    """Name the strategy; its details, if it is the rolling one."""
    strategy = made(spec, key)
    if strategy is None:
        return None
    fill_zero(strategy, type="RollingUpdate")
    return made(strategy, "rollingUpdate") if strategy["type"] == "RollingUpdate" else None


def _default_stateful_strategy(spec: Object) -> None:
    strategy = made(spec, "updateStrategy")
    if strategy is None:
        return
    if not text(strategy, "type"):
        fill_zero(strategy, type="RollingUpdate")
        made(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and (rolling := child(strategy, "rollingUpdate")) is not None:
        fill(rolling, partition=0)
