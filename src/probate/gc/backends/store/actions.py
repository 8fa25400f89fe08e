"""What controllers decide, carried out: actions become guarded transactions, thousands to a batch.

They go through the same `deletions` as a client's requests: whatever a delete over HTTP would do, a controller's does too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from probate.api.catalog import Resource
from probate.api.ownership import Action, Outcome
from probate.api.rbac.policy_rules import Ask
from probate.core import errors
from probate.core.aio import tasks, time_slices
from probate.gc.backends.store import transactions
from probate.server.audit import bulk_events
from probate.server.authz.actors import Doer, Done, Office, Results
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import deletion
from probate.server.objects.deletion import Plan
from probate.server.objects.write import sure
from probate.server.ownership import namespace_content
from probate.store import contract
from probate.store.contract import Damaged, EmptyRange, Record, Txn

PART, SMALL_PART = 500, 25
"""Actions that are planned before others get the event loop, and that are committed together; few while others ask."""

log = logging.getLogger(__name__)

Result: TypeAlias = contract.Outcome | errors.ApiError | None
"""What a transaction came to; None if there was none."""


class Acting:
    """Carries out actions on the objects of one API."""

    def __init__(self, api: Api, kind_at: Callable[[str], Resource], doer: Doer | None = None) -> None:
        self._api = api
        self._office = None if doer is None else Office(api, doer, kind_at)
        self._clock = api.clock
        self._store = api.store
        self._kind_at = kind_at

    async def act(self, actions: Sequence[Action]) -> list[Outcome]:
        """Each action, or why it was not carried out."""
        parts: list[asyncio.Task[list[Outcome]]] = []
        part = time_slices.piece(PART, SMALL_PART)
        try:
            for start in range(0, len(actions), part):
                # While one part becomes durable, the next is planned.
                parts.append(asyncio.create_task(self._act_as(actions[start : start + part])))
                await time_slices.turn()
            return [outcome for some in await asyncio.gather(*parts) for outcome in some]
        except BaseException:
            await tasks.stop(*parts)
            raise

    async def may(self, ask: Ask) -> bool:
        """Whether who acts here may do this as well."""
        return self._office is None or await self._office.may(ask)

    async def _act_as(self, actions: Sequence[Action]) -> list[Outcome]:
        """What may be done of these, and told if it has to be."""
        office = self._office
        if office is None or (self._api.audit is None and not office.doer.is_checked):
            return (await self._act(actions)).outcomes
        try:
            permits = await office.permits(actions)
            if self._api.audit is not None:
                self._api.audit.check_has_room()
        except errors.ApiError as error:
            log.warning("%d actions cannot be carried out at the moment, and are tried again: %s", len(actions), error)
            return [Outcome.FAILED] * len(actions)
        denied = {
            at for at, permit in enumerate(permits) if permit.names is not None and not permit.allows(actions[at].item.meta.name)
        }
        done = await (self._act(actions) if not denied else self._act_but(actions, denied))
        if denied or self._api.audit is not None:
            self._tell(office, Done(actions, permits, done), denied)
        return done.outcomes

    async def _act_but(self, actions: Sequence[Action], denied: set[int]) -> Results:
        """All but those that are denied."""
        allowed = [at for at in range(len(actions)) if at not in denied]
        done = await self._act([actions[at] for at in allowed])
        outcomes, removed = [Outcome.DENIED] * len(actions), [False] * len(actions)
        for at, outcome in zip(allowed, done.outcomes, strict=True):
            outcomes[at] = outcome
        for at, is_removed in zip(allowed, done.removed, strict=False):
            removed[at] = is_removed
        return Results(outcomes, removed)

    def _tell(self, office: Office, done: Done, denied: set[int]) -> None:
        new = {at for at in denied if office.note_denied(done.permits[at], done.actions[at].item.meta.name)}
        if self._api.audit is not None:
            self._api.audit.note(bulk_events.Doings(self._api.audit.books, office.doer, done, new, self._clock.now()))

    async def _act(self, actions: Sequence[Action]) -> Results:
        """Plan all, commit all, and remove what was only marked so far."""
        removals = transactions.Removals(self._kind_at)
        txns = [removals.plan(action) for action in actions]
        plans = await self._plans({at: actions[at] for at, txn in enumerate(txns) if txn is None})
        for at, plan in plans.items():
            txns[at] = None if plan is None else plan.txn
        written = iter(await self._commit([txn for txn in txns if txn is not None]))
        results = [None if txn is None else next(written) for txn in txns]
        kept: list[int] = []
        if plans:
            kept = await self._turn_to_otherwise(plans, results)
            await self._finish([(plan, results[at]) for at, plan in plans.items() if plan is not None])
        outcomes = [Outcome.DONE if type(one) is int else _outcome(one) for one in results]
        for at in plans:
            if txns[at] is None:
                outcomes[at] = _idle_outcome(plans[at])
        return Results(outcomes, [] if self._api.audit is None else _removed(txns, plans, kept))

    async def _plans(self, actions: dict[int, Action]) -> dict[int, Plan | None]:
        """Plans of actions on objects that have to be read for it. None for what is no more."""
        if not actions:
            return {}
        moment = self._clock.now()
        records = await self._store.read_many([action.item.where for action in actions.values()])
        plans: dict[int, Plan | None] = {}
        for (at, action), record in zip(actions.items(), records, strict=True):
            resource = self._kind_at(action.item.where)
            if isinstance(record, Damaged):  # whoever looks again sees that
                plans[at] = None
                continue
            is_held = record is not None and await namespace_content.is_held(self._store, resource, record)
            plans[at] = transactions.plan(action, record, resource, moment, is_held=is_held)
        return plans

    async def _commit(self, txns: list[Txn]) -> list[contract.Outcome | errors.ApiError]:
        try:
            return list(await self._store.commit_many(txns)) if txns else []
        except errors.ApiError as error:  # one of them may be too large for the store: each gets its own answer
            log.warning("a batch of %d actions failed, and is tried one by one: %s", len(txns), error)
        return [await self._commit_one(txn) for txn in txns]

    async def _commit_one(self, txn: Txn) -> contract.Outcome | errors.ApiError:
        try:
            return await self._store.commit(txn)
        except errors.ApiError as error:
            log.warning("%s could not be changed: %s", txn.key, error)
            return error

    async def _turn_to_otherwise(self, plans: dict[int, Plan | None], results: list[Result]) -> list[int]:
        """Write what some plans have for the case that something is in their way. Returns which do."""
        others = {at: plan.otherwise.txn for at, plan in plans.items() if plan is not None and plan.otherwise is not None}
        held = {at: txn for at, txn in others.items() if txn is not None and _outcome(results[at]) is Outcome.HELD}
        for at, result in zip(held, await self._commit(list(held.values())), strict=True):
            results[at] = result
        return list(held)

    async def _finish(self, plans: list[tuple[Plan, Result]]) -> None:
        """Remove what a plan has marked to be removed right after."""
        marked = [
            Record(plan.left.key, plan.left.value, result) for plan, result in plans if plan.is_half and isinstance(result, int)
        ]
        # Whoever changed one in between has been told that it goes, and that change removes it or holds it.
        await self._commit([sure(deletion.removal(record, object_codec.meta(record.value)).txn) for record in marked])


def _removed(txns: Sequence[Txn | None], plans: dict[int, Plan | None], kept: Sequence[int]) -> list[bool]:
    """Of each action, whether it removes its object."""
    removed = [txn is not None and (txn.value is None or _is_half(plans.get(at))) for at, txn in enumerate(txns)]
    for at in kept:
        removed[at] = False
    return removed


def _is_half(plan: Plan | None) -> bool:
    return plan is not None and plan.is_half


def _idle_outcome(plan: Plan | None) -> Outcome:
    """What it means that there was nothing to write."""
    if plan is None:
        return Outcome.CHANGED
    return Outcome.HELD if plan.is_held else Outcome.DONE


def _outcome(result: Result) -> Outcome:
    """What became of an action that was written."""
    if result is None or isinstance(result, int):
        return Outcome.DONE
    if isinstance(result, errors.ApiError):
        return Outcome.FAILED
    return Outcome.HELD if all(isinstance(guard, EmptyRange) for guard in result.failed) else Outcome.CHANGED
