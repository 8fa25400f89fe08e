"""What controllers decide, carried out: actions become guarded transactions, thousands to a batch.

They go through the same `deletions` as a client's requests: whatever a delete over HTTP would do, a controller's does too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from probate import errors
from probate.aio import tasks, turns
from probate.machinery.catalog import Resource
from probate.machinery.ownership import Action, Outcome
from probate.server import content, deletions, effects, wire
from probate.server.api import Api
from probate.server.deletions import Plan
from probate.server.writing import sure
from probate.store import contract
from probate.store.contract import EmptyRange, Record, Txn

PART = 100
"""Actions that are planned before others get the event loop."""

log = logging.getLogger(__name__)

Result: TypeAlias = contract.Outcome | errors.ApiError | None
"""What a transaction came to; None if there was none."""


class Acting:
    """Carries out actions on the objects of one API."""

    def __init__(self, api: Api, kind_at: Callable[[str], Resource]) -> None:
        self._clock = api.clock
        self._store = api.store
        self._kind_at = kind_at

    async def act(self, actions: Sequence[Action]) -> list[Outcome]:
        """Each action, or why it was not carried out."""
        parts: list[asyncio.Task[list[Outcome]]] = []
        part = turns.piece(PART)
        try:
            for start in range(0, len(actions), part):
                # While one part becomes durable, the next is planned.
                parts.append(asyncio.create_task(self._act(actions[start : start + part])))
                await turns.turn()
            return [outcome for some in await asyncio.gather(*parts) for outcome in some]
        except BaseException:
            await tasks.stop(*parts)
            raise

    async def _act(self, actions: Sequence[Action]) -> list[Outcome]:
        """Plan all, commit all, and remove what was only marked so far."""
        removals = effects.Removals(self._kind_at)
        txns = [removals.plan(action) for action in actions]
        plans = await self._plans({at: actions[at] for at, txn in enumerate(txns) if txn is None})
        for at, plan in plans.items():
            txns[at] = None if plan is None else plan.txn
        written = iter(await self._commit([txn for txn in txns if txn is not None]))
        results = [None if txn is None else next(written) for txn in txns]
        if plans:
            await self._turn_to_otherwise(plans, results)
            await self._finish([(plan, results[at]) for at, plan in plans.items() if plan is not None])
        return [_idle_outcome(plans[at]) if at in plans and txns[at] is None else _outcome(one) for at, one in enumerate(results)]

    async def _plans(self, actions: dict[int, Action]) -> dict[int, Plan | None]:
        """Plans of actions on objects that have to be read for it. None for what is no more."""
        if not actions:
            return {}
        moment = self._clock.now()
        records = await self._store.read_many([action.item.where for action in actions.values()])
        plans: dict[int, Plan | None] = {}
        for (at, action), record in zip(actions.items(), records, strict=True):
            resource = self._kind_at(action.item.where)
            is_held = record is not None and await content.is_held(self._store, resource, record)
            plans[at] = effects.plan(action, record, resource, moment, is_held=is_held)
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

    async def _turn_to_otherwise(self, plans: dict[int, Plan | None], results: list[Result]) -> None:
        """Write what some plans have for the case that something is in their way."""
        others = {at: plan.otherwise.txn for at, plan in plans.items() if plan is not None and plan.otherwise is not None}
        held = {at: txn for at, txn in others.items() if txn is not None and _outcome(results[at]) is Outcome.HELD}
        for at, result in zip(held, await self._commit(list(held.values())), strict=True):
            results[at] = result

    async def _finish(self, plans: list[tuple[Plan, Result]]) -> None:
        """Remove what a plan has marked to be removed right after."""
        marked = [
            Record(plan.left.key, plan.left.value, result) for plan, result in plans if plan.is_half and isinstance(result, int)
        ]
        # Whoever changed one in between has been told that it goes, and that change removes it or holds it.
        await self._commit([sure(deletions.removal(record, wire.meta(record.value)).txn) for record in marked])


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
