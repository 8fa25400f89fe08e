"""A store that keeps the index of what belongs to tenants, by the names in keys and the claims of volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import orjson

from probate.api import tenants
from probate.store.contract import CommitResult, Store, Txn

VOLUMES = "objects/persistentvolumes/"


class OwnedStore:
    """Adds the entries of these tenants' objects when they are created, and removes them when they are deleted."""

    def __init__(self, store: Store, *owners: str) -> None:
        self._store = store
        self._owners = owners

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, txn: Txn) -> CommitResult:
        return await self._store.commit(self._with_entries(txn))

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        return await self._store.commit_many([self._with_entries(txn) for txn in txns])

    def _with_entries(self, txn: Txn) -> Txn:
        owners = [owner for owner in self._owners if txn.value is None or owner in _owners_of(txn)]
        entries = tuple(tenants.content_entry(owner, txn.key) for owner in owners)
        if txn.value is None:
            return msgspec.structs.replace(txn, remove_entries=(*txn.remove_entries, *entries))
        if txn.expected_revision:
            return txn
        return msgspec.structs.replace(txn, add_entries=(*txn.add_entries, *entries))


def _owners_of(txn: Txn) -> tuple[str, ...]:
    if not txn.key.startswith(VOLUMES) or txn.value is None:
        return tenants.ids_in_key(txn.key) if txn.key.startswith("objects/") else ()
    claim = orjson.loads(txn.value)["spec"].get("claimRef") or {}
    return (tenants.id_in_name(claim.get("namespace") or ""),)
