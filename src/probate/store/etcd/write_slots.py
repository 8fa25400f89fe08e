"""How a write whose answer was lost is found out about, exactly.

A *slot* is a key of this process alone, and each write borrows one. The write compares the slot's revision with the known
one and puts its own mark into it, in the same step as everything else. Marks are never used twice. If the answer is lost,
a *fence* follows: "if the slot is still at the known revision, put a fence into it, else read it". By what it finds:

    the fence took hold         The write has not happened. It cannot happen later either: it asks for a revision of the slot
                                that is past, and revisions do not come again. It can be tried anew.
    the slot holds the mark     The write has happened, and the slot's revision is its revision.
    the slot holds a fence      An earlier fence took hold and its answer was lost too. The same as the first case.
    the slot is gone            Either it was removed before the write came, which then can never happen, or after. These
                                look alike, so the outcome is unknown. Only slots older than the compaction are removed
                                (see `past`), so it takes a compaction to this very second for that.
    anything else               Somebody uses our process id. What became of the write is unknown.

A slot is made before it is first used, and never by the write itself: were "the slot is absent" what a write asks for, a
write that was delayed could still happen once the slot had been removed.

A full etcd refuses every put, and some versions every transaction, but it always deletes. There the fence is to delete the slot,
which says what it held: at the known revision still, the write has not happened, and without its slot it never can.

A slot with a write in it whose fate is open is never lent again, which also covers a caller who was cancelled. A later
compaction removes it.
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
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import DELETE, TXN, Endpoints, pauses

IN_FLIGHT = 64
"""How many writes of one process are under way at once; more wait."""

_FENCE = b"fence "
_WRITE = b"write "


class Slot:
    """A slot, and what is known of it. Belongs to one write at a time."""

    def __init__(self, key: bytes, revision: int) -> None:
        self.key = key
        self.revision = revision
        self.is_settled = True  # False while a write is in it whose fate is open

    def settle(self, revision: int) -> None:
        """The write's fate is known, and this is the slot's revision now."""
        self.revision = revision
        self.is_settled = True


class Fate(enum.Enum):
    """What became of a write whose answer was lost."""

    HAPPENED = enum.auto()
    NEVER = enum.auto()  # it has not happened, and cannot any more
    UNKNOWN = enum.auto()


class Finding(NamedTuple):
    """What a fence found out, and the slot's revision since."""

    fate: Fate
    revision: int


def judge(held: messages.Marker | None, *, known: int, mark: bytes) -> Finding:
    """What became of the write with this mark, by what a fence found in its slot: the table above."""
    if held is None:
        return Finding(Fate.UNKNOWN, 0)
    if held.value == mark:
        return Finding(Fate.HAPPENED, held.revision)
    if held.revision == known or held.value.startswith(_FENCE):
        return Finding(Fate.NEVER, held.revision)
    return Finding(Fate.UNKNOWN, held.revision)


class Slots:
    """The slots of this process."""

    def __init__(self, endpoints: Endpoints, layout: Layout, process: str) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._own = layout.slots_of(process)
        self._free: list[Slot] = []  # the one used last is lent first, so a quiet server keeps few
        self._usable: set[bytes] = set()  # free or lent
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._numbers = itertools.count(1)

    @asynccontextmanager
    async def lend(self, *, deadline: float) -> AsyncGenerator[Slot, None]:
        """A slot for one write. It comes back only if the write's fate is known by then."""
        await self._enter(deadline)
        try:
            slot = self._free.pop() if self._free else await self._make(deadline)
            try:
                yield slot
            finally:
                self._take_back(slot)
        finally:
            self._room.release()

    def uses(self, key: bytes) -> bool:
        """Whether this is a slot that this process still uses."""
        return key in self._usable

    def begin(self, slot: Slot) -> bytes:
        """From here on the slot has a write in it. The mark is for this write alone."""
        slot.is_settled = False
        return _WRITE + str(next(self._numbers)).encode()

    async def find_out(self, slot: Slot, mark: bytes, *, deadline: float, patience: float, is_full: bool) -> Finding:
        """What became of the write with this mark: it HAPPENED or NEVER will. `OutcomeUnknown` if that cannot be said."""
        why = "no connection"
        for pause in pauses():
            try:
                fence = self._fence_by_deleting if is_full else self._fence
                return await fence(slot, mark, deadline=deadline, patience=patience)
            except failures.Unsent:
                break
            except failures.Lost as lost:
                why = str(lost)
            except errors.StoreFull:
                is_full = True
            await self._endpoints.clock.sleep(min(pause, max(0.0, deadline - self._endpoints.clock.monotonic())))
        raise failures.unknown(why)

    async def remove_all(self, *, seconds: float) -> None:
        """Remove the slots of this process: nothing will be written any more."""
        request = rpc.TxnRequest(success=[messages.delete_all(self._own), messages.put(self._layout.tick)])
        await self._endpoints.ask(TXN, request, seconds=seconds)

    async def _fence(self, slot: Slot, mark: bytes, *, deadline: float, patience: float) -> Finding:
        fence = _FENCE + str(next(self._numbers)).encode()
        request = rpc.TxnRequest(
            compare=[messages.unchanged(slot.key, slot.revision)],
            success=[messages.put(slot.key, fence), messages.put(self._layout.tick)],
            failure=[messages.read(slot.key)],
        )
        answer = await self._endpoints.send(TXN, request, deadline=deadline, patience=patience)
        finding = Finding(Fate.NEVER, answer.header.revision)
        if not answer.succeeded:
            finding = _certain(judge(messages.marker(answer), known=slot.revision, mark=mark))
        slot.settle(finding.revision)
        return finding

    async def _fence_by_deleting(self, slot: Slot, mark: bytes, *, deadline: float, patience: float) -> Finding:
        request = rpc.DeleteRangeRequest(key=slot.key, prev_kv=True)
        answer = await self._endpoints.send(DELETE, request, deadline=deadline, patience=patience)
        return _certain(judge(messages.marker_in(answer.prev_kvs), known=slot.revision, mark=mark))

    def _take_back(self, slot: Slot) -> None:
        if slot.is_settled:
            self._free.append(slot)
        else:
            self._usable.discard(slot.key)

    async def _enter(self, deadline: float) -> None:
        if not self._room.locked():
            await self._room.acquire()  # does not wait
            return
        try:
            async with asyncio.timeout(max(0.0, deadline - self._endpoints.clock.monotonic())):
                await self._room.acquire()
        except TimeoutError:
            raise failures.unavailable(self._endpoints.names, "all writes under way take too long") from None

    async def _make(self, deadline: float) -> Slot:
        """A new slot. One whose making is in doubt is given up: its name is never used again."""
        why = "no connection"
        for pause in pauses():
            key = self._own.key + str(next(self._numbers)).encode()
            request = rpc.TxnRequest(success=[messages.put(key), messages.put(self._layout.tick)])
            try:
                answer = await self._endpoints.send(TXN, request, deadline=deadline, patience=2.0)
                self._usable.add(key)
                return Slot(key, answer.header.revision)
            except failures.Unsent:
                break
            except failures.Lost as lost:
                why = str(lost)
            await self._endpoints.clock.sleep(min(pause, max(0.0, deadline - self._endpoints.clock.monotonic())))
        raise failures.unavailable(self._endpoints.names, why)


def _certain(finding: Finding) -> Finding:
    if finding.fate is Fate.UNKNOWN:
        raise failures.unknown("its slot was removed meanwhile, or another process has this one's id")
    return finding
