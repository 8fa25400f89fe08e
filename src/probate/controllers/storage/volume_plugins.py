"""The host-path volume plugin: provisions, deletes and recycles volumes as objects only, without disks behind them.

It provisions volumes with a path on the host. It deletes those and, as Kubernetes does, volumes with a path under /tmp; it recycles
all that have a path. Volumes of other provisioners are left to them.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from probate.api import tenants
from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.storage import volume_matcher
from probate.controllers.storage.volume_matcher import PROVISIONED_BY

PROVISIONER = "probate.dev/hostpath"
HOST_PATH = "kubernetes.io/host-path"
FOLDER = "/var/lib/probate/volumes"
IN_TREE = "kubernetes.io/"
FINALIZER, EXTERNAL_FINALIZER = "kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer"


class Deleter(Enum):
    """Who deletes the storage behind a volume."""

    THIS_PLUGIN = "this plugin"
    EXTERNAL = "external"
    NOBODY = "nobody"


class PluginError(NamedTuple):
    """Why an operation failed."""

    message: str


def deleter_of(volume: Object) -> Deleter:
    """Returns who deletes the volume. (PV-11)"""
    provisioner = volume_matcher.annotation(volume, PROVISIONED_BY)
    if provisioner:
        if provisioner in {PROVISIONER, HOST_PATH}:
            return Deleter.THIS_PLUGIN
        return Deleter.NOBODY if provisioner.startswith(IN_TREE) else Deleter.EXTERNAL
    if volume_matcher.annotation(volume, volume_matcher.MIGRATED_TO) or "csi" in volume["spec"]:
        return Deleter.EXTERNAL
    return Deleter.THIS_PLUGIN if "hostPath" in volume["spec"] else Deleter.NOBODY


def delete(volume: Object) -> PluginError | None:
    """Deletes the storage behind the volume. Returns why it could not."""
    path = (volume["spec"].get("hostPath") or {}).get("path") or ""
    if volume_matcher.annotation(volume, PROVISIONED_BY) == PROVISIONER or re.fullmatch(r"/tmp/.+", path):  # noqa: S108
        return None
    return PluginError(f"only paths under /tmp can be deleted, and this one is {path!r}")


def recycle(volume: Object) -> PluginError | None:
    """Erases the storage behind the volume. Returns why it could not. (PV-19)"""
    if "hostPath" in volume["spec"] or "nfs" in volume["spec"]:
        return None
    return PluginError("no volume plugin can recycle it")


def finalizers(volume: Object) -> list[str]:
    """Returns the finalizers that the volume should have. (PV-16)"""
    before: list[str] = volume["metadata"].get("finalizers") or []
    provisioner = volume_matcher.annotation(volume, PROVISIONED_BY)
    if volume_matcher.annotation(volume, volume_matcher.MIGRATED_TO):
        return [finalizer for finalizer in before if finalizer != FINALIZER]
    if not provisioner.startswith(IN_TREE):
        return before
    others = [finalizer for finalizer in before if finalizer not in (FINALIZER, EXTERNAL_FINALIZER)]
    is_held = volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete" and (FINALIZER in before or not is_deleting(volume))
    return (
        before
        if is_held and FINALIZER in before and EXTERNAL_FINALIZER not in before
        else [*others, *([FINALIZER] if is_held else [])]
    )


def new_volume(claim: Object, class_: Object, reference: Object) -> Object:
    """Returns a new volume for the claim. One for a tenant's claim is named as the objects of the tenant are."""
    tenant = tenants.tenant_of(claim)
    name = f"{tenants.prefix_of(tenant) if tenant else ''}pvc-{claim['metadata']['uid']}"
    node = volume_matcher.annotation(claim, volume_matcher.SELECTED_NODE)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if node else {}
    return {
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER, volume_matcher.BOUND_BY_US: "yes"}},
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
