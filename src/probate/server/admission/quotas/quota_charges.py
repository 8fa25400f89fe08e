"""Charges writes to quotas: the usage that a write adds must fit into each quota.

Concurrent writes are counted one after the other. A write that adds usage commits under the guard that no other such write has
committed since its usage was computed: each of them rewrites the index entry of the scope, such as `quota/<namespace>`, which the
guard covers. So no quota is ever exceeded, however many servers there are. A write that reduces usage needs no guard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.kinds.core.quota import quota_rules, usage
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.core.quota.usage import ObjectUsage
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amounts
from probate.server import api_errors
from probate.server.admission.admission_attributes import CREATE, NO_REQUIREMENTS, UPDATE, Attributes, CommitRequirements
from probate.server.admission.quotas.usage_ledger import UsageLedger
from probate.server.storage import storage_keys
from probate.store.contract import Absent, Guard, Store, Unchanged

_POD_OPERATIONS = frozenset({(CREATE, ""), (UPDATE, "resize")})
_OPERATIONS = frozenset({(CREATE, ""), (UPDATE, "")})
"""The operations by which an object can use more."""


class ChargedScope(NamedTuple):
    """The scope that a write is charged to, and the name of the resource in its quotas.

    `entry` is the index entry of the scope in the store; `named_entry` is the same, as the store of the write names it.
    """

    name: str
    quotas: Sequence[Quota]
    resource: str
    entry: str
    named_entry: str


class QuotaCharges:
    """Charges writes to the quotas that `ledger` counts. `store` is the one that it reads."""

    def __init__(self, store: Store, ledger: UsageLedger, offloader: Offloader) -> None:
        self._store = store
        self._ledger = ledger
        self._offloader = offloader
        self._locks: dict[str, asyncio.Lock] = {}

    def keep(self, scopes: Sequence[str]) -> None:
        """Forgets all scopes but these."""
        self._locks = {name: self._locks.get(name) or asyncio.Lock() for name in scopes}

    async def charge(self, write: Attributes, scope: ChargedScope) -> CommitRequirements:
        """Returns what the transaction needs. Raises `Forbidden` if a quota would be exceeded."""
        new, old = await self._offloader.offload_if_large(write.size, lambda: _usage_counts(scope.resource, write))
        quotas = [quota for quota in quota_rules.matching_quotas(scope.quotas, new) if _increase(quota, new, old)]
        if not quotas:
            return NO_REQUIREMENTS
        if scope.resource == usage.PODS:
            await self._offloader.offload_if_large(write.size, lambda: _check_required(write, quotas))
        increases = [(quota, _increase(quota, new, old)) for quota in quotas]
        if write.request.is_dry_run:
            await self._check(write, scope.name, increases, revision=0)
            return NO_REQUIREMENTS
        return await self._locked(write, scope, increases)

    async def _locked(self, write: Attributes, scope: ChargedScope, increases: list[tuple[Quota, Amounts]]) -> CommitRequirements:
        lock = self._locks.setdefault(scope.name, asyncio.Lock())
        await lock.acquire()
        try:
            record = await self._store.read(scope.entry)
            is_local = self._store.unchanged_since("objects/") is not None  # then everything acknowledged so far is published
            published = self._store.confirmed_revision() if is_local else None
            revision = max(record.revision if record else 0, published or 0)
            await self._check(write, scope.name, increases, revision=revision)
        except BaseException:
            lock.release()
            raise
        entry = scope.named_entry
        guard: Guard = Absent(entry) if record is None else Unchanged(entry, record.revision)
        return CommitRequirements((entry,), (guard,), (lock.release,))

    async def _check(self, write: Attributes, scope: str, increases: list[tuple[Quota, Amounts]], *, revision: int) -> None:
        for quota, increase in increases:
            used = await self._ledger.used(scope, quota, revision=revision)
            if message := quota_rules.exceeded_message(quota, used, increase):
                raise _forbidden(write, message)


def can_use_more(operation: str, subresource: str, resource: str) -> bool:
    """Returns whether such a write can use more of a quota. `resource` is named as in quotas."""
    return (operation, subresource) in (_POD_OPERATIONS if resource == usage.PODS else _OPERATIONS)


def resource_name(resource: Resource) -> str:
    """Returns the name of a resource in quotas: that in store keys."""
    return object_keys.resource_in(storage_keys.resource_range(resource))


def _usage_counts(resource: str, write: Attributes) -> tuple[ObjectUsage, ObjectUsage | None]:
    """Returns the object's usage, and its usage before the write."""
    old = None if write.old is None else usage.object_usage(resource, write.old)
    return usage.object_usage(resource, write.object or {}), old


def _increase(quota: Quota, new: ObjectUsage, old: ObjectUsage | None) -> Amounts:
    """Returns how much more of the quota the write uses; empty if it does not use more of anything."""
    before = old.usage if old is not None and quota_rules.matches_quota(quota, old) else {}
    increase = quantity_sums.subtract(quota_rules.counted_amounts(quota, new.usage), quota_rules.counted_amounts(quota, before))
    return increase if any(amount.size > 0 for amount in increase.values()) else {}


def _check_required(write: Attributes, quotas: list[Quota]) -> None:
    for quota in quotas:
        missing = quota_rules.missing_amounts_message(quota, write.object or {})
        if missing:
            raise _forbidden(write, f"failed quota: {quota.name}: must specify {missing}")


def _forbidden(write: Attributes, why: str) -> errors.ApiError:
    name = write.name or str((write.object or {}).get("metadata", {}).get("name", ""))
    return api_errors.forbidden(write.at.resource, name, why)
