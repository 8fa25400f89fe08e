"""TransactionPlanner: decides for each transaction what it has to become (`owned_transactions`), and reads what that takes.

Most transactions need nothing: the objects are of no tenant, as their keys say. Of the others, most need only cached states of
tenants. Those whose label or volume says that more has to be known read the stored objects, all of a batch at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from probate.api import tenants
from probate.store import argument_checks
from probate.store.contract import NO_REVISION, DamagedRecord, Limits, ReadResult, Store, Txn
from probate.tenants.ownership import owned_transactions, prefixed_keys, stored_labels
from probate.tenants.ownership.owned_transactions import Plan
from probate.tenants.ownership.prefixed_keys import PrefixedKeys
from probate.tenants.ownership.stored_labels import LABEL_BYTES
from probate.tenants.ownership.tenant_states import TenantState, TenantStates

RESERVED = 4
"""How many entries and guards a plan can have more than its transaction.

What is written to an object of a tenant leaves this room, so that the object can be deleted.
"""
_ALL_ENTRIES = "tenant/"


class _Subject(NamedTuple):
    """A transaction, the tenants in its key, and for a volume the tenant of its claim."""

    txn: Txn
    prefixes: tuple[str, ...]
    claimant: str
    is_volume: bool

    @property
    def tenants(self) -> tuple[str, ...]:
        return (*self.prefixes, self.claimant) if self.claimant else self.prefixes


class TransactionPlanner:
    """Plans the transactions of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._limits = _reduced(store.limits)
        self.keys = PrefixedKeys()
        self.states = TenantStates(store)

    def is_untouched(self, txn: Txn) -> bool:
        """Fast path: whether the transaction can be committed as it is, which the keys and values of most show at once."""
        key, value = txn.key, txn.value
        if key.rpartition("/")[0] not in self.keys.free_folders and (prefixed_keys.is_volume(key) or self.keys.tenants_in(key)):
            return False
        return value is None or LABEL_BYTES not in value

    async def plans(self, txns: Sequence[Txn]) -> list[Plan]:
        """Returns a plan for each transaction. Raises `Forbidden`, `Invalid` or `TooLarge` if one can never be committed."""
        subjects = [self._subject(txn) for txn in txns]
        written = {tenant for subject in subjects if subject.txn.value is not None for tenant in subject.tenants}
        states = await self.states.states(written) if written else {}
        plans = [self._plan(subject, states) for subject in subjects]
        unplanned = [number for number, plan in enumerate(plans) if plan is None]
        current = await self._read([txns[number].key for number in unplanned])
        result: list[Plan] = [plan if plan is not None else subject.txn for plan, subject in zip(plans, subjects, strict=True)]
        for number, record in zip(unplanned, current, strict=True):
            result[number] = await self._plan_from_stored(subjects[number], record, states)
        return result

    def tenants_of(self, txn: Txn) -> tuple[str, ...]:
        """Returns the tenants on whose states the plan of a transaction depends."""
        return self._subject(txn).tenants

    def _subject(self, txn: Txn) -> _Subject:
        is_volume = prefixed_keys.is_volume(txn.key)
        claimant = stored_labels.claiming_tenant(txn.value) if is_volume and txn.value is not None else ""
        return _Subject(txn, self.keys.tenants_in(txn.key), claimant, is_volume)

    def _plan(self, subject: _Subject, states: dict[str, TenantState]) -> Plan | None:
        """Returns the plan; None if it depends on the stored object."""
        txn, prefixes = subject.txn, subject.prefixes
        if txn.value is None:
            return None if subject.is_volume else owned_transactions.owned_delete(txn, prefixes)
        if subject.tenants:
            argument_checks.check_txn(txn, self._limits)
        if txn.expected_revision == NO_REVISION:
            return owned_transactions.owned_create(txn, txn.value, prefixes=prefixes, claimant=subject.claimant, states=states)
        if subject.is_volume:
            return None
        return owned_transactions.guarded_update(txn, txn.value, prefixes=prefixes, states=states)

    async def _read(self, keys: list[str]) -> list[ReadResult]:
        size = self._store.limits.page_size
        results: list[ReadResult] = []
        for start in range(0, len(keys), size):
            results += await self._store.read_many(keys[start : start + size])
        return results

    async def _plan_from_stored(self, subject: _Subject, current: ReadResult, states: dict[str, TenantState]) -> Plan:
        txn = subject.txn
        if txn.value is None:
            return owned_transactions.owned_delete(txn, (*subject.prefixes, *await self._owners(txn.key, current)))
        if subject.is_volume:
            return owned_transactions.adopting_update(txn, txn.value, current, claimant=subject.claimant, states=states)
        return owned_transactions.labelled_update(txn, txn.value, current)

    async def _owners(self, key: str, current: ReadResult) -> list[str]:
        """Returns the tenants to which a volume belongs: at most one, which only the index knows if the volume is damaged."""
        if not isinstance(current, DamagedRecord):
            label = "" if current is None else stored_labels.tenant_of(current.value)
            return [label] if tenants.is_valid_id(label) else []
        ids = [prefix.removeprefix(_ALL_ENTRIES).rstrip("/") for prefix in await self._store.child_prefixes(_ALL_ENTRIES)]
        entries = await self._read([tenants.content_entry(tenant, key) for tenant in ids])
        return [tenant for tenant, entry in zip(ids, entries, strict=True) if entry is not None]


def _reduced(limits: Limits) -> Limits:
    return msgspec.structs.replace(limits, entries=limits.entries - RESERVED, guards=limits.guards - RESERVED)
