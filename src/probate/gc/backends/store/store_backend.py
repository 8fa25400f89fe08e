"""Implements `gc.backend.Backend`, whose docstrings specify each method, on the embedded store.

Items are decoded from the metadata alone (`metadata_view`); `actions` executes what controllers decide.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from probate.api import object_keys
from probate.api.ownership import (
    Action,
    Change,
    ChangedKeys,
    Item,
    Outcome,
    StoredObject,
)
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.core import errors
from probate.core.aio import time_slices
from probate.core.clock import Clock
from probate.core.metrics import Counter
from probate.gc.backends.store.actions import ActionExecutor
from probate.server.audit.current_log import CurrentAuditLog
from probate.server.authz.actors import Actor, ActorAuthorizer
from probate.server.authz.authorizer import Authorizer
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.objects import server_events
from probate.server.objects.server_events import WarningEvents
from probate.server.ownership import metadata_view
from probate.server.ownership.ownership_reader import HIDDEN_KEYS, SLICE, SMALL_SLICE, OwnershipReader
from probate.server.storage import storage_keys
from probate.store import contract
from probate.store.contract import Batch, DamagedRecord, Event, Record, Revision, Store

SMALL_BATCH = 64
"""Changes that are handled in the commit's own callback: waking the watcher's task would take longer."""
POSITION = "objects/positions.probate.dev/-/collector"
_DEFINITIONS = object_keys.resource_range(storage_keys.CRDS)
_OWNED, _DELETED = b'"ownerReferences"', b'"deletionTimestamp"'


class StoreBackend(OwnershipReader):
    """The objects of one API server's store."""

    def __init__(
        self,
        store: Store,
        kinds: KindRegistry,
        clock: Clock,
        *,
        authorizer: Authorizer,
        audit: CurrentAuditLog,
        events: WarningEvents,
        denied_actions: Counter,
    ) -> None:
        super().__init__(store, kinds, clock)
        self._authorizer = authorizer
        self._audit = audit
        self._events = events
        self._denied_actions = denied_actions
        self._executor = ActionExecutor(store, clock, self.kind_at, audit=audit)

    def acting_as(self, actor: Actor) -> StoreBackend:
        """Returns the same backend, whose actions are those of this actor: what RBAC does not grant is denied."""
        other = copy.copy(self)
        authorizer = ActorAuthorizer(
            self._authorizer, actor, self.kind_at, denied=self._denied_actions, is_audited=lambda: self._audit.log is not None
        )
        other._executor = ActionExecutor(self._store, self._clock, self.kind_at, audit=self._audit, actor=authorizer)  # noqa: SLF001 same class
        return other

    def permissions_revision(self) -> int:
        return self._authorizer.grants.generation

    async def load_position(self) -> int | None:
        [record] = await self._store.read_many([POSITION])
        return int(record.value) if isinstance(record, Record) else None

    async def save_position(self, revision: int) -> None:
        [record] = await self._store.read_many([POSITION])
        value = b"%d" % revision
        if record is None:
            await self._store.commit(contract.create(POSITION, value))
        elif isinstance(record, DamagedRecord) or int(record.value) < revision:
            await self._store.commit(contract.update(POSITION, value, revision=record.revision))

    async def revision(self) -> int:
        return await self._store.revision()

    @asynccontextmanager
    async def watch_changes(
        self, after: int, on_irrelevant: Callable[[int], None]
    ) -> AsyncGenerator[AsyncIterator[list[Change]], None]:
        def skip(batch: Batch) -> bool:
            if len(batch) > SMALL_BATCH or any(map(_is_relevant, batch)):
                return False
            on_irrelevant(batch[-1].revision)
            return True

        async with self._store.watch("objects/", after=Revision(after)) as watch:
            watch.set_handler(skip)
            yield self._changes(aiter(watch))

    @asynccontextmanager
    async def watch_keys(
        self, after: int, on_keys: Callable[[list[ChangedKeys]], None]
    ) -> AsyncGenerator[AsyncIterator[list[ChangedKeys]], None]:
        def handle(batch: Batch) -> bool:
            if len(batch) > SMALL_BATCH:
                return False
            on_keys(metadata_view.group_by_folder(batch))
            return True

        async with self._store.watch("objects/", after=Revision(after)) as watch:
            watch.set_handler(handle)
            yield metadata_view.changed_keys(aiter(watch))

    async def get_object(self, resource: str, namespace: str, name: str) -> StoredObject | None:
        record = await self._store.read(object_keys.object_key(resource, namespace, name))
        if record is None:
            return None
        return StoredObject(metadata_view.item_of(record), object_codec.loaded(record, self.kind_at(record.key)))

    async def _changes(self, watch: AsyncIterator[list[Event]]) -> AsyncGenerator[list[Change], None]:
        async for batch in watch:
            slice_ = time_slices.slice_size(SLICE, SMALL_SLICE)
            for start in range(0, len(batch), slice_):
                events = batch[start : start + slice_]
                if start:
                    await time_slices.wait_turn()
                changes = [self._change(event) for event in events if _is_relevant(event)]
                if not changes or changes[-1].revision < events[-1].revision:
                    changes.append(Change(events[-1].revision, None, None))
                yield changes

    def _change(self, event: Event) -> Change:
        before = None if event.previous is None else self._cached_item(event.previous)
        after = None if event.value is None else metadata_view.item_of(Record(event.key, event.value, event.revision))
        return Change(event.revision, before, after)

    def _cached_item(self, record: Record) -> Item:
        item = self._items.pop(record.key)
        return item if item is not None and item.revision == record.revision else metadata_view.item_of(record)

    async def execute(self, actions: Sequence[Action]) -> list[Outcome]:
        return await self._executor.execute(actions)

    async def record_warning(self, item: Item, reason: str, message: str, *, component: str = "") -> None:
        with contextlib.suppress(errors.ApiError):
            if not await self._executor.is_permitted(
                ResourceAttributes("create", "", "events", "", item.meta.namespace or "default")
            ):
                return
            await self._events.create(
                self.kind_at(item.key), item, reason=reason, message=message, component=component or server_events.COMPONENT
            )


def _is_relevant(event: Event) -> bool:
    """Whether the change can concern ownership or deletion.

    Fast path: most objects have neither, as a search of their bytes shows.
    """
    if event.key.startswith(HIDDEN_KEYS):
        return False
    value, previous = event.value, event.previous
    if value is None or _OWNED in value or _DELETED in value or event.key.startswith(_DEFINITIONS):
        return True
    return previous is not None and (_OWNED in previous.value or _DELETED in previous.value)
