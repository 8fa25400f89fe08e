"""Prepares kinds of the core group, except Pods and Services."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.volumes import data_sources
from probate.kinds.shared.object_fields import add_finalizer, add_to_list, child, ensure_child, fill_zero, items, restore_fields

_NOT_READY = {"effect": "NoSchedule", "key": "node.kubernetes.io/not-ready"}


def create_namespace(namespace: Object) -> None:
    """Prepares a new Namespace: adds the `kubernetes` finalizer, which holds it until its content is deleted."""
    if (spec := ensure_child(namespace, "spec")) is not None:
        add_to_list(spec, "finalizers", "kubernetes")


def update_namespace(new: Object, old: Object) -> None:
    """Prepares a changed Namespace: `spec.finalizers` change through `finalize` only."""
    if (spec := ensure_child(new, "spec")) is not None:
        restore_fields(spec, child(old, "spec") or {}, "finalizers")


def create_node(node: Object) -> None:
    """Prepares a new Node: taints it as not ready until it reports ready, keeps its status, and drops its kubelet configuration."""
    if (spec := ensure_child(node, "spec")) is not None:
        spec.pop("configSource", None)
        if not any(_is_not_ready(taint) for taint in items(spec, "taints")):
            spec["taints"] = [*items(spec, "taints"), dict(_NOT_READY)]
    if (status := child(node, "status")) is not None:
        status.pop("config", None)


def update_node(new: Object, old: Object) -> None:
    """Prepares a changed Node: it cannot get a kubelet configuration (`configSource`), but may keep an existing one."""
    if (spec := child(new, "spec")) is not None and (child(old, "spec") or {}).get("configSource") is None:
        spec.pop("configSource", None)


def update_node_status(new: Object, old: Object) -> None:
    """Prepares a Node status update: drops the kubelet configuration status unless the Node had one."""
    if (status := child(new, "status")) is not None and (child(old, "status") or {}).get("config") is None:
        status.pop("config", None)


def create_account(account: Object) -> None:
    """Prepares a new ServiceAccount: keeps only the names of its secrets."""
    if items(account, "secrets"):
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in items(account, "secrets")]


def update_account(new: Object, old: Object) -> None:
    """Prepares a changed ServiceAccount in the same way."""
    create_account(new)


def create_limit_range(limits: Object, *, uid: str) -> None:
    """Prepares a new LimitRange: the only kind that needs no name; without one it is named by its UID."""
    if (metadata := ensure_child(limits, "metadata")) is not None:
        fill_zero(metadata, name=uid)


def create_claim(claim: Object) -> None:
    """Prepares a new PersistentVolumeClaim: adds the finalizer that holds it as long as a pod uses it."""
    add_finalizer(claim, "kubernetes.io/pvc-protection")
    data_sources.normalize(claim, {})


def update_claim(new: Object, old: Object) -> None:
    """Prepares a changed PersistentVolumeClaim: keeps `dataSource` and `dataSourceRef` equal."""
    data_sources.normalize(new, old)


def create_volume(volume: Object, *, now: str) -> None:
    """Prepares a new PersistentVolume: adds the finalizer that holds it while a claim is bound to it, and sets its first phase."""
    add_finalizer(volume, "kubernetes.io/pv-protection")
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}


def update_volume_status(new: Object, old: Object, *, now: str) -> None:
    """Prepares a PersistentVolume status update: a new phase begins now, unless the update sets its time."""
    status, before = ensure_child(new, "status"), child(old, "status") or {}
    if status is None or status.get("phase") == before.get("phase"):
        return
    if status.get("lastPhaseTransitionTime") in (None, before.get("lastPhaseTransitionTime")):
        status["lastPhaseTransitionTime"] = now


def _is_not_ready(taint: Object) -> bool:
    return all(taint.get(key) == value for key, value in _NOT_READY.items())
