"""Who makes volumes and takes them away again: as far as objects go, for there are no disks behind them.

Ours makes volumes with a path of a host. It deletes them, and, as Kubernetes does, volumes with a path under /tmp; it recycles
all that have a path. Volumes of anybody else are left to them.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.storage import volume_matching
from probate.controllers.storage.volume_matching import PROVISIONED_BY

OURS = "probate.dev/hostpath"
HOST_PATH = "kubernetes.io/host-path"
FOLDER = "/var/lib/probate/volumes"
IN_TREE = "kubernetes.io/"
FINALIZER, EXTERNAL_FINALIZER = "kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer"


class Deleter(Enum):
    """Who deletes what a volume stands for."""

    OURS = "ours"
    EXTERNAL = "external"
    NOBODY = "nobody"


class Trouble(NamedTuple):
    """Why it could not be done."""

    message: str


def deleter_of(volume: Object) -> Deleter:
    """Who deletes the volume. (PV-11)"""
    maker = volume_matching.annotation(volume, PROVISIONED_BY)
    if maker:
        if maker in {OURS, HOST_PATH}:
            return Deleter.OURS
        return Deleter.NOBODY if maker.startswith(IN_TREE) else Deleter.EXTERNAL
    if volume_matching.annotation(volume, volume_matching.MIGRATED_TO) or "csi" in volume["spec"]:
        return Deleter.EXTERNAL
    return Deleter.OURS if "hostPath" in volume["spec"] else Deleter.NOBODY


def delete(volume: Object) -> Trouble | None:
    """Delete what the volume stands for."""
    path = (volume["spec"].get("hostPath") or {}).get("path") or ""
    if volume_matching.annotation(volume, PROVISIONED_BY) == OURS or re.fullmatch(r"/tmp/.+", path):  # noqa: S108
        return None
    return Trouble(f"only paths under /tmp can be deleted, and this one is {path!r}")


def recycle(volume: Object) -> Trouble | None:
    """Make the volume as good as new. (PV-19)"""
    if "hostPath" in volume["spec"] or "nfs" in volume["spec"]:
        return None
    return Trouble("no volume plugin can recycle it")


def finalizers(volume: Object) -> list[str]:
    """The finalizers that the volume should have. (PV-16)"""
    before: list[str] = volume["metadata"].get("finalizers") or []
    maker = volume_matching.annotation(volume, PROVISIONED_BY)
    if volume_matching.annotation(volume, volume_matching.MIGRATED_TO):
        return [one for one in before if one != FINALIZER]
    if not maker.startswith(IN_TREE):
        return before
    kept = [one for one in before if one not in (FINALIZER, EXTERNAL_FINALIZER)]
    is_held = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete" and (FINALIZER in before or not is_deleting(volume))
    return (
        before
        if is_held and FINALIZER in before and EXTERNAL_FINALIZER not in before
        else [*kept, *([FINALIZER] if is_held else [])]
    )


def new_volume(claim: Object, class_: Object, reference: Object) -> Object:
    """A volume for the claim, made by us."""
    name = f"pvc-{claim['metadata']['uid']}"
    node = volume_matching.annotation(claim, volume_matching.SELECTED_NODE)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if node else {}
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: OURS, volume_matching.BOUND_BY_US: "yes"}},
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "claimRef": reference,
            "hostPath": {"path": f"{FOLDER}/{name}", "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": class_.get("reclaimPolicy") or "Delete",
            "storageClassName": class_["metadata"]["name"],
            "volumeMode": claim["spec"].get("volumeMode") or "Filesystem",
            **({"mountOptions": class_["mountOptions"]} if class_.get("mountOptions") else {}),
            **affinity,
        },
    }
