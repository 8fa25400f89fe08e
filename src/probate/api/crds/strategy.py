"""Prepares a CRD before validation: defaults, and the status on create and update.

A client's status is dropped on create. `status.storedVersions` records the storage version from the first write on, since objects
may be stored in it.
"""

from __future__ import annotations

from typing import Any

from probate.api.crds.layout import Crd, versions_of

WEBHOOK_PORT = 443


def set_defaults(crd: Crd) -> None:
    """Sets the default names, the default conversion and the default port of its webhook. In place."""
    spec = crd["spec"] = crd.get("spec") or {}
    names = spec["names"] = spec.get("names") or {}
    if kind := names.get("kind"):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    conversion = spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", WEBHOOK_PORT)


def prepare_create(crd: Crd) -> None:
    """Sets the initial status of a new CRD. In place."""
    crd["status"] = {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": []}
    _record_storage_version(crd)


def prepare_update(crd: Crd, old: Crd) -> None:
    """Keeps the old status, whatever the request contains, and records a new storage version. In place."""
    status: dict[str, Any] = dict(old.get("status") or {})
    status["storedVersions"] = list(status.get("storedVersions") or [])
    crd["status"] = status
    _record_storage_version(crd)


def storage_version(crd: Crd) -> str:
    """Returns the version in which objects are stored; empty if none is marked."""
    return next((version.get("name") or "" for version in versions_of(crd) if version.get("storage")), "")


def _record_storage_version(crd: Crd) -> None:
    stored, storage = crd["status"]["storedVersions"], storage_version(crd)
    if storage and storage not in stored:
        stored.append(storage)
