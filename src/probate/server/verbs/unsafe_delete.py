"""Removes an object whose stored data is damaged: Kubernetes' delete option `ignoreStoreReadErrorWithClusterBreakingPotential`.

The content of the object is unknown. So its finalizers have no effect, admission does not run, preconditions are not supported, and
its dependents are collected in the background, like those of any owner that is gone. The user needs the verb
`unsafe-delete-ignore-read-errors` on the object in addition to `delete`. An object that can be read is rejected, because an
ordinary delete works.

The index entries of an object are derived from its value. Here they are found by a scan over the whole index.
"""

from __future__ import annotations

import asyncio
import logging

import orjson

from probate.api import field_errors, object_keys, status, tenants
from probate.api.field_errors import FieldPath
from probate.api.rbac.users import User
from probate.core import errors
from probate.core.logs import facts
from probate.server import api_errors
from probate.server.authz import authorization_attributes
from probate.server.codec import delete_options
from probate.server.context import ServerContext
from probate.server.request import Target
from probate.server.response import Response
from probate.server.storage import index_entries, storage_keys
from probate.store import contract, pagination
from probate.store.contract import EmptyRange, FailedGuards, Guard, Revision, Store

VERB = "unsafe-delete-ignore-read-errors"
PAGE = 2_000
UNNAMED_FAMILIES = ("ip/", "nodeport/")
"""Index entries that do not contain the key of their object. They have the revision of the write that created them."""

log = logging.getLogger(__name__)


async def remove(context: ServerContext, user: User, target: Target) -> Response:
    """Removes the object. Raises `Invalid` if it can be read, `Conflict` if it is modified concurrently."""
    await context.authorizer.check(user, authorization_attributes.for_object(VERB, target))
    damaged = await _damaged(context.store, storage_keys.object_key(target.resource, target.namespace or "", target.name), target)
    revision = Revision(damaged.revision)
    entries = await _entries(context.store, damaged.key, revision)
    guards = _content_guards(damaged.key)
    outcome = await context.store.commit(contract.delete(damaged.key, revision=revision, remove_entries=entries, guards=guards))
    if isinstance(outcome, FailedGuards):
        if set(guards) & set(outcome.guards):
            raise errors.Conflict(
                f"tenant {target.name} still has objects, whose names begin with {target.name}-: delete these first"
            )
        raise api_errors.modified(target.resource, target.name)
    details = facts(
        resource=str(target.resource.group_resource),
        namespace=target.namespace,
        name=target.name,
        user=user.name,
        revision=revision,
    )
    log.warning("removed object with damaged data", extra=details)
    return Response(200, orjson.dumps(status.success_status(target.resource, name=target.name, uid="")))


async def _damaged(store: Store, key: str, target: Target) -> errors.DamagedObject:
    """Returns the error that reading the object raises. Raises `NotFound`, or `Invalid` if the object can be read."""
    try:
        found = await store.read(key)
    except errors.DamagedObject as damaged:
        return damaged
    if found is None:
        raise api_errors.not_found(target.resource, target.name)
    reason = "applies only to objects whose stored data is damaged. This object can be read: delete it without the option"
    raise api_errors.invalid(target.resource, target.name, [field_errors.invalid(FieldPath(delete_options.UNSAFE), True, reason)])


def _content_guards(key: str) -> tuple[Guard, ...]:
    """Returns the guard that a Tenant has no objects: they would stay without a tenant that could be deleted."""
    return (EmptyRange(tenants.content_range(object_keys.name_in(key))),) if key.startswith(tenants.TENANTS_RANGE) else ()


async def _entries(store: Store, key: str, revision: Revision) -> list[str]:
    """Returns all index entries that can be attributed to the object."""
    found = [tenants.open_entry(object_keys.name_in(key))] if key.startswith(tenants.TENANTS_RANGE) else []
    for family in index_entries.FAMILIES:
        async for page in pagination.pages(store, family, size=PAGE):
            found += [
                record.key for record in page.records if record.key.endswith(key) and index_entries.object_key_of(record.key) == key
            ]
            await asyncio.sleep(0)
    for family in UNNAMED_FAMILIES:
        async for page in pagination.pages(store, family, size=PAGE):
            found += [record.key for record in page.records if record.revision == revision]
            await asyncio.sleep(0)
    return found
