"""Whether the history of a deleted tenant is gone from the store, too.

The store keeps former versions of objects until its history is compacted. A Tenant is removed in a transaction that finds it empty,
so everything of the tenant is older than that transaction. Hence its history is gone if there is no Tenant now and there was none
at any time that the history still shows: then the history begins after the removal. Whoever cannot see that does not know it:
`erased` is then None.

This is about what can be read from the store. The engine may take a little longer to free the space, and knows nothing of copies
of its files and of logs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from probate.api import tenants
from probate.core import errors
from probate.core.aio import tasks
from probate.store.contract import NO_REVISION, Event, Revision, Store, Watch

SECONDS = 30.0
"""How long to read the history."""
MAX_TRIES = 3
"""Attempts while the history is being compacted."""

Pause = Callable[[], Awaitable[None]]


class Erasure(NamedTuple):
    """What the history says about a tenant: the revision at which it begins, and that at which the Tenant was removed (0: earlier
    or never)."""

    begins: Revision
    removed: Revision
    erased: bool | None
    message: str

    def as_object(self) -> dict[str, Any]:
        """Returns the answer as it is shown."""
        return self._asdict()


async def erasure(store: Store, tenant: str, pause: Pause) -> Erasure:
    """Looks for the tenant in the store's history. `pause` is called now and then while that takes time."""
    begins = NO_REVISION
    try:
        async with asyncio.timeout(SECONDS):
            for _ in range(MAX_TRIES):
                begins = await _first_revision(store, tenant, await store.revision())
                try:
                    return await _found(store, tenant, begins, pause=pause)
                except (errors.Gone, errors.TooSlow):
                    continue
    except TimeoutError:
        return Erasure(begins, NO_REVISION, None, f"the history could not be read in {SECONDS:g} s")
    return Erasure(begins, NO_REVISION, None, "the history cannot be read: it is being compacted, or a Tenant in it is damaged")


async def _first_revision(store: Store, tenant: str, now: Revision) -> Revision:
    """Returns the first revision that can still be read."""
    gone, readable = 0, int(now)
    while readable - gone > 1:
        middle = (gone + readable) // 2
        if await _is_readable(store, tenant, Revision(middle)):
            readable = middle
        else:
            gone = middle
    return Revision(readable)


async def _is_readable(store: Store, tenant: str, revision: Revision) -> bool:
    try:
        await store.read(tenants.tenant_key(tenant), at=revision)
    except errors.Gone:
        return False
    except errors.DamagedObject:
        return True
    return True


async def _found(store: Store, tenant: str, begins: Revision, *, pause: Pause) -> Erasure:
    """Returns what the history from `begins` on says. Raises `Gone` if it is compacted meanwhile."""
    key = tenants.tenant_key(tenant)
    if any(await store.read_many([key])):
        return Erasure(begins, NO_REVISION, erased=False, message="the tenant exists")
    until = await store.revision()  # later than the read: a Tenant that comes between the two is seen
    try:
        was_there = await store.read(key, at=begins) is not None
    except errors.DamagedObject:
        was_there = True
    last = await _last_change(store, key, begins, until=until, pause=pause)
    if last is not None and last.value is None:
        text = f"the tenant was removed at revision {last.revision}, and the history begins at revision {begins}"
        return Erasure(begins, last.revision, erased=False, message=text)
    if was_there or last is not None:
        return Erasure(begins, NO_REVISION, None, "the history has the tenant, but not its removal")
    text = f"the history begins at revision {begins}, and has nothing of the tenant"
    return Erasure(begins, NO_REVISION, erased=True, message=text)


async def _last_change(store: Store, key: str, begins: Revision, *, until: Revision, pause: Pause) -> Event | None:
    """Returns the last change of an object; None if there was none."""
    last = None
    async with store.watch(tenants.TENANTS_RANGE, after=begins) as changes, tasks.BackgroundTask(_wake(changes, pause)):
        iterator = aiter(changes)
        while changes.revision < until:
            for event in await anext(iterator):
                last = event if event.key == key else last
    return last


async def _wake(changes: Watch, pause: Pause) -> None:
    """Lets the watch say now and then how far it is. Never returns."""
    while True:
        await pause()
        changes.wake()
