"""Caches values that were recently read or written in bulk.

A caller that reads or updates many objects usually deletes them next, and the delete needs their values to show them to watchers.
The value of a key at a revision never changes, so no cached value can become stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probate.core.generational_cache import GenerationalCache
from probate.store.contract import ReadResult, Record, Txn

MAX_RECORDS = 2_000
MAX_VALUE_BYTES = 8 * 1024
"""The size of a cached value. The whole cache takes at most 64 MB, and half of that if no read is of more than a few hundred."""


class ValueCache:
    """The recently read or written records of one store."""

    def __init__(self) -> None:
        self._records: GenerationalCache[Record] = GenerationalCache(MAX_RECORDS)

    def add(self, records: Sequence[ReadResult]) -> None:
        """Adds records that were read or have become durable."""
        self._records.update(
            {
                record.key: record
                for record in records[:MAX_RECORDS]
                if type(record) is Record and len(record.value) <= MAX_VALUE_BYTES
            }
        )

    def values(self, txns: Iterable[Txn]) -> list[bytes]:
        """Returns the values of the versions that the transactions expect, up to the first one that is not cached."""
        values: list[bytes] = []
        get = self._records.get
        for txn in txns:
            record = get(txn.key)
            if record is None or record.revision != txn.expected_revision:
                break
            values.append(record.value)
        return values
