"""Sets the defaults of volumes of pods and templates, and of the sources that they share with PersistentVolumes."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.core.pods import container_defaults
from probate.kinds.core.volumes import claim_defaults
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import child, ensure_child, fill, fill_zero, items, text

_MODE = 0o644
_HOUR = 3600
_WITH_MODE = ("secret", "configMap", "downwardAPI", "projected")


def default_volume(volume: Object) -> None:
    """Sets the defaults of one volume of a pod. A volume without a source becomes an emptyDir."""
    if not any(value is not None for key, value in volume.items() if key != "name"):
        volume["emptyDir"] = {}
    for name in _WITH_MODE:
        if (source := child(volume, name)) is not None:
            fill(source, defaultMode=_MODE)
            _default_file_items(source)
    if (image := child(volume, "image")) is not None:
        fill_zero(image, pullPolicy=container_defaults.pull_policy(text(image, "reference")))
    if (empty := child(volume, "emptyDir")) is not None:
        quantity_defaults.normalize(empty, "sizeLimit")
    _default_ephemeral(child(volume, "ephemeral"))
    _default_projected(child(volume, "projected"))
    default_source(volume)


def default_source(volume: Object) -> None:
    """Sets the defaults of the sources that pod volumes and PersistentVolumes have in common."""
    if (host_path := child(volume, "hostPath")) is not None:
        fill(host_path, type="")
    if (iscsi := child(volume, "iscsi")) is not None:
        fill_zero(iscsi, iscsiInterface="default")
    if (rbd := child(volume, "rbd")) is not None:
        fill_zero(rbd, pool="rbd", user="admin", keyring="/etc/ceph/keyring")
    if (disk := child(volume, "azureDisk")) is not None:
        fill(disk, cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared")
    if (scale_io := child(volume, "scaleIO")) is not None:
        fill_zero(scale_io, storageMode="ThinProvisioned", fsType="xfs")


def _default_file_items(source: Object) -> None:
    for item in items(source, "items"):
        container_defaults.default_field_reference(item)


def _default_projected(projected: Object | None) -> None:
    if projected is None:
        return
    for source in items(projected, "sources"):
        if (token := child(source, "serviceAccountToken")) is not None:
            fill(token, expirationSeconds=_HOUR)
        if (downward := child(source, "downwardAPI")) is not None:
            _default_file_items(downward)


def _default_ephemeral(ephemeral: Object | None) -> None:
    template = None if ephemeral is None else child(ephemeral, "volumeClaimTemplate")
    if template is not None:
        claim_defaults.default_claim_spec(ensure_child(template, "spec"))
