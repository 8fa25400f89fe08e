"""The removal of an object whose stored data is damaged, as Kubernetes has it: `ignoreStoreReadErrorWithClusterBreakingPotential`.

Nobody knows what the object was. So its finalizers hold nothing, no webhook or policy is asked, preconditions cannot be given, and
what depends on it is collected in the background like the dependents of any owner that is gone. Who does this needs the verb
`unsafe-delete-ignore-read-errors` on the object besides `delete`. An object that can be read is refused: it can be deleted as ever.

The index entries of an object follow from its value. Here they are looked for, which is a walk over the whole index.
"""

from __future__ import annotations

import asyncio
import logging

import orjson

from probate.api import field_errors, status
from probate.api.field_errors import Path
from probate.api.rbac.users import User
from probate.core import errors
from probate.core.logs import facts
from probate.server import api_errors
from probate.server.authz import attributes
from probate.server.codec import delete_options
from probate.server.context import Answer, Api
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store import contract, paging
from probate.store.contract import Refused, Revision, Store

VERB = "unsafe-delete-ignore-read-errors"
PAGE = 2_000
OWN = ("ip/", "nodeport/")
"""Entries that do not name their object. They have the revision of the write that made them."""

log = logging.getLogger(__name__)


async def remove(api: Api, user: User, at: Target) -> Answer:
    """Remove the object. `Invalid` if it can be read, `Conflict` if somebody changes it meanwhile."""
    await api.access.check(user, attributes.about_object(VERB, at))
    damaged = await _damaged(api.store, storage_keys.of(at.resource, at.namespace or "", at.name), at)
    revision = Revision(damaged.revision)
    entries = await _entries(api.store, damaged.key, revision)
    outcome = await api.store.commit(contract.delete(damaged.key, revision=revision, leave=entries))
    if isinstance(outcome, Refused):
        raise api_errors.changed(at.resource, at.name)
    about = facts(resource=str(at.resource.group_resource), namespace=at.namespace, name=at.name, user=user.name, revision=revision)
    log.warning("removed an object whose stored data was damaged", extra=about)
    return Answer(200, orjson.dumps(status.success(at.resource, name=at.name, uid="")))


async def _damaged(store: Store, key: str, at: Target) -> errors.DamagedObject:
    try:
        found = await store.read(key)
    except errors.DamagedObject as damaged:
        return damaged
    if found is None:
        raise api_errors.not_found(at.resource, at.name)
    why = "applies only to objects whose stored data is damaged. This object can be read: delete it without the option"
    raise api_errors.invalid(at.resource, at.name, [field_errors.invalid(Path(delete_options.UNSAFE), True, why)])


async def _entries(store: Store, key: str, revision: Revision) -> list[str]:
    """All index entries of the object that can be told to be its own."""
    found: list[str] = []
    for family in index_entries.FAMILIES:
        async for page in paging.pages(store, family, size=PAGE):
            found += [one.key for one in page.records if one.key.endswith(key) and index_entries.object_of(one.key) == key]
            await asyncio.sleep(0)
    for family in OWN:
        async for page in paging.pages(store, family, size=PAGE):
            found += [one.key for one in page.records if one.revision == revision]
            await asyncio.sleep(0)
    return found
