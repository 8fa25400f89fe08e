"""What the history cannot tell about a deleted tenant is not known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.store import contract
from probate.store.contract import Revision
from probate.store.sqlite.store import SqliteStore, open_memory
from probate.tenants.ownership.erasure import Erasure, erasure
from support.stored_tenants import committed, create_tenant, remove_tenant

ONE = "111111"
_DAMAGE = "UPDATE log SET value = CAST('?' || substr(value, 2) AS BLOB) WHERE rev = ?"


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await open_memory()
    yield store
    await store.close()


async def of(store: SqliteStore) -> Erasure:
    return await erasure(store, ONE, lambda: asyncio.sleep(0))


async def test_damaged_tenant_in_the_history_is_not_known(store: SqliteStore) -> None:
    created = committed(await create_tenant(store, ONE))
    committed(await remove_tenant(store, ONE))
    store.database.writer.execute(_DAMAGE, (created,))
    assert (await of(store)).erased in {None, False}
    await store.compact(await store.revision())
    assert (await of(store)).erased is True


class CompactingStore:
    """A store whose history is compacted again and again, up to the newest revision."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def revision(self) -> Revision:
        key = f"objects/configmaps/default/{await self._store.revision()}"
        now = committed(await self._store.commit(contract.create(key, b"{}")))
        await self._store.compact(now)
        return now


async def test_history_that_is_being_compacted_all_the_time_is_not_known(store: SqliteStore) -> None:
    found = await erasure(CompactingStore(store), ONE, lambda: asyncio.sleep(0))
    assert (found.erased, "is being compacted" in found.message) == (None, True)
