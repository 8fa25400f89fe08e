"""Settles the two data source fields of a PersistentVolumeClaim: `dataSource` is a special case of `dataSourceRef`.

`dataSource` takes claims and snapshots: other values are dropped silently, as in Kubernetes. `dataSourceRef` takes any kind, but
not in another namespace. A claim that had a data source keeps it.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, ensure_child

_OLD_KINDS = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


def normalize(claim: Object, old: Object) -> None:
    """Drops unsupported data sources and makes both fields equal. `old` is empty if the claim is new."""
    spec, before = ensure_child(claim, "spec"), child(old, "spec") or {}
    if spec is None:
        return
    source, reference = child(spec, "dataSource"), child(spec, "dataSourceRef")
    if reference is not None and reference.get("namespace") and before.get("dataSourceRef") is None:
        reference = None
        del spec["dataSourceRef"]
    if source is not None and reference is None and before.get("dataSource") is None and not _is_old(source):
        source = None
        del spec["dataSource"]
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _is_old(source: Object) -> bool:
    return (source.get("apiGroup") or "", source.get("kind") or "") in _OLD_KINDS
