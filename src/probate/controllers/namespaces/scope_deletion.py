"""Deletes scopes: empties a namespace or CRD that is being deleted, reports what remains in its status, and finalizes it.

The server closes a scope when it marks it as deleted: then no object can be created in it. After that its content is deleted,
its status says what holds it, and it is removed in a transaction that finds it empty. A scope is reconciled whenever it or
something in it changes; after a start, all scopes that are being deleted are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

from probate.api import timestamps
from probate.api.ownership import ChangedKeys, Finalize, Item, Outcome, StoredObject, UpdateStatus
from probate.controllers.namespaces.content_deletion import ContentDeletion, DeletionMethod, ListPage, RemainingContent
from probate.controllers.runtime.workqueue import DONE, IMMEDIATELY, Result
from probate.core.clock import Clock
from probate.gc.action_log import log_actions
from probate.gc.backend import Backend

STATUS_SECONDS = 1.0
"""A scope's status is written at most this often: not for each object that is removed from a scope that empties slowly."""
RETRY_SECONDS = 1.0
PAGE = 1_000

log = logging.getLogger(__name__)


class Scope(Protocol):
    """The operations that differ between namespaces and CRDs."""

    @property
    def resource(self) -> str:
        """The resource of the scopes themselves."""
        ...

    @property
    def method(self) -> DeletionMethod:
        """How their content is deleted."""
        ...

    def scope_of(self, changed: ChangedKeys) -> str:
        """Returns the name of the scope that these objects are in; empty if they are in none."""
        ...

    def stages(self, backend: Backend, name: str) -> Sequence[ListPage]:
        """Returns the content of a scope, in the order in which it is deleted."""
        ...

    def status(self, scope: dict[str, Any], remaining: RemainingContent | None, now: str) -> dict[str, Any]:
        """Returns the status of a scope with this remaining content (None: no content)."""
        ...


class ScopeDeletion:
    """The reconciler of all scopes of a kind that are being deleted."""

    def __init__(self, kind: Scope, backend: Backend, clock: Clock) -> None:
        self._kind = kind
        self._backend = backend
        self._clock = clock
        self._deletions: dict[str, ContentDeletion] = {}

    async def begin(self) -> list[str]:
        self._deletions.clear()
        deleting: list[str] = []
        continue_token = ""
        while True:
            page = await self._backend.list_resource(self._kind.resource, continue_token, limit=PAGE)
            items = await self._backend.get_items(page.keys)
            deleting += [item.meta.name for item in items if item is not None and item.is_deleting]
            continue_token = page.continue_token
            if not continue_token:
                return deleting

    def keys_of(self, changed: ChangedKeys) -> list[str]:
        if changed.resource == self._kind.resource:
            return changed.names
        scope = self._kind.scope_of(changed)
        deletion = self._deletions.get(scope)
        return [scope] if deletion is not None and deletion.note_changed(changed.keys) else []

    async def reconcile(self, key: str) -> Result:
        scope = await self._backend.get_object(self._kind.resource, "", key)
        if scope is None or not scope.item.is_deleting:
            self._deletions.pop(key, None)
            return DONE
        deletion = self._deletion_of(scope.item)
        because = f"{scope.item.meta.name} ({scope.item.meta.uid}) is being deleted, and contains the object"
        if await deletion.step(scope.item, because):
            return IMMEDIATELY
        return await (self._finalize(scope) if deletion.is_over else self._wait(scope, deletion))

    def _deletion_of(self, scope: Item) -> ContentDeletion:
        name, uid = scope.meta.name, scope.meta.uid
        if name not in self._deletions or self._deletions[name].uid != uid:
            stages = self._kind.stages(self._backend, name)
            self._deletions[name] = ContentDeletion(self._backend, uid, self._kind.method, stages=stages)
        return self._deletions[name]

    async def _wait(self, scope: StoredObject, deletion: ContentDeletion) -> Result:
        """Reports the remaining content and waits until it changes."""
        requeue_after = await self._update_status(scope, deletion)
        return RETRY_SECONDS if deletion.retry() else requeue_after

    async def _update_status(self, scope: StoredObject, deletion: ContentDeletion) -> Result:
        """Writes what remains to the scope's status: now, or when the last write was `STATUS_SECONDS` ago."""
        now = self._clock.monotonic()
        if deletion.status_written_at is not None and now < deletion.status_written_at + STATUS_SECONDS:
            return deletion.status_written_at + STATUS_SECONDS - now
        status = self._kind.status(scope.object, deletion.remaining(), self._now())
        if status == scope.object.get("status"):
            return DONE
        [outcome] = await self._backend.execute([UpdateStatus(scope.item, status, "its remaining content has changed")])
        deletion.status_written_at = now
        return DONE if outcome is Outcome.DONE else RETRY_SECONDS

    async def _finalize(self, scope: StoredObject) -> Result:
        """Finalizes an empty scope. Should content remain after all, another `ContentDeletion` finds it."""
        del self._deletions[scope.item.meta.name]
        status = self._kind.status(scope.object, None, self._now())
        action = Finalize(scope.item, status, "it has no content left")
        [outcome] = await self._backend.execute([action])
        log_actions(log, self._backend, [(action, outcome)])
        if outcome is Outcome.DONE:
            return DONE
        return IMMEDIATELY if outcome is Outcome.CHANGED else RETRY_SECONDS

    def _now(self) -> str:
        return timestamps.format_time(self._clock.now())
