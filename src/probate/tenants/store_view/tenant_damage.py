"""The damaged objects of one tenant: those of the physical store that belong to it, under the tenant's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from probate.store.contract import DamagedRecord, Store
from probate.store.damaged_objects import DamagedObjects
from probate.tenants.store_view.record_converter import RecordConverter


class DamagedObjectsOfTenant(DamagedObjects):
    """A view of the damaged objects of the physical store, which logs and reports them."""

    def __init__(self, store: Store, converter: Callable[[], RecordConverter]) -> None:
        super().__init__()
        self._store = store
        self._converter = converter

    @property
    def by_key(self) -> Mapping[str, DamagedRecord]:
        """The damaged objects by the tenant's keys."""
        physical = self._store.damaged_objects.by_key
        if not physical:
            return {}
        own = [(self._converter().own_key(key), damaged) for key, damaged in physical.items()]
        return {key: DamagedRecord(key, damaged.revision, damaged.problem) for key, damaged in own if key is not None}
