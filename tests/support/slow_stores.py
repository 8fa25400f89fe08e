"""A store that is slow or does not answer."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.store.contract import CommitResult, Record, Revision, Store, Txn


class HangingStore:
    """A store whose commits never return, and whose reads take `seconds`, while `is_slow`."""

    def __init__(self, store: Store, seconds: float = 0.0) -> None:
        self._store = store
        self._seconds = seconds
        self.is_slow = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        if self.is_slow:
            await asyncio.sleep(self._seconds)
        return await self._store.read(key, at=at)

    async def commit(self, txn: Txn) -> CommitResult:
        if self.is_slow:
            await asyncio.Event().wait()
        return await self._store.commit(txn)
