"""What is filled in before a definition is looked at: its defaults, and the status it starts or goes on with.

Whatever a client says of the status when it creates a definition is dropped. The storage version is remembered in
`status.storedVersions` from the first write on, since objects may be stored in it.
"""

from __future__ import annotations

from typing import Any

from probate.api.crds.layout import Definition, versions_of

WEBHOOK_PORT = 443


def set_defaults(crd: Definition) -> None:
    """Fill in the names that follow from others, the conversion, and the port of its webhook. In place."""
    spec = crd["spec"] = crd.get("spec") or {}
    names = spec["names"] = spec.get("names") or {}
    if kind := names.get("kind"):
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    conversion = spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    service = ((conversion.get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None:
        service.setdefault("port", WEBHOOK_PORT)


def prepare_create(crd: Definition) -> None:
    """Give a new definition the status it starts with. In place."""
    crd["status"] = {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": []}
    _store(crd)


def prepare_update(crd: Definition, old: Definition) -> None:
    """Keep the status, whatever the request says, and remember a new storage version. In place."""
    status: dict[str, Any] = dict(old.get("status") or {})
    status["storedVersions"] = list(status.get("storedVersions") or [])
    crd["status"] = status
    _store(crd)


def storage_version(crd: Definition) -> str:
    """The version in which objects are stored; empty if none is marked."""
    return next((one.get("name") or "" for one in versions_of(crd) if one.get("storage")), "")


def _store(crd: Definition) -> None:
    stored, storage = crd["status"]["storedVersions"], storage_version(crd)
    if storage and storage not in stored:
        stored.append(storage)
