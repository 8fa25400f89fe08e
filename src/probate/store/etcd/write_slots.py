"""Write slots: determine exactly what happened to a write whose answer was lost.

A *slot* is a key that only this process writes, and each write borrows one. The write compares the slot's revision with the known
one and puts its own mark into the slot, in the same step as everything else. Marks are never reused. If the answer is lost, the
process sends a *fence*: "if the slot is still at the known revision, put a fence into it, otherwise read it". Its result tells:

    the fence was written       The write did not happen. It cannot happen later either: it compares the slot with a revision that
                                is past, and revisions do not repeat. The transaction can be attempted again.
    the slot holds the mark     The write happened, and the slot's revision is its revision.
    the slot holds a fence      An earlier fence was written and its answer was lost too. The same as the first case.
    the slot does not exist     It was removed either before the write arrived, which then can never happen, or afterwards. These
                                cases look alike, so the outcome is unknown. Only slots older than a compaction are removed
                                (see `compaction`), so this takes a compaction up to this very second.
    anything else               Another process uses this process's id. The outcome is unknown.

A slot is created before it is first used, never by the write itself: if a write compared for "the slot is absent", a delayed write
could still happen after the slot had been removed.

A full etcd refuses every put, and some versions refuse every transaction, but it always accepts deletes. In this case the fence
deletes the slot, which returns what it held: if the slot was still at the known revision, the write did not happen, and without its
slot it never can.

A slot with an unresolved write is never borrowed again; this also covers cancelled callers. A later compaction removes it.
"""

from __future__ import annotations

import asyncio
import enum
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

from probate.core import errors
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import DELETE, TXN, Members, backoff_seconds

MAX_CONCURRENT_WRITES = 64
"""Writes of one process that are in progress at the same time; further ones wait."""

_FENCE = b"fence "
_WRITE = b"write "


class WriteSlot:
    """A slot and its last known revision. Belongs to one write at a time."""

    def __init__(self, key: bytes, revision: int) -> None:
        self.key = key
        self.revision = revision
        self.is_settled = True  # False while the fate of a write in it is unknown

    def settle(self, revision: int) -> None:
        """Records that the fate of the write is known, and the slot's revision."""
        self.revision = revision
        self.is_settled = True


class WriteFate(enum.Enum):
    """What happened to a write whose answer was lost."""

    COMMITTED = enum.auto()
    NOT_COMMITTED = enum.auto()  # and it cannot be committed any more
    UNKNOWN = enum.auto()


class FenceResult(NamedTuple):
    """What a fence determined, and the slot's revision afterwards."""

    fate: WriteFate
    revision: int


def decide_fate(content: messages.SlotContent | None, *, expected_revision: int, mark: bytes) -> FenceResult:
    """Decides what happened to the write with this mark from what a fence found in its slot: the table above."""
    if content is None:
        return FenceResult(WriteFate.UNKNOWN, 0)
    if content.value == mark:
        return FenceResult(WriteFate.COMMITTED, content.revision)
    if content.revision == expected_revision or content.value.startswith(_FENCE):
        return FenceResult(WriteFate.NOT_COMMITTED, content.revision)
    return FenceResult(WriteFate.UNKNOWN, content.revision)


class WriteSlots:
    """The slots of this process."""

    def __init__(self, members: Members, layout: Layout, process: str) -> None:
        self._members = members
        self._layout = layout
        self._own = layout.slots_of(process)
        self._free: list[WriteSlot] = []  # the one used last is borrowed first, so an idle server keeps few
        self._usable: set[bytes] = set()  # the keys of slots that are free or borrowed
        self._permits = asyncio.Semaphore(MAX_CONCURRENT_WRITES)
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def borrow(self, *, deadline: float) -> AsyncGenerator[WriteSlot, None]:
        """Yields a slot for one write. The slot is reused only if the fate of the write is known at the end."""
        await self._acquire_permit(deadline)
        try:
            slot = self._free.pop() if self._free else await self._create(deadline)
            try:
                yield slot
            finally:
                self._return(slot)
        finally:
            self._permits.release()

    def is_in_use(self, key: bytes) -> bool:
        """Returns whether this is the key of a slot that this process still uses."""
        return key in self._usable

    def begin_write(self, slot: WriteSlot) -> bytes:
        """Marks the slot as holding a write of unknown fate. Returns the mark, which is for this write alone."""
        slot.is_settled = False
        return _WRITE + str(next(self._numbers)).encode()

    async def fence(self, slot: WriteSlot, mark: bytes, *, deadline: float, member_seconds: float, is_full: bool) -> FenceResult:
        """Determines whether the write with this mark was committed. Raises `OutcomeUnknown` if that cannot be determined."""
        reason = "no connection"
        for pause in backoff_seconds():
            try:
                fence = self._fence_by_deleting if is_full else self._fence_by_writing
                return await fence(slot, mark, deadline=deadline, member_seconds=member_seconds)
            except rpc_failures.CallNotSent:
                break
            except rpc_failures.CallLost as lost:
                reason = str(lost)
            except errors.StoreFull:
                is_full = True
            await self._members.clock.sleep(min(pause, max(0.0, deadline - self._members.clock.monotonic())))
        raise rpc_failures.outcome_unknown(reason)

    async def remove_all(self, *, seconds: float) -> None:
        """Removes the slots of this process. To be called when it will write nothing more."""
        request = rpc.TxnRequest(success=[messages.delete_range(self._own), messages.put(self._layout.tick)])
        await self._members.call(TXN, request, seconds=seconds)

    async def _fence_by_writing(self, slot: WriteSlot, mark: bytes, *, deadline: float, member_seconds: float) -> FenceResult:
        fence = _FENCE + str(next(self._numbers)).encode()
        request = rpc.TxnRequest(
            compare=[messages.compare_revision(slot.key, slot.revision)],
            success=[messages.put(slot.key, fence), messages.put(self._layout.tick)],
            failure=[messages.read(slot.key)],
        )
        answer = await self._members.call_once(TXN, request, deadline=deadline, member_seconds=member_seconds)
        result = FenceResult(WriteFate.NOT_COMMITTED, answer.header.revision)
        if not answer.succeeded:
            result = _check_known(decide_fate(messages.slot_content(answer), expected_revision=slot.revision, mark=mark))
        slot.settle(result.revision)
        return result

    async def _fence_by_deleting(self, slot: WriteSlot, mark: bytes, *, deadline: float, member_seconds: float) -> FenceResult:
        request = rpc.DeleteRangeRequest(key=slot.key, prev_kv=True)
        answer = await self._members.call_once(DELETE, request, deadline=deadline, member_seconds=member_seconds)
        content = messages.slot_content_of(answer.prev_kvs)
        return _check_known(decide_fate(content, expected_revision=slot.revision, mark=mark))

    def _return(self, slot: WriteSlot) -> None:
        if slot.is_settled:
            self._free.append(slot)
        else:
            self._usable.discard(slot.key)

    async def _acquire_permit(self, deadline: float) -> None:
        if not self._permits.locked():
            await self._permits.acquire()  # does not wait
            return
        try:
            async with asyncio.timeout(max(0.0, deadline - self._members.clock.monotonic())):
                await self._permits.acquire()
        except TimeoutError:
            raise rpc_failures.unavailable(self._members.endpoints, "all writes under way take too long") from None

    async def _create(self, deadline: float) -> WriteSlot:
        """Creates a slot. If the answer is lost, its name is never used again and another one is created."""
        reason = "no connection"
        for pause in backoff_seconds():
            key = self._own.key + str(next(self._numbers)).encode()
            request = rpc.TxnRequest(success=[messages.put(key), messages.put(self._layout.tick)])
            try:
                answer = await self._members.call_once(TXN, request, deadline=deadline, member_seconds=2.0)
                self._usable.add(key)
                return WriteSlot(key, answer.header.revision)
            except rpc_failures.CallNotSent:
                break
            except rpc_failures.CallLost as lost:
                reason = str(lost)
            await self._members.clock.sleep(min(pause, max(0.0, deadline - self._members.clock.monotonic())))
        raise rpc_failures.unavailable(self._members.endpoints, reason)


def _check_known(result: FenceResult) -> FenceResult:
    if result.fate is WriteFate.UNKNOWN:
        raise rpc_failures.outcome_unknown("its slot was removed meanwhile, or another process has this one's id")
    return result
