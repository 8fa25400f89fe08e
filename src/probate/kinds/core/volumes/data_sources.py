"""What a PersistentVolumeClaim is filled from. It has two fields for that: the old one is a special case of the new one.

The old field takes claims and snapshots: what else it says is dropped without a word, as it always was. The new one takes anything,
but nothing in another namespace. A claim that had a source already keeps what it has.
"""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, child, made

_OLD_KINDS = frozenset({("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")})


def settle(claim: Object, old: Object) -> None:
    """Drop the sources that nobody can use, and let both fields say the same. `old` is empty if the claim is new."""
    spec, before = made(claim, "spec"), child(old, "spec") or {}
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
