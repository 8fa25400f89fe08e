"""OwnershipStore: the layer of the store that records to which tenant each object belongs, and lets nothing into a terminating one.

It wraps the store of the physical view, so that no code path can forget what it does: requests, controllers, the collector, an
import. `owned_transactions` says what it adds to a transaction: the label of the object, its entry in the index of the tenant,
and guards that the tenant is what it was taken for. Together with the Tenant's own transactions, this keeps for every tenant:

    entries     tenant/<id>/<key> exists if and only if the object exists and has the label kubezoo.io/tenant=<id>
    the fence   once the entry tenant-open/<id> is removed, no object gets into the tenant any more
    the prefix  a tenant is created only if no object is named as its objects would be

(An entry also exists for a cluster-scoped object without label that is named as the objects of a tenant that does not exist.)

**Stale states do no harm.** What is known about a tenant is cached, on every server separately. It is always a guard of the
transaction that relies on it. If such a guard fails, the state is read again and the transaction planned again, `MAX_TRIES`
times. A refusal is no transaction, so the state behind it is read again as well.

Reads and watches are the wrapped store's own methods: they cost nothing more.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from probate.core import errors
from probate.store.contract import CommitResult, FailedGuards, Guard, Store, Txn
from probate.tenants.ownership import tenant_errors, tenant_states
from probate.tenants.ownership.new_objects import NewObjects
from probate.tenants.ownership.owned_transactions import Plan, Terminating
from probate.tenants.ownership.tenant_states import CLOSED
from probate.tenants.ownership.transaction_planner import TransactionPlanner

MAX_TRIES = 5
"""Attempts at a transaction whose tenant was opened or closed meanwhile."""


class OwnershipStore:
    """A store that knows tenants, on top of one that does not. Implements `store.contract.Store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._planner = TransactionPlanner(store)
        self._commit = store.commit
        self._commit_many = store.commit_many
        self.tenancy = NewObjects(self._planner.keys, self._planner.states)
        self.limits = store.limits
        self.damaged_objects = store.damaged_objects
        self.revision = store.revision
        self.unchanged_since = store.unchanged_since
        self.confirmed_revision = store.confirmed_revision
        self.read = store.read
        self.read_many = store.read_many
        self.scan = store.scan
        self.scan_many = store.scan_many
        self.nonempty_ranges = store.nonempty_ranges
        self.count = store.count
        self.child_prefixes = store.child_prefixes
        self.watch = store.watch
        self.compact = store.compact
        self.record_time = store.record_time
        self.revision_at = store.revision_at
        self.check = store.check
        self.close = store.close

    async def evict(self, tenant: str) -> None:
        """Drops what is cached of a tenant."""
        self._planner.states.drop((tenant,))

    def commit(self, txn: Txn) -> Coroutine[Any, Any, CommitResult]:
        """Commits the transaction with what it takes to record its tenant, as specified by the contract.

        Raises `Forbidden` with the cause `TenantTerminating` for a create in a tenant that is being deleted, `Forbidden` for an
        object between two tenants, and `Invalid` for a wrong label. The failed guards that it returns are those of the
        transaction; only if a tenant was opened and closed all the time, those that were added.
        """
        return self._commit(txn) if self._planner.is_untouched(txn) else self._commit_owned(txn)

    def commit_many(self, txns: Sequence[Txn]) -> Coroutine[Any, Any, list[CommitResult]]:
        """Commits the transactions, as specified by the contract. Those that need nothing cost next to nothing.

        Raises like `commit`, before anything is written, if a transaction can never be committed. But a create in a terminating
        tenant does not affect the others: its result is the failed guard that the tenant is open. A transaction whose tenant was
        opened or closed meanwhile is tried again after the others.
        """
        if all(map(self._planner.is_untouched, txns)):
            return self._commit_many(txns)
        return self._commit_many_owned(tuple(txns))

    async def _commit_owned(self, txn: Txn) -> CommitResult:
        for _ in range(MAX_TRIES):
            [plan] = await self._plans((txn,))
            if isinstance(plan, Terminating):
                raise tenant_errors.terminating(txn.key, plan.tenant)
            outcome = await self._commit(plan)
            failed = self._guards_of_caller(txn, outcome)
            if failed != ():
                return outcome if failed is None else FailedGuards(failed)
        return outcome

    async def _plans(self, txns: Sequence[Txn]) -> list[Plan]:
        """Returns a plan for each transaction. No guard confirms a refusal, so none is based on what is cached of a tenant."""
        try:
            plans = await self._planner.plans(txns)
            if not any(isinstance(plan, Terminating) for plan in plans):
                return plans
        except (errors.Forbidden, errors.Invalid):
            pass
        self._planner.states.drop({tenant for txn in txns for tenant in self._planner.tenants_of(txn)})
        return await self._planner.plans(txns)

    async def _commit_many_owned(self, txns: tuple[Txn, ...]) -> list[CommitResult]:
        results: dict[int, CommitResult] = {}
        left = list(range(len(txns)))
        for _ in range(MAX_TRIES):
            plans = await self._plans([txns[number] for number in left])
            ready: dict[int, Txn] = {}
            for number, plan in zip(left, plans, strict=True):
                if isinstance(plan, Terminating):
                    results[number] = FailedGuards((tenant_states.open_guard(plan.tenant, CLOSED),))
                else:
                    ready[number] = plan
            outcomes = await self._commit_many(list(ready.values())) if ready else []
            left = []
            for number, outcome in zip(ready, outcomes, strict=True):
                failed = self._guards_of_caller(txns[number], outcome)
                results[number] = FailedGuards(failed) if failed else outcome
                left += [number] if failed == () else []
            if not left:
                break
        return [results[number] for number in range(len(txns))]

    def _guards_of_caller(self, txn: Txn, outcome: CommitResult) -> tuple[Guard, ...] | None:
        """Returns which of the caller's guards have failed: none, if only those that were added; None if it was committed."""
        if not isinstance(outcome, FailedGuards):
            return None
        own = txn.all_guards()
        failed = tuple(guard for guard in outcome.guards if guard in own)
        if len(failed) < len(outcome.guards):
            self._planner.states.drop(self._planner.tenants_of(txn))
        return failed
