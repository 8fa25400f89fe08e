"""Claims that are to grow: only those may whose class of storage lets volumes grow."""

from __future__ import annotations

from typing import Any

from probate.api import quantities
from probate.kinds.shared import default_classes
from probate.server import api_errors
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

CLAIMS = "persistentvolumeclaims"


def install(api: Api) -> None:
    """Know the classes that there are."""

    def configure(objects: dict[str, Object]) -> None:
        api.growing = frozenset(one["metadata"]["name"] for one in objects.values() if one.get("allowVolumeExpansion") is True)

    api.configured.tell("storage.k8s.io", "v1", "storageclasses", configure)


def check(api: Api, at: Target, new: Object, old: Object) -> None:
    """`Forbidden` if the changed claim asks for more than before, and cannot get it."""
    if at.resource.group or _asked(new) <= _asked(old):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise api_errors.forbidden(at.resource, at.name, "only bound persistent volume claims can be expanded")
    if _class(new) != _class(old) or _class(new) not in api.growing:
        why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
        raise api_errors.forbidden(at.resource, at.name, why)


def _asked(claim: Object) -> Any:
    return quantities.value_of(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage"))


def _class(claim: Object) -> str:
    noted = (claim["metadata"].get("annotations") or {}).get(default_classes.CLAIMS_OLD_CLASS)
    return str(noted or claim["spec"].get("storageClassName") or "")
