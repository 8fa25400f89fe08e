"""TenantWatch: a watch of the physical store as one tenant sees it.

Watchers of one tenant share the work: what a batch is for the tenant is kept in the batch. Batches of a range that many tenants
share are divided by tenants once, for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from probate.api import object_keys, tenants
from probate.core import errors
from probate.store import damaged_objects
from probate.store.contract import Batch, BatchHandler, DamagedRecord, Event, Revision, Watch
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.record_converter import RecordConverter

_DIVIDED = "events by tenant"


class TenantWatch:
    """A watch of a tenant's range. `converter` returns the newest one; the watch is in `open_watches` while it is open."""

    def __init__(
        self,
        prefix: str,
        opening: AbstractAsyncContextManager[Watch],
        *,
        converter: Callable[[], RecordConverter],
        open_watches: dict[TenantWatch, None],
    ) -> None:
        self.prefix = prefix
        self._opening = opening
        self._converter = converter
        self._open_watches = open_watches
        self._error: errors.ProbateError | None = None
        self._watch: Watch | None = None

    @property
    def revision(self) -> Revision:
        return self._opened.revision

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        while True:
            if self._error is not None:
                raise self._error
            try:
                batch = await anext(aiter(self._opened))
            except (errors.Gone, errors.TooSlow) as error:
                raise self._in_own_terms(error) from None
            if self._error is not None:
                raise self._error
            if not batch:
                return batch
            if shown := self._shown(batch):
                return shown

    def wake(self) -> None:
        self._opened.wake()

    def set_handler(self, handler: BatchHandler) -> None:
        """Offers each batch of the tenant to the handler first. A batch without events of the tenant is not offered."""

        def handle(batch: Batch) -> bool:
            if self._error is not None:
                return False
            converted = self._of_tenant(batch)
            return not isinstance(converted, DamagedRecord) and (not converted or handler(converted))

        self._opened.set_handler(handle)

    def end(self, error: errors.ProbateError) -> None:
        """Ends the watch: its iterator raises the error."""
        if self._error is None:
            self._error = error
            if self._watch is not None:
                self._watch.wake()

    async def __aenter__(self) -> Self:
        self._watch = await self._opening.__aenter__()
        self._open_watches[self] = None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open_watches.pop(self, None)
        await self._opening.__aexit__(kind, error, trace)

    @property
    def _opened(self) -> Watch:
        if self._watch is None:
            raise errors.InvariantViolation("a watch is used inside its `async with`", prefix=self.prefix)
        return self._watch

    def _shown(self, batch: Batch) -> Batch:
        """Returns what a batch is for the tenant. Raises `Gone` if it contains a change that cannot be shown."""
        shown = self._of_tenant(batch)
        if isinstance(shown, DamagedRecord):
            raise damaged_objects.watch_gap(shown)
        return shown

    def _of_tenant(self, batch: Batch) -> Batch | DamagedRecord:
        converter = self._converter()
        known: Batch | DamagedRecord | None = batch.cache.get(converter)
        if known is None:
            known = batch.cache[converter] = _converted(batch, converter)
        return known

    def _in_own_terms(self, error: errors.Gone | errors.TooSlow) -> errors.ProbateError:
        """Returns the error without the physical names in its message."""
        if isinstance(error, errors.TooSlow):
            message = f"the watch of {self.prefix} fell behind and was cut off. Watch again after revision {error.revision}"
            return errors.TooSlow(message, revision=error.revision)
        return errors.Gone(
            f"changes of {self.prefix} were compacted, or one of them cannot be shown. List again, and watch from there"
        )


def _converted(batch: Batch, converter: RecordConverter) -> Batch | DamagedRecord:
    converted = Batch()
    for event in _possible_events(batch, converter.tenant):
        shown = converter.event(event)
        if isinstance(shown, DamagedRecord):
            return shown
        if shown is not None:
            converted.append(shown)
    return converted


def _possible_events(batch: Batch, tenant: str) -> list[Event]:
    """Returns the events that a tenant may see, in order."""
    divided: dict[str, list[Event]] | None = batch.cache.get(_DIVIDED)
    if divided is None:
        divided = batch.cache[_DIVIDED] = _divided(batch)
    own, common = divided.get(tenant, []), divided.get("", [])
    return sorted([*own, *common], key=lambda event: event.revision) if common else own


def _divided(batch: Batch) -> dict[str, list[Event]]:
    """Returns the events by the tenants whose prefix is in their keys. Those that any tenant may see are under an empty id."""
    divided: dict[str, list[Event]] = {}
    for event in batch:
        for tenant in [""] if shared_objects.is_platform_named(event.key) else _tenants_in(event.key):
            divided.setdefault(tenant, []).append(event)
    return divided


def _tenants_in(key: str) -> set[str]:
    segments = key.split("/")[1:4]
    group = segments[0].partition(".")[2]
    second = segments[1] if len(segments) > 1 and segments[1] != object_keys.NO_NAMESPACE else "".join(segments[2:3])
    return {tenant for tenant in (tenants.id_in_name(group), tenants.id_in_name(second)) if tenant}
