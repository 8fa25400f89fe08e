"""Tenancy: which tenant new objects belong to, as far as the verbs have to know.

The store records it in any case (`tenants.ownership`). The verbs put the label into the object before admission runs and the
response is written, so that both show what is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.tenants import TENANT_LABEL
from probate.server.request import Target

Entries = TypeVar("Entries")


class Tenancy(Protocol):
    """The tenants of a store."""

    async def tenant_of_new(self, target: Target, object_: Object) -> str:
        """Returns the tenant that a new object will belong to; empty if it belongs to none.

        Raises `Forbidden` if nothing can be created in the tenant, and `Invalid` if the object has the label of another one.
        """
        ...

    def is_of_platform(self, resource: GroupResource, name: str) -> bool:
        """Whether this cluster-scoped object is one that the platform shares with the tenant whose view this is."""
        ...


class NoTenancy:
    """A store without tenants."""

    async def tenant_of_new(self, _target: Target, _object: Object) -> str:
        return ""

    def is_of_platform(self, _resource: GroupResource, _name: str) -> bool:
        return False


def labelling(entries_of: Callable[[Object, str], Entries], tenant: str) -> Callable[[Object, str], Entries]:
    """Returns the function that also sets the label of a tenant, after it has determined the managed fields: nobody manages the
    label."""

    def entries_and_label(object_: Object, now: str) -> Entries:
        entries = entries_of(object_, now)
        set_label(object_, tenant)
        return entries

    return entries_and_label


def set_label(object_: Object, tenant: str) -> None:
    """Sets the label that names the object's tenant."""
    meta = object_["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), TENANT_LABEL: tenant}


def keep_label(new: Object, old: Object) -> None:
    """Puts the label of an object back if an update lacks it."""
    label = (old["metadata"].get("labels") or {}).get(TENANT_LABEL)
    if label and TENANT_LABEL not in (new["metadata"].get("labels") or {}):
        set_label(new, label)
