"""Executes controllers' actions on the store: checks permissions, plans guarded transactions, and commits them in batches.

The plans come from the same `server.objects.deletion` as those of client requests: a controller's delete does what one over HTTP
does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from probate.api.catalog import Resource
from probate.api.ownership import Action, Outcome
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.gc.backends.store import transactions
from probate.server.audit import bulk_events
from probate.server.audit.current_log import CurrentAuditLog
from probate.server.authz.actors import ActorAuthorizer, CompletedActions, Results
from probate.server.codec import object_codec
from probate.server.objects import deletion
from probate.server.objects.deletion import DeletionPlan
from probate.server.objects.write import require_transaction
from probate.server.ownership import namespace_content
from probate.store import contract
from probate.store.contract import DamagedRecord, EmptyRange, Record, Store, Txn

BATCH, SMALL_BATCH = 500, 25
"""Actions that are planned before the event loop gets control, and committed together; few while requests wait."""

log = logging.getLogger(__name__)

CommitResult: TypeAlias = contract.CommitResult | errors.ApiError | None
"""The result of a transaction; None if there was none."""


class ActionExecutor:
    """Executes actions on the objects of one store, as one actor. Without an actor, nothing is checked or audited."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        kind_at: Callable[[str], Resource],
        *,
        audit: CurrentAuditLog,
        actor: ActorAuthorizer | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._kind_at = kind_at
        self._audit_log = audit
        self._actor = actor

    async def execute(self, actions: Sequence[Action]) -> list[Outcome]:
        """Executes each action, or returns why not."""
        batches: list[asyncio.Task[list[Outcome]]] = []
        size = time_slices.slice_size(BATCH, SMALL_BATCH)
        try:
            for start in range(0, len(actions), size):
                # While one batch becomes durable, the next is planned.
                batches.append(asyncio.create_task(self._execute_permitted(actions[start : start + size])))
                await time_slices.wait_turn()
            return [outcome for outcomes in await asyncio.gather(*batches) for outcome in outcomes]
        except BaseException:
            await tasks.stop(*batches)
            raise

    async def is_permitted(self, ask: ResourceAttributes) -> bool:
        """Whether the actor may do this as well."""
        return self._actor is None or await self._actor.is_allowed(ask)

    async def _execute_permitted(self, actions: Sequence[Action]) -> list[Outcome]:
        """Executes the actions that are permitted, and writes audit events if there is an audit log."""
        actor = self._actor
        if actor is None or (self._audit_log.log is None and not actor.actor.is_checked):
            return (await self._execute(actions)).outcomes
        try:
            permits = await actor.permissions(actions)
            if self._audit_log.log is not None:
                self._audit_log.log.check_capacity()
        except errors.ApiError as error:
            log.warning(
                "controller actions not executed, will retry",
                extra=facts(user=actor.actor.user.name, actions=len(actions), error=str(error)),
            )
            return [Outcome.FAILED] * len(actions)
        denied = {
            index
            for index, permit in enumerate(permits)
            if permit.names is not None and not permit.allows(actions[index].item.meta.name)
        }
        results = await (self._execute(actions) if not denied else self._execute_except(actions, denied))
        if denied or self._audit_log.log is not None:
            self._audit(actor, CompletedActions(actions, permits, results), denied)
        return results.outcomes

    async def _execute_except(self, actions: Sequence[Action], denied: set[int]) -> Results:
        """Executes all but the denied actions."""
        allowed = [index for index in range(len(actions)) if index not in denied]
        results = await self._execute([actions[index] for index in allowed])
        outcomes, removed = [Outcome.DENIED] * len(actions), [False] * len(actions)
        for index, outcome in zip(allowed, results.outcomes, strict=True):
            outcomes[index] = outcome
        for index, is_removed in zip(allowed, results.removed, strict=False):
            removed[index] = is_removed
        return Results(outcomes, removed)

    def _audit(self, actor: ActorAuthorizer, done: CompletedActions, denied: set[int]) -> None:
        """Logs the denials that are new, and writes audit events."""
        new = {index for index in denied if actor.record_denial(done.permissions[index], done.actions[index].item.meta.name)}
        if self._audit_log.log is not None:
            self._audit_log.log.add(
                bulk_events.BulkEvents(self._audit_log.log.bulk_context, actor.actor, done, new, self._clock.now())
            )

    async def _execute(self, actions: Sequence[Action]) -> Results:
        """Plans all actions, commits them, and removes the objects that were only marked so far."""
        removals = transactions.PlainRemovals(self._kind_at)
        txns = [removals.plan(action) for action in actions]
        plans = await self._plans({index: actions[index] for index, txn in enumerate(txns) if txn is None})
        for index, plan in plans.items():
            txns[index] = None if plan is None else plan.txn
        committed = iter(await self._commit([txn for txn in txns if txn is not None]))
        results = [None if txn is None else next(committed) for txn in txns]
        only_marked: list[int] = []
        if plans:
            only_marked = await self._commit_otherwise(plans, results)
            await self._remove_marked([(plan, results[index]) for index, plan in plans.items() if plan is not None])
        outcomes = [Outcome.DONE if type(result) is int else _outcome(result) for result in results]
        for index in plans:
            if txns[index] is None:
                outcomes[index] = _outcome_without_write(plans[index])
        return Results(outcomes, [] if self._audit_log.log is None else _removed(txns, plans, only_marked))

    async def _plans(self, actions: dict[int, Action]) -> dict[int, DeletionPlan | None]:
        """Returns the plans of actions whose objects have to be read first. None for an object that is gone."""
        if not actions:
            return {}
        now = self._clock.now()
        records = await self._store.read_many([action.item.key for action in actions.values()])
        plans: dict[int, DeletionPlan | None] = {}
        for (index, action), record in zip(actions.items(), records, strict=True):
            resource = self._kind_at(action.item.key)
            if isinstance(record, DamagedRecord):  # the next read of the item finds that out
                plans[index] = None
                continue
            is_held = record is not None and await namespace_content.has_content(self._store, resource, record)
            plans[index] = transactions.plan(action, record, resource, now=now, is_held=is_held)
        return plans

    async def _commit(self, txns: list[Txn]) -> list[contract.CommitResult | errors.ApiError]:
        try:
            return list(await self._store.commit_many(txns)) if txns else []
        except errors.ApiError as error:  # one of them may be too large for the store: each gets its own result
            log.warning("batch of actions failed, retrying one by one", extra=facts(actions=len(txns), error=str(error)))
        return [await self._commit_one(txn) for txn in txns]

    async def _commit_one(self, txn: Txn) -> contract.CommitResult | errors.ApiError:
        try:
            return await self._store.commit(txn)
        except errors.ApiError as error:
            log.warning("action failed", extra=facts(key=txn.key, error=str(error)))
            return error

    async def _commit_otherwise(self, plans: dict[int, DeletionPlan | None], results: list[CommitResult]) -> list[int]:
        """Commits the alternatives of plans that were refused because a range was not empty. Returns which those are."""
        alternatives = {index: plan.fallback.txn for index, plan in plans.items() if plan is not None and plan.fallback is not None}
        held = {index: txn for index, txn in alternatives.items() if txn is not None and _outcome(results[index]) is Outcome.HELD}
        for index, result in zip(held, await self._commit(list(held.values())), strict=True):
            results[index] = result
        return list(held)

    async def _remove_marked(self, plans: list[tuple[DeletionPlan, CommitResult]]) -> None:
        """Removes the objects that a plan has marked to be removed right after."""
        marked = [
            Record(plan.record.key, plan.record.value, result)
            for plan, result in plans
            if plan.removes_after_marking and isinstance(result, int)
        ]
        # A client that changed one in between saw that it is being deleted: its write removes or holds the object.
        await self._commit(
            [require_transaction(deletion.plan_removal(record, object_codec.meta(record.value)).txn) for record in marked]
        )


def _removed(txns: Sequence[Txn | None], plans: dict[int, DeletionPlan | None], only_marked: Sequence[int]) -> list[bool]:
    """Returns whether each action removes its object."""
    removed = [txn is not None and (txn.value is None or _is_half(plans.get(index))) for index, txn in enumerate(txns)]
    for index in only_marked:
        removed[index] = False
    return removed


def _is_half(plan: DeletionPlan | None) -> bool:
    return plan is not None and plan.removes_after_marking


def _outcome_without_write(plan: DeletionPlan | None) -> Outcome:
    """Returns the outcome of an action for which there was nothing to write."""
    if plan is None:
        return Outcome.CHANGED
    return Outcome.HELD if plan.is_blocked_by_content else Outcome.DONE


def _outcome(result: CommitResult) -> Outcome:
    """Returns the outcome of an action that was committed or refused."""
    if result is None or isinstance(result, int):
        return Outcome.DONE
    if isinstance(result, errors.ApiError):
        return Outcome.FAILED
    return Outcome.HELD if all(isinstance(guard, EmptyRange) for guard in result.guards) else Outcome.CHANGED
