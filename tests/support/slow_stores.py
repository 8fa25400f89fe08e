"""A store that does not answer, or takes its time."""

from __future__ import annotations

import asyncio
from typing import Any

from probate.store.contract import Outcome, Record, Revision, Store, Txn


class Stuck:
    """One that never says what became of a write, and takes `seconds` for each read."""

    def __init__(self, store: Store, seconds: float = 0.0) -> None:
        self._store = store
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        await asyncio.sleep(self._seconds)
        return await self._store.read(key, at=at)

    async def commit(self, txn: Txn) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError
