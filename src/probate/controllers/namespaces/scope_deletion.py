"""Deletes scopes: empties a namespace, CRD or Tenant that is being deleted, reports what remains in its status, and finalizes it.

The server closes a scope when it marks it as deleted: then no object can be created in it. After that its content is deleted,
its status says what holds it, and it is removed in a transaction that finds it empty. A scope is reconciled whenever it or
something in it changes; after a start, all scopes that are being deleted are.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from probate.api import timestamps
from probate.api.ownership import ChangedKeys, Finalize, Item, Outcome, StoredObject, UpdateStatus
from probate.controllers.namespaces.content_deletion import (
    MAX_RETRY_SECONDS,
    RETRY_SECONDS,
    ContentDeletion,
    DeletionMethod,
    RemainingContent,
    Stage,
)
from probate.controllers.namespaces.status_reports import NextStep, StatusReports
from probate.controllers.runtime.backoff import Backoff
from probate.controllers.runtime.workqueue import DONE, IMMEDIATELY, Result
from probate.core.clock import Clock
from probate.gc.action_log import log_actions
from probate.gc.backend import Backend

PAGE = 2_000
COMPONENT = "tenant-deletion-controller"
"""The only controller that removes finalizers of others."""
NAMED_BY_EVENT, MAX_FORCED_NAMED = 20, 200
"""Objects that one Event names, and that all Events about one step do."""

log = logging.getLogger(__name__)


class Scope(Protocol):
    """The operations that differ between namespaces, CRDs and Tenants."""

    @property
    def resource(self) -> str:
        """The resource of the scopes themselves."""
        ...

    @property
    def method(self) -> DeletionMethod:
        """How their content is deleted."""
        ...

    def scopes_of(self, changed: ChangedKeys, deleting: Collection[str]) -> Collection[str]:
        """Returns the names of the scopes that these objects may be in, of those that are being deleted. May return others too."""
        ...

    def stages(self, backend: Backend, name: str) -> Sequence[Stage]:
        """Returns the content of a scope, in the order in which it is deleted."""
        ...

    def forced_finalizers(self, scope: dict[str, Any]) -> frozenset[str]:
        """Returns the finalizers of others that are removed from the content."""
        ...

    async def with_later_stages(self, backend: Backend, name: str, remaining: RemainingContent) -> RemainingContent:
        """Returns what remains of a scope, given what remains of the stages so far."""
        ...

    def status(self, scope: dict[str, Any], remaining: RemainingContent | None, now: str) -> dict[str, Any]:
        """Returns the status of a scope with this remaining content (None: no content)."""
        ...


class _Deletion(NamedTuple):
    """What is known of one scope that is being deleted."""

    content: ContentDeletion
    reports: StatusReports


class ScopeDeletion:
    """The reconciler of all scopes of a kind that are being deleted."""

    def __init__(self, kind: Scope, backend: Backend, clock: Clock) -> None:
        self._kind = kind
        self._backend = backend
        self._clock = clock
        self._deletions: dict[str, _Deletion] = {}
        self._finalizations = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)

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
        if not self._deletions:
            return []
        scopes = [name for name in self._kind.scopes_of(changed, self._deletions) if name in self._deletions]
        return [name for name in scopes if self._deletions[name].content.note_changed(changed.keys)]

    async def reconcile(self, key: str) -> Result:
        scope = await self._backend.get_object(self._kind.resource, "", key)
        if scope is None or not scope.item.is_deleting:
            self._deletions.pop(key, None)
            self._finalizations.reset(key)
            return DONE
        deletion = self._deletion_of(scope.item)
        because = f"{scope.item.meta.name} ({scope.item.meta.uid}) is being deleted, and contains the object"
        deletion.content.force(self._kind.forced_finalizers(scope.object))
        is_busy = await deletion.content.step(scope.item, because)
        if deletion.content.forced_removals:
            await self._record_forced_removals(scope.item, deletion.content)
        if is_busy:
            return IMMEDIATELY
        return await (self._finalize(scope) if deletion.content.is_over else self._wait(scope, deletion))

    def _deletion_of(self, scope: Item) -> _Deletion:
        name, uid = scope.meta.name, scope.meta.uid
        if name not in self._deletions or self._deletions[name].content.uid != uid:
            stages = self._kind.stages(self._backend, name)
            content = ContentDeletion(self._backend, uid, self._kind.method, stages=stages)
            self._deletions[name] = _Deletion(content, StatusReports())
        return self._deletions[name]

    async def _record_forced_removals(self, scope: Item, content: ContentDeletion) -> None:
        """Records from which objects finalizers of others were removed. The log has all of them."""
        named, content.forced_removals = content.forced_removals, []
        for start in range(0, min(len(named), MAX_FORCED_NAMED), NAMED_BY_EVENT):
            names = ", ".join(named[start : start + NAMED_BY_EVENT])
            more = f" and {len(named) - MAX_FORCED_NAMED} more" if start + NAMED_BY_EVENT >= MAX_FORCED_NAMED < len(named) else ""
            message = f"finalizers in spec.forceFinalizers were removed from {names}{more}"
            await self._backend.record_warning(scope, "FinalizersRemoved", message, component=COMPONENT)

    async def _wait(self, scope: StoredObject, deletion: _Deletion) -> Result:
        """Reports the remaining content and waits until it changes."""
        until_report = await self._update_status(scope, deletion)
        until_retry = deletion.content.retry(self._clock.monotonic())
        return min((seconds for seconds in (until_report, until_retry) if seconds is not DONE), default=DONE)

    async def _update_status(self, scope: StoredObject, deletion: _Deletion) -> Result:
        """Writes what remains to the scope's status, if that is due. Returns when it will be."""
        now, (content, reports) = self._clock.monotonic(), deletion
        if wait := reports.seconds_until_due(now):
            return wait
        remaining = await self._kind.with_later_stages(self._backend, scope.item.meta.name, content.remaining())
        status = self._kind.status(scope.object, remaining, self._now())
        if status == scope.object.get("status"):
            reports.note_agreement(remaining)
            return DONE
        if reports.next_step(remaining) is NextStep.READ_AGAIN:
            content.read_again()
            return IMMEDIATELY
        [outcome] = await self._backend.execute([UpdateStatus(scope.item, status, "its remaining content has changed")])
        reports.note_written(remaining, outcome, now)
        return DONE if outcome is Outcome.DONE else reports.seconds_until_due(now)

    async def _finalize(self, scope: StoredObject) -> Result:
        """Finalizes an empty scope. Should content remain after all, another `ContentDeletion` finds it."""
        name = scope.item.meta.name
        del self._deletions[name]
        status = self._kind.status(scope.object, None, self._now())
        action = Finalize(scope.item, status, "it has no content left")
        [outcome] = await self._backend.execute([action])
        log_actions(log, self._backend, [(action, outcome)])
        if outcome in {Outcome.DONE, Outcome.CHANGED}:
            self._finalizations.reset(name)
            return DONE if outcome is Outcome.DONE else IMMEDIATELY
        return self._finalizations.fail(name)

    def _now(self) -> str:
        return timestamps.format_time(self._clock.now())
