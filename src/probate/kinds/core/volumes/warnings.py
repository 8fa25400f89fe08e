"""Warns about PersistentVolumeClaims, PersistentVolumes and StorageClasses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probate.api.field_errors import FieldPath
from probate.kinds.shared import byte_size_warnings, node_label_warnings
from probate.kinds.shared.field_checks import Value, child, each, text

_SPEC, _ANNOTATIONS = FieldPath("spec"), FieldPath("metadata.annotations")
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DEPRECATED_SOURCES: Mapping[str, str] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""Deprecated volume sources, of pod volumes and PersistentVolumes alike."""


def of_claim(claim: Value) -> Iterator[str]:
    """Yields the warnings about a PersistentVolumeClaim."""
    yield from _of_annotation(claim)
    yield from of_claim_spec(child(claim, "spec"), _SPEC)


def of_claim_spec(spec: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about a claim's spec, in a claim or a template."""
    resources, at = spec.get("resources"), path / "resources"
    if resources:
        yield from byte_size_warnings.of_sizes(resources.get("requests"), at / "requests", "storage")
        yield from byte_size_warnings.of_sizes(resources.get("limits"), at / "limits", "storage")


def of_volume(volume: Value) -> Iterator[str]:
    """Yields the warnings about a PersistentVolume."""
    spec = child(volume, "spec")
    yield from _of_annotation(volume)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield "spec.persistentVolumeReclaimPolicy: Recycle is deprecated: use dynamic provisioning instead"
    required = child(child(spec, "nodeAffinity"), "required")
    for term, at in each(required, _SPEC / "nodeAffinity" / "required", "nodeSelectorTerms"):
        yield from node_label_warnings.of_term(term, at, checks_values=True)
    yield from of_source(spec, _SPEC)


def of_source(volume: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about the source of a volume."""
    if not DEPRECATED_SOURCES.keys().isdisjoint(volume):
        yield from (
            f"{path / source}: {DEPRECATED_SOURCES[source]}"
            for source in volume
            if source in DEPRECATED_SOURCES and volume[source] is not None
        )


def of_class(class_: Value) -> Iterator[str]:
    """Yields the warnings about a StorageClass."""
    for topology, at in each(class_, FieldPath(), "allowedTopologies"):
        for expression, place in each(topology, at, "matchLabelExpressions"):
            yield from node_label_warnings.of_key(text(expression, "key"), place / "key")


def of_capacity(capacity: Value) -> Iterator[str]:
    """Yields the warnings about a CSIStorageCapacity."""
    topology, at = child(capacity, "nodeTopology"), FieldPath("nodeTopology")
    yield from node_label_warnings.of_term(topology, at)
    for key in child(topology, "matchLabels"):
        if key in node_label_warnings.DEPRECATED:
            yield f"{at / 'matchLabels' / key}: {node_label_warnings.DEPRECATED[key]}"


def _of_annotation(object_: Value) -> Iterator[str]:
    if _OLD_CLASS in child(object_["metadata"], "annotations"):
        yield f'{_ANNOTATIONS @ _OLD_CLASS}: deprecated since v1.8; use "storageClassName" attribute instead'
