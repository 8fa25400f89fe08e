"""Validates workloads: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, ControllerRevision, PodTemplate."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.core.pods.validation.spec import check_template
from probate.kinds.core.volumes import claim_validation
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_at_most_all,
    check_choice,
    check_count_or_percent,
    check_nonnegative,
    check_optional_name,
    check_unchanged,
    child,
    each,
    is_same,
    is_zero,
    objects,
    text,
    without,
)
from probate.kinds.shared.selector_validation import check_label_selector, is_empty, is_match

_SPEC = FieldPath("spec")
_MISMATCH = "`selector` does not match template `labels`"
_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def check_deployment(deployment: Value) -> Problems:
    """Validates a Deployment."""
    spec = child(deployment, "spec")
    yield from check_nonnegative(spec, _SPEC, "replicas")
    yield from _check_selector(spec, "deployment")
    yield from _check_template(spec)
    yield from check_nonnegative(spec, _SPEC, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    yield from _check_deployment_strategy(child(spec, "strategy"), _SPEC / "strategy")
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        yield invalid(_SPEC / "progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def check_replica_set(replica_set: Value) -> Problems:
    """Validates a ReplicaSet."""
    spec = child(replica_set, "spec")
    yield from check_nonnegative(spec, _SPEC, "replicas", "minReadySeconds")
    yield from _check_selector(spec, "replicaset")
    yield from _check_template(spec)


def check_replication_controller(controller: Value) -> Problems:
    """Validates a ReplicationController, whose selector is a map of labels and defaults to the labels of the template."""
    spec = child(controller, "spec")
    template = spec.get("template")
    labels = child(child(template or {}, "metadata"), "labels")
    selector = spec.get("selector") or labels
    yield from check_nonnegative(spec, _SPEC, "minReadySeconds", "replicas")
    if not selector:
        yield required(_SPEC / "selector")
    if template is None:
        yield required(_SPEC / "template")
        return
    if not is_match({"matchLabels": selector}, labels):
        yield invalid(_SPEC / "template" / "metadata" / "labels", labels, _MISMATCH)
    yield from check_template(template, _SPEC / "template")
    yield from _check_runs_always(template)


def check_daemon_set(daemon_set: Value) -> Problems:
    """Validates a DaemonSet. A missing selector is reported as template labels that do not match."""
    spec = child(daemon_set, "spec")
    selector = spec.get("selector")
    found = list(check_label_selector(selector, _SPEC / "selector"))
    yield from found
    if not found and not is_match(selector, _labels(spec)):
        yield invalid(_SPEC / "template" / "metadata" / "labels", _labels(spec), _MISMATCH)
    if selector is not None and is_empty(selector):
        yield invalid(_SPEC / "selector", selector, "empty selector is invalid for daemonset")
    yield from check_template(child(spec, "template"), _SPEC / "template")
    yield from _check_runs_always(child(spec, "template"))
    yield from check_nonnegative(spec, _SPEC, "minReadySeconds", "revisionHistoryLimit")
    yield from _check_daemon_strategy(child(spec, "updateStrategy"), _SPEC / "updateStrategy")


def check_stateful_set(stateful_set: Value) -> Problems:
    """Validates a StatefulSet: its Pods also have the volumes of its claim templates."""
    spec = child(stateful_set, "spec")
    policy = text(spec, "podManagementPolicy")
    if policy not in {"", "OrderedReady", "Parallel"}:
        yield invalid(_SPEC / "podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _check_stateful_strategy(child(spec, "updateStrategy"), _SPEC / "updateStrategy")
    yield from _check_retention(child(spec, "persistentVolumeClaimRetentionPolicy"), _SPEC / "persistentVolumeClaimRetentionPolicy")
    yield from check_nonnegative(spec, _SPEC, "replicas", "minReadySeconds")
    yield from check_nonnegative(child(spec, "ordinals"), _SPEC / "ordinals", "start")
    yield from _check_selector(spec, "statefulset")
    yield from check_optional_name(spec, _SPEC, "serviceName", rule=names.validate_dns_label)
    yield from _check_template(spec)
    for claim, at in each(spec, _SPEC, "volumeClaimTemplates"):
        yield from claim_validation.check_claim_spec(child(claim, "spec"), at / "spec")


def check_controller_revision(revision: Value) -> Problems:
    """Validates a ControllerRevision, which stores an old version of a workload."""
    if revision.get("data") is None:
        yield required(FieldPath("data"), "data is mandatory")
    yield from check_nonnegative(revision, FieldPath(), "revision")


def check_pod_template(template: Value) -> Problems:
    """Validates a PodTemplate."""
    yield from check_template(child(template, "template"), FieldPath("template"))


def update_by_selector(new: Value, old: Value) -> Problems:
    """Validates that a workload's selector does not change, so that it keeps matching existing Pods."""
    yield from check_unchanged(child(new, "spec").get("selector"), child(old, "spec").get("selector"), _SPEC / "selector")


def update_stateful_set(new: Value, old: Value) -> Problems:
    """Validates that only a few fields of a StatefulSet's spec change."""
    if not is_same(without(child(new, "spec"), *_STATEFUL_MUTABLE), without(child(old, "spec"), *_STATEFUL_MUTABLE)):
        listed = ", ".join(f"'{field}'" for field in _STATEFUL_MUTABLE)
        yield forbidden(_SPEC, f"updates to statefulset spec for fields other than {listed} are forbidden")


def update_controller_revision(new: Value, old: Value) -> Problems:
    """Validates that a ControllerRevision's data do not change."""
    yield from check_unchanged(new.get("data"), old.get("data"), FieldPath("data"))


def _labels(spec: Value) -> Value:
    return child(child(child(spec, "template"), "metadata"), "labels")


def _check_selector(spec: Value, kind: str) -> Problems:
    selector = spec.get("selector")
    if selector is None:
        yield required(_SPEC / "selector")
        return
    yield from check_label_selector(selector, _SPEC / "selector")
    if is_empty(selector):
        yield invalid(_SPEC / "selector", selector, f"empty selector is invalid for {kind}")


def _check_template(spec: Value) -> Problems:
    selector = spec.get("selector")
    if any(check_label_selector(selector, _SPEC / "selector")):
        yield invalid(_SPEC / "selector", selector, "invalid label selector")
        return
    if not is_match(selector, _labels(spec)):
        yield invalid(_SPEC / "template" / "metadata" / "labels", _labels(spec), _MISMATCH)
    claims = tuple(text(child(claim, "metadata"), "name") for claim in objects(spec, "volumeClaimTemplates"))
    yield from check_template(child(spec, "template"), _SPEC / "template", claims=claims)
    yield from _check_runs_always(child(spec, "template"))


def _check_runs_always(template: Value) -> Problems:
    pod, path = child(template, "spec"), _SPEC / "template" / "spec"
    if text(pod, "restartPolicy") not in {"", "Always"}:
        yield not_supported(path / "restartPolicy", text(pod, "restartPolicy"), ["Always"])
    if pod.get("activeDeadlineSeconds") is not None:
        yield forbidden(path / "activeDeadlineSeconds", "not supported in a workload that keeps its pods running")


def _check_deployment_strategy(strategy: Value, path: FieldPath) -> Problems:
    kind, rolling = text(strategy, "type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind not in {"Recreate", "RollingUpdate"}:
        yield not_supported(path, kind, ["Recreate", "RollingUpdate"])
    elif kind == "Recreate" and rolling is not None:
        yield forbidden(path / "rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif rolling is not None:
        unavailable, surge = rolling.get("maxUnavailable", "25%"), rolling.get("maxSurge", "25%")
        yield from _check_rolling_update(unavailable, surge, path / "rollingUpdate")
        if is_zero(unavailable) and is_zero(surge):
            yield invalid(path / "rollingUpdate" / "maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")


def _check_rolling_update(unavailable: Any, surge: Any, path: FieldPath) -> Problems:
    yield from check_count_or_percent(unavailable or 0, path / "maxUnavailable")
    yield from check_count_or_percent(surge or 0, path / "maxSurge")
    yield from check_at_most_all(unavailable, path / "maxUnavailable")


def _check_daemon_strategy(strategy: Value, path: FieldPath) -> Problems:
    kind, rolling = text(strategy, "type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind not in {"OnDelete", "RollingUpdate"}:
        yield not_supported(path, kind, ["OnDelete", "RollingUpdate"])
    elif kind == "RollingUpdate" and rolling is not None:
        path = path / "rollingUpdate"
        unavailable, surge = rolling.get("maxUnavailable", 1), rolling.get("maxSurge", 0)
        yield from _check_rolling_update(unavailable, surge, path)
        yield from check_at_most_all(surge, path / "maxSurge")
        if not is_zero(unavailable) and not is_zero(surge):
            yield invalid(path / "maxSurge", surge, "may not be set when maxUnavailable is non-zero")
        elif is_zero(unavailable) and is_zero(surge):
            yield required(path / "maxUnavailable", "cannot be 0 when maxSurge is 0")


def _check_stateful_strategy(strategy: Value, path: FieldPath) -> Problems:
    kind, rolling = text(strategy, "type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind not in {"OnDelete", "RollingUpdate"}:
        yield invalid(path, kind, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is None:
        return
    elif kind == "OnDelete":
        yield invalid(path / "rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'")
    else:
        yield from check_nonnegative(rolling, path / "rollingUpdate", "partition")
        yield from _check_stateful_rolling_update(rolling.get("maxUnavailable"), path / "rollingUpdate" / "maxUnavailable")


def _check_stateful_rolling_update(unavailable: Any, path: FieldPath) -> Problems:
    if unavailable is None:
        return
    yield from check_count_or_percent(unavailable, path)
    yield from check_at_most_all(unavailable, path)
    if is_zero(unavailable):
        yield invalid(path, unavailable, "cannot be 0")


def _check_retention(policy: Value, path: FieldPath) -> Problems:
    for field in ("whenDeleted", "whenScaled"):
        yield from check_choice(policy, path, field, supported=("Retain", "Delete"))
