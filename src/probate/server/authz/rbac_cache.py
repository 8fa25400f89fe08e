"""Caches the roles and bindings of the store.

Each of the four resources is listed once and then watched. The watch delivers a change in the step in which the store publishes it,
which is before its author gets an answer. So on SQLite no request is authorized by roles or bindings older than itself. On etcd,
changes by other servers arrive through its watch, some milliseconds late. When the store cannot confirm that its watches are
current (`Store.confirmed_revision`), requests wait, and fail after `MAX_WAIT_SECONDS`: no request is authorized by a binding that
may have been revoked.

**Tenants.** Roles and bindings of tenants (label `kubezoo.io/tenant`) are left out, so that none of them gives a right in the
physical view: a tenant that binds the group system:authenticated means its own users. Requests of tenants are authorized by a
cache on the tenant's view of the store, in which objects do not have the label.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.rbac.rule_resolver import GROUP, RESOURCES, RuleResolver
from probate.core import errors
from probate.core.logs import facts
from probate.store import pagination
from probate.store.contract import Batch, Store, Watch

MAX_WAIT_SECONDS = 5.0
"""Seconds that a request waits for roles and bindings that are not older than itself."""
RETRY_AFTER_SECONDS = 1
"""The Retry-After of a request that waited without success."""
POLL_SECONDS = 0.05
"""Seconds between checks by a waiting request."""

log = logging.getLogger(__name__)


class RbacCache:
    """Keeps `grants` up to date with all roles and bindings."""

    def __init__(self, store: Store, grants: RuleResolver) -> None:
        self._store = store
        self._grants = grants
        self._watches: dict[str, Watch | None] = {
            object_keys.resource_range(GroupResource(GROUP, resource)): None for resource in RESOURCES
        }
        self._is_live = False
        self._changed = asyncio.Event()
        self._keys: dict[str, set[str]] = {prefix: set() for prefix in self._watches}

    def is_current(self) -> bool:
        """Returns whether all watches are current."""
        if not self._is_live:
            self._is_live = all(self._has_caught_up(prefix, watch) for prefix, watch in self._watches.items())
        return self._is_live and self._store.confirmed_revision() is not None

    def _has_caught_up(self, prefix: str, watch: Watch | None) -> bool:
        """Returns whether the watch has reached the present. (Then each change is applied in the step that publishes it.)"""
        if watch is None:
            return False
        unchanged = self._store.unchanged_since(prefix)
        required = self._store.confirmed_revision() if unchanged is None else unchanged.since
        return required is not None and required <= watch.revision

    async def wait_until_current(self) -> None:
        """Returns when the cache is current. Raises `StoreUnavailable` if that takes too long, since rights are then unknown."""
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                while not self.is_current():
                    self._changed.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await self._changed.wait()
        except TimeoutError:
            message = "roles and bindings cannot be read at the moment, so the request cannot be authorized. Please try again"
            raise errors.StoreUnavailable(message, errors.Details(retry_after_seconds=RETRY_AFTER_SECONDS)) from None

    async def run(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Watches all four resources. Never returns; after a failure it continues once `pause` is over."""
        await asyncio.gather(*(self._watch(prefix, pause) for prefix in self._watches))

    async def _watch(self, prefix: str, pause: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await self._list_and_watch(prefix)
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("watch of roles and bindings failed, restarting", extra=facts(prefix=prefix, error=str(error)))
            finally:
                self._watches[prefix], self._is_live = None, False
            await pause()

    async def _list_and_watch(self, prefix: str) -> None:
        revision = await self._store.revision()
        self._replace(prefix, await self._read(prefix))
        async with self._store.watch(prefix, after=revision) as watch:  # changes since `revision` arrive twice, which is harmless
            watch.set_handler(functools.partial(self._apply, prefix))
            self._watches[prefix] = watch
            self._wake_waiters()
            async for batch in watch:
                self._apply(prefix, batch)
                self._wake_waiters()

    def _wake_waiters(self) -> None:
        """Wakes waiting requests once the watch has applied everything and waits itself."""
        asyncio.get_running_loop().call_soon(self._changed.set)

    async def _read(self, prefix: str) -> dict[str, Object]:
        """Returns the roles or bindings, without those of tenants, which are many more and are not kept in memory."""
        found: dict[str, Object] = {}
        async for page in pagination.pages(self._store, prefix):
            decoded = ((record.key, _decoded(record.value)) for record in page.records)
            found.update((key, object_) for key, object_ in decoded if object_ is not None)
        return found

    def _replace(self, prefix: str, objects: dict[str, Object]) -> None:
        for key in self._keys[prefix] - objects.keys():
            self._put(prefix, key, None)
        for key, object_ in objects.items():
            self._put(prefix, key, object_)

    def _apply(self, prefix: str, batch: Batch) -> bool:
        for event in batch:
            self._put(prefix, event.key, None if event.value is None else _decoded(event.value))
        return True

    def _put(self, prefix: str, key: str, object_: Object | None) -> None:
        """Updates the grants."""
        about, keys = object_keys.parse(key), self._keys[prefix]
        if object_ is not None:
            keys.add(key)
        elif key in keys:
            keys.remove(key)
        else:
            return
        self._grants.put(about.group_resource.resource, about.namespace, about.name, object_=object_)


def _decoded(value: bytes) -> Object | None:
    """Returns a role or binding; None if it belongs to a tenant."""
    object_: Object = orjson.loads(value)
    return None if tenants.tenant_of(object_) else object_
