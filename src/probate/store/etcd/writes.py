"""Commits: sends a transaction to etcd once and returns what etcd did with it, even if the answer is lost on the way.

After a lost answer a fence determines the outcome (see `write_slots`). If it shows that the write did not happen and never will,
the transaction is attempted again, against the guards as they are then, until the time for it is up. So the result is always true:
a revision, failed guards, or an error which says that nothing happened; and `OutcomeUnknown` only if etcd stays unreachable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from probate.core import errors
from probate.store.contract import CommitResult, Revision, Txn
from probate.store.etcd import batches, messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import TXN, Members
from probate.store.etcd.write_slots import WriteFate, WriteSlot, WriteSlots

CONCURRENT_WRITES = 48
"""Transactions of one batch that are in progress at the same time. Fewer than there are slots, so that other writes can proceed."""

ATTEMPTS = 5
"""Each attempt may take this fraction of the time for a commit. An attempt that was merely slow is still found to have happened."""


class EtcdWriter:
    """Commits the transactions of one store."""

    def __init__(self, members: Members, layout: Layout, slots: WriteSlots, *, seconds: float) -> None:
        self._members = members
        self._layout = layout
        self._slots = slots
        self._seconds = seconds
        self._in_progress = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def commit(self, txn: Txn) -> CommitResult:
        """Commits one transaction, as specified by the contract."""
        with self._counted():
            return await self._commit(txn)

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        """Commits each transaction after the earlier ones on which it depends. Starts no further ones after an error."""
        with self._counted():
            return await batches.BatchRun(txns, self._commit, concurrency=CONCURRENT_WRITES).results()

    async def _commit(self, txn: Txn) -> CommitResult:
        deadline = self._members.clock.monotonic() + self._seconds
        while (result := await self._attempt(txn, deadline)) is None:
            pass
        return result

    @contextmanager
    def _counted(self) -> Generator[None, None, None]:
        """Counts a write in progress, for `drain`. A batch counts as one, even between two of its transactions."""
        self._in_progress += 1
        self._is_idle.clear()
        try:
            yield
        finally:
            self._in_progress -= 1
            if not self._in_progress:
                self._is_idle.set()

    async def drain(self) -> None:
        """Waits until no write is in progress. Each ends by its deadline."""
        await self._is_idle.wait()

    async def _attempt(self, txn: Txn, deadline: float) -> CommitResult | None:
        """Returns the result; None if the transaction certainly did not happen and can be attempted again."""
        async with self._slots.borrow(deadline=deadline) as slot:
            mark = self._slots.begin_write(slot)
            try:
                request = messages.transaction_request(txn, self._layout, slot=slot.key, slot_revision=slot.revision, mark=mark)
                answer = await self._members.call_once(TXN, request, deadline=deadline, member_seconds=self._seconds / ATTEMPTS)
            except rpc_failures.CallNotSent:
                slot.settle(slot.revision)
                raise rpc_failures.unavailable(self._members.endpoints, "no connection") from None
            except errors.TooLarge:
                slot.settle(slot.revision)
                raise
            except rpc_failures.CallLost:
                return await self._determine_outcome(slot, mark, deadline)
            except errors.StoreFull as full:
                return await self._determine_outcome(slot, mark, deadline, full=full)
            return _result(txn, slot, mark, answer=answer)

    async def _determine_outcome(
        self, slot: WriteSlot, mark: bytes, deadline: float, *, full: errors.StoreFull | None = None
    ) -> CommitResult | None:
        result = await self._slots.fence(
            slot, mark, deadline=deadline, member_seconds=self._seconds / ATTEMPTS, is_full=full is not None
        )
        if result.fate is WriteFate.COMMITTED:
            return Revision(result.revision)
        if full is not None:
            raise full
        return None


def _result(txn: Txn, slot: WriteSlot, mark: bytes, *, answer: rpc.TxnResponse) -> CommitResult | None:
    if answer.succeeded:
        slot.settle(answer.header.revision)
        return Revision(answer.header.revision)
    content = messages.slot_content(answer)
    if content is not None and content.value == mark:  # the network delivered the request twice; this answers the second one
        slot.settle(content.revision)
        return Revision(content.revision)
    if content is not None and content.revision == slot.revision:
        slot.settle(slot.revision)
    # Otherwise the slot was removed while no write was in it. It stays unsettled, so it is not used again.
    return messages.failed_guards(txn, answer)
