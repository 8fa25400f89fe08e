"""TenantCheck: what no request may do to a Tenant, whoever sends it.

A Tenant cannot be created while other objects have names that begin with its ID: they would become the tenant's, and be deleted
with it. The finalizer that holds it until nothing of the tenant is left cannot be removed. One that is protected cannot be deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from probate.api import object_keys, tenants
from probate.api.catalog import Resource
from probate.api.field_errors import FieldPath, invalid
from probate.api.object_keys import Key
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.server import api_errors
from probate.server.ownership import tenant_content
from probate.server.request import Target
from probate.store.contract import Record, Store

MAX_NAMED = 3
"""Objects that a message names."""


class TenantCheck:
    """The check of writes of Tenants."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def check(self, _user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `AlreadyExists` for a new Tenant that exists, `Invalid` for one whose names are taken, and `Forbidden` for an
        update that removes the finalizer."""
        if at.resource.group_resource != tenants.TENANTS:
            return
        if old is None:
            await self._check_is_free(at.resource, new["metadata"]["name"])
        elif tenants.FINALIZER in _finalizers(old) and tenants.FINALIZER not in _finalizers(new):
            reason = (
                f"the finalizer {tenants.FINALIZER} cannot be removed by a request: the server removes it when nothing of the "
                "tenant is left. To delete the tenant, delete this object, and read in its status what it waits for"
            )
            raise api_errors.forbidden(at.resource, old["metadata"]["name"], reason)

    async def _check_is_free(self, resource: Resource, tenant: str) -> None:
        if any(await self._store.read_many([tenants.tenant_key(tenant)])):  # damaged or not
            raise api_errors.already_exists(resource, tenant)
        found = await tenant_content.find_objects_in_the_way(self._store, tenant, limit=MAX_NAMED + 1)
        if found:
            detail = (
                f'tenant ID is taken: names that begin with "{tenants.prefix_of(tenant)}" would belong to the tenant, and there '
                f"are {_describe(found)}. Delete them, or choose another ID"
            )
            raise api_errors.invalid(resource, tenant, [invalid(FieldPath("metadata") / "name", tenant, detail)])


def check_deletable(resource: Resource, current: Record) -> None:
    """Raises `Forbidden` if the object is a Tenant that is protected from deletion, and not being deleted yet."""
    if resource.group_resource != tenants.TENANTS:
        return
    tenant = orjson.loads(current.value)
    if (tenant.get("spec") or {}).get("preventDeletion") and "deletionTimestamp" not in tenant["metadata"]:
        reason = "spec.preventDeletion is true. To delete the tenant and all its objects, set it to false first"
        raise api_errors.forbidden(resource, tenant["metadata"]["name"], reason)


def _finalizers(tenant: Object) -> Sequence[str]:
    return tenant["metadata"].get("finalizers") or ()


def _describe(found: Sequence[Key]) -> str:
    """Names the first of these objects."""
    parsed = [object_keys.parse(key) for key in found[:MAX_NAMED]]
    named = ", ".join(f"{one.resource} {'/'.join(filter(None, (one.namespace, one.name)))}" for one in parsed)
    return f"{named} and others" if len(found) > MAX_NAMED else named
