"""Allows PersistentVolumeClaims to grow only if their storage class allows volume expansion."""

from __future__ import annotations

from typing import Any

from probate.api import quantities
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.kinds.shared import default_classes
from probate.server import api_errors
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import Target

CLAIMS = "persistentvolumeclaims"


class VolumeExpansion:
    """The storage classes that allow volume expansion, and the check of claims."""

    def __init__(self) -> None:
        self._expandable: frozenset[str] = frozenset()

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the StorageClass objects. Before that, no claim can grow."""
        configuration.subscribe(GroupResource("storage.k8s.io", "storageclasses"), self._configure, includes_tenants=True)

    def _configure(self, objects: dict[str, Object]) -> None:
        expandable = (item for item in objects.values() if item.get("allowVolumeExpansion") is True)
        self._expandable = frozenset(item["metadata"]["name"] for item in expandable)

    def check(self, at: Target, new: Object, old: Object) -> None:
        """Raises `Forbidden` if an update requests more storage and the claim cannot get it."""
        if at.resource.group or _requested_storage(new) <= _requested_storage(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise api_errors.forbidden(at.resource, at.name, "only bound persistent volume claims can be expanded")
        if _storage_class(new) != _storage_class(old) or _storage_class(new) not in self._expandable:
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
            raise api_errors.forbidden(at.resource, at.name, why)


def _requested_storage(claim: Object) -> Any:
    return quantities.value_or_zero(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage"))


def _storage_class(claim: Object) -> str:
    annotation = (claim["metadata"].get("annotations") or {}).get(default_classes.CLAIM_CLASS_ANNOTATION)
    return str(annotation or claim["spec"].get("storageClassName") or "")
