"""Commits: a transaction goes to etcd once, and its outcome is what etcd did, also when the answer is lost on the way.

A lost answer is followed by a fence (see `slots`). If that says that the write has not happened and never will, the
transaction is tried anew, against the guards as they are then, until the time for it is up. So what a caller is told is
always true: a revision, a refusal, or that nothing happened; and `OutcomeUnknown` only if etcd stays out of reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from probate.core import errors
from probate.store.contract import Outcome, Revision, Txn
from probate.store.etcd import batches, messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import TXN, Endpoints
from probate.store.etcd.write_slots import Fate, Slot, Slots

SIDE_BY_SIDE = 48
"""How many transactions of one batch are under way at once. Fewer than there are slots, so that others get through."""

TRIES = 5
"""Each try may take this part of the time for a commit. One that was merely slow is found to have happened all the same."""


class Writes:
    """The writing half of the store."""

    def __init__(self, endpoints: Endpoints, layout: Layout, slots: Slots, *, seconds: float) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._slots = slots
        self._seconds = seconds
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def commit(self, txn: Txn) -> Outcome:
        """Commit one transaction, as the contract has it."""
        with self._counted():
            return await self._commit(txn)

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        """Commit each transaction once those before it that it depends on are done. None is begun after one has failed."""
        with self._counted():
            return await batches.Run(txns, self._commit, side_by_side=SIDE_BY_SIDE).outcomes()

    async def _commit(self, txn: Txn) -> Outcome:
        deadline = self._endpoints.clock.monotonic() + self._seconds
        while (outcome := await self._attempt(txn, deadline)) is None:
            pass
        return outcome

    @contextmanager
    def _counted(self) -> Generator[None, None, None]:
        """One more write is under way. A batch is one, also between two of its transactions."""
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def drain(self) -> None:
        """Wait until no write is under way. Each ends by its deadline."""
        await self._idle.wait()

    async def _attempt(self, txn: Txn, deadline: float) -> Outcome | None:
        """The outcome; None if the transaction certainly did not happen and is worth another attempt."""
        async with self._slots.lend(deadline=deadline) as slot:
            mark = self._slots.begin(slot)
            try:
                request = messages.transaction(txn, self._layout, slot=slot.key, known=slot.revision, mark=mark)
                answer = await self._endpoints.send(TXN, request, deadline=deadline, patience=self._seconds / TRIES)
            except failures.Unsent:
                slot.settle(slot.revision)
                raise failures.unavailable(self._endpoints.names, "no connection") from None
            except errors.TooLarge:
                slot.settle(slot.revision)
                raise
            except failures.Lost:
                return await self._find_out(slot, mark, deadline)
            except errors.StoreFull as full:
                return await self._find_out(slot, mark, deadline, full)
            return _outcome(txn, slot, mark, answer)

    async def _find_out(self, slot: Slot, mark: bytes, deadline: float, full: errors.StoreFull | None = None) -> Outcome | None:
        finding = await self._slots.find_out(
            slot, mark, deadline=deadline, patience=self._seconds / TRIES, is_full=full is not None
        )
        if finding.fate is Fate.HAPPENED:
            return Revision(finding.revision)
        if full is not None:
            raise full
        return None


def _outcome(txn: Txn, slot: Slot, mark: bytes, answer: rpc.TxnResponse) -> Outcome | None:
    if answer.succeeded:
        slot.settle(answer.header.revision)
        return Revision(answer.header.revision)
    held = messages.marker(answer)
    if held is not None and held.value == mark:  # the network delivered the request twice, and this answers the second
        slot.settle(held.revision)
        return Revision(held.revision)
    if held is not None and held.revision == slot.revision:
        slot.settle(slot.revision)
    # Otherwise the slot was removed while nothing was in it. It stays unsettled, so it is not lent again.
    return messages.refusal(txn, answer)
