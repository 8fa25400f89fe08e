"""A store that is slow or does not answer."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.store.contract import CommitResult, Record, Revision, Store, Txn


class HangingStore:
    """A store whose commits never return, and whose reads take `seconds`."""

    def __init__(self, store: Store, seconds: float = 0.0) -> None:
        self._store = store
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        await asyncio.sleep(self._seconds)
        return await self._store.read(key, at=at)

    async def commit(self, txn: Txn) -> CommitResult:
        await asyncio.Event().wait()
        raise AssertionError
