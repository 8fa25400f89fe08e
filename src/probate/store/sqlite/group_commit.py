"""Group commit: whatever waits to be written is written together and made durable by one sync.

The transactions of a group are evaluated one after the other on the event loop, a few at a time so that others get their
turn, and the commit, which waits for the disk, runs off the loop. While it does, the next group gathers. (Evaluating in the
second thread as well would be slower: it is short Python between short calls of SQLite, and the two threads would take the
interpreter from each other at each of them. Not so for deletes that have nothing to do with each other, which are most of a
cascade: hundreds of them are a few calls, and are evaluated off the loop. docs/adr/0002 has the figures.)

Single commits go first, then as much of the bulk as fits: a long cascade makes an API write wait for one group at most.
A group that fails (no room, a broken disk) is rolled back whole: none of it was acknowledged, all of it is told why.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import apsw
import msgspec

from probate.core import errors
from probate.core.aio import time_slices
from probate.core.aio.offload import Offload
from probate.store.contract import Outcome, Record, Refused, Revision, Txn
from probate.store.sqlite import bulk_writes, failures, reads, writes
from probate.store.sqlite.value_cache import Lately

T = TypeVar("T")

GROUP = 2_000
"""Transactions of one group, at most: about 20 ms of work."""
GROUP_BYTES = 16 * 1024 * 1024
PATIENCE_MS = 5_000
"""How long a group waits for another program that holds the file."""
TURN = 64
"""Transactions evaluated before others get the event loop."""
TOGETHER = 512
"""Deletes that are evaluated together off the loop, while single commits wait."""
FEW = 8
"""Deletes that are not worth the way off the loop and back."""
GATHERING = 3
"""Turns of the event loop that a group waits at most for those who were there last time. Who all come at once are there by then;
who come one by one, each from another server that they had to ask, must not wait for each other."""


class Job(msgspec.Struct, eq=False):
    """Transactions that somebody waits for, and what became of those evaluated so far."""

    txns: Sequence[Txn]
    done: asyncio.Future[list[Outcome]]
    one_by_one: int  # so many of the first are not evaluated together with others
    outcomes: list[Outcome] = []

    @property
    def is_evaluated(self) -> bool:
        return len(self.outcomes) == len(self.txns)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(self.outcomes)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Hooks(NamedTuple):
    """What a store wants to do or to know while groups are written."""

    after_step: Callable[[], None]
    """Called on the loop when a step between groups is done."""
    confirm: Callable[[Revision], None]
    """Called after each commit, on its thread, with the new revision: raises `StoreFilesLost` if the files do not hold it."""
    on_lost: Callable[[errors.StoreFilesLost], None]
    """Called on the loop when `confirm` has raised that."""


class Groups:
    """The one writer of a store. `announce` learns of each group's changes once they are durable, before those who wait.

    `lately` knows what was read and written in bulk of late.
    """

    def __init__(
        self,
        db: apsw.Connection,
        offload: Offload,
        announce: Callable[[list[writes.Change]], Awaitable[None]],
        is_watched: Callable[[str], bool],
        lately: Lately,
        *,
        turn: int = TURN,
        hooks: Hooks,
    ) -> None:
        self.revision = reads.revision(db)
        self.written = 0  # groups made durable so far
        self._db = db
        self._cursor = db.cursor()
        self._loop = asyncio.get_running_loop()
        self._offload = offload
        self._announce = announce
        self._is_watched = is_watched
        self._lately = lately
        self._hooks = hooks
        self.is_full = False  # whether the last write failed for want of room
        self.on_foreign_write: Callable[[], None] = lambda: None  # called when another program has changed the file
        self._data_version = self._read_data_version()
        self._stopped: errors.ApiError | None = None
        self._turn = turn
        self._turns = time_slices.of_loop()
        self._crowd = 0  # how many single commits the last group had, or missed
        self._singles: deque[Job] = deque()
        self._bulk: deque[Job] = deque()
        self._steps: deque[tuple[Callable[[], object], asyncio.Future[object]]] = deque()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def commit(self, txn: Txn) -> asyncio.Future[list[Outcome]]:
        """Into the next group. What is awaited has the one outcome."""
        if self._stopped is not None:
            raise _again(self._stopped)
        job = Job((txn,), self._loop.create_future(), one_by_one=1)
        self._singles.append(job)
        self._wake()
        return job.done

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        """Into the next groups, as they have room."""
        self._check_goes_on()
        job = Job(txns, self._loop.create_future(), one_by_one=int(len(txns) == 1))
        self._bulk.append(job)
        self._wake()
        return await job.done

    async def between(self, step: Callable[[], T]) -> T:
        """Run a short step on the writing connection, off the loop, when no group is under way."""
        self._check_goes_on()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._steps.append((step, done))
        self._wake()
        return await done  # type: ignore[return-value]

    async def drain(self) -> None:
        """Returns when nothing is waiting to be written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write what waits, group after group. Never returns."""
        while True:
            await self._work.wait()
            if self._singles or self._bulk:
                await self._gather()
                await self._write_group()
            if self._steps:
                await self._run_step()
            if not (self._singles or self._bulk or self._steps):
                self._work.clear()
                self._idle.set()

    def stop(self, error: errors.ApiError) -> None:
        """Nothing more can be written, for this reason."""
        self._stopped = error
        self._fail_waiting(error)
        for _, done in self._steps:
            if not done.done():
                done.set_exception(_again(error))
        self._steps.clear()
        self._idle.set()

    def _fail_waiting(self, error: errors.ApiError) -> None:
        for job in (*self._singles, *self._bulk):
            job.fail(_again(error))
        self._singles.clear()
        self._bulk.clear()

    def _check_goes_on(self) -> None:
        if self._stopped is not None:
            raise _again(self._stopped)

    def _wake(self) -> None:
        if not self._work.is_set():
            self._idle.clear()
            self._work.set()

    async def _run_step(self) -> None:
        step, done = self._steps.popleft()
        try:
            result = await self._offload.run(step)
        except Exception as error:  # noqa: BLE001 whoever asked for the step is told, and the others are none the wiser
            if not done.done():
                done.set_exception(failures.translate(error) if isinstance(error, apsw.Error) else error)
        else:
            if not done.done():
                done.set_result(result)
        finally:
            self._hooks.after_step()

    async def _gather(self) -> None:
        """Where several commit at once, wait a moment for as many as last time: what a group costs is shared by those in it."""
        wanted = min(self._crowd, GROUP)
        for _ in range(GATHERING):
            if not 0 < len(self._singles) < wanted:
                return
            await asyncio.sleep(0)

    async def _write_group(self) -> None:
        try:
            await self._begin()
        except apsw.Error as error:
            self._fail_waiting(self._translated(error))
            return
        group = _Group(self._cursor, self.revision, self._is_watched)
        try:
            await self._evaluate(group)
            await self._offload.run(lambda: self._commit(group.revision))
        except apsw.Error as error:
            self._give_up(group, self._translated(error))
        except errors.StoreFilesLost as error:
            self._give_up(group, error)
            self._hooks.on_lost(error)
        except errors.ApiError as error:
            self._give_up(group, error)
        except BaseException:
            self._give_up(group, errors.StoreUnavailable("the store stopped while writing. Nothing of this was written"))
            raise
        else:
            self._crowd = group.singles + len(self._singles)
            await self._finish(group)

    async def _begin(self) -> None:
        """Begin to write; where another program holds the file, wait for it off the loop, and not for ever."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            await self._offload.run(self._begin_patiently)
        self._look_for_foreign_writes()

    def _look_for_foreign_writes(self) -> None:
        """Tell if another program has changed the file since the last group: that is none of ours, and may be damage."""
        found = self._read_data_version()
        if found != self._data_version:
            self._data_version = found
            self.on_foreign_write()

    def _read_data_version(self) -> int:
        found: int = self._db.execute("PRAGMA data_version").get
        return found

    def _begin_patiently(self) -> None:
        self._db.set_busy_timeout(PATIENCE_MS)
        try:
            self._db.execute("BEGIN IMMEDIATE")
        finally:
            self._db.set_busy_timeout(0)

    async def _evaluate(self, group: _Group) -> None:
        turn = self._piece()
        while not group.is_full and (self._singles or self._bulk):
            if group.evaluated >= turn:
                turn = group.evaluated + self._piece()
                await (asyncio.sleep(0) if self._singles else self._turns.turn())
            elif self._singles:
                self._evaluate_singles(group)
            else:
                job = self._bulk[0]
                if len(job.outcomes) < job.one_by_one:
                    group.evaluate_next(job, is_bulk=True)
                else:
                    await self._evaluate_together(group, job)
                    turn = max(turn, group.evaluated + 1)  # the others have just had theirs
                if job.is_evaluated and self._bulk:  # (who stops the store meanwhile empties it)
                    self._bulk.popleft()

    def _piece(self) -> int:
        """Transactions that are evaluated in one turn: all of a group, where nobody may see it half done."""
        return self._turn if self._turn >= GROUP else self._turns.piece(self._turn)

    def _evaluate_singles(self, group: _Group) -> None:
        """The next of those that commit one by one: several together, if they just create; else one."""
        some = bulk_writes.ROWS
        if len(self._singles) >= some and group.one_by_one <= group.evaluated <= GROUP - some:
            if group.create_together(list(itertools.islice(self._singles, some))):
                for _ in range(some):
                    self._singles.popleft()
                return
            group.one_by_one = group.evaluated + some
        group.evaluate_next(self._singles.popleft())
        group.singles += 1

    async def _evaluate_together(self, group: _Group, job: Job) -> None:
        """The next deletes of a job, off the loop. If the next ones are better done one by one, that is noted instead."""
        start = len(job.outcomes)
        if job.txns[start].value is not None:
            job.one_by_one = next((at for at in range(start, len(job.txns)) if job.txns[at].value is None), len(job.txns))
            return
        run = job.txns[start : start + min(self._turns.piece(TOGETHER), GROUP - group.evaluated)]
        values = self._lately.values(run)
        run = run[: bulk_writes.separate_deletes(run[: len(values)])]
        revision = Revision(group.revision + 1)
        group.jobs[job] = None  # it is to be told if this fails
        done = await self._offload.run(lambda: bulk_writes.delete(self._cursor, run, revision)) if len(run) >= FEW else 0
        if done:
            group.note_deleted(job, run[:done], values)
        else:
            job.one_by_one = start + max(1, len(run))

    def _translated(self, error: apsw.Error) -> errors.ApiError:
        found = failures.translate(error)
        self.is_full = self.is_full or isinstance(found, errors.StoreFull)
        return found

    def _commit(self, revision: Revision) -> None:
        try:
            self._db.execute("COMMIT")
        except (apsw.IOError, apsw.NoMemError) as error:
            # The group may be on disk all the same, and be found there if the process dies before the next one is written.
            raise errors.OutcomeUnknown(
                f"the disk or the memory failed during a write: {error}. The write may have succeeded: read the object to find out"
            ) from error
        self._hooks.confirm(revision)

    async def _finish(self, group: _Group) -> None:
        self.revision = group.revision
        self.written += 1
        self.is_full = False
        if group.rewritten:
            self._lately.note(group.rewritten)
        try:
            await self._announce(group.changes)
        finally:
            for job in group.jobs:
                if job.is_evaluated:
                    job.succeed()

    def _give_up(self, group: _Group, error: errors.ApiError) -> None:
        for job in group.jobs:
            job.fail(_again(error))
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        for waiting in (self._singles, self._bulk):
            while waiting and waiting[0].done.done():
                waiting.popleft()


class _Group:
    """What one SQLite transaction holds so far."""

    def __init__(self, cursor: apsw.Cursor, revision: Revision, is_watched: Callable[[str], bool]) -> None:
        self.jobs: dict[Job, None] = {}
        self.changes: list[writes.Change] = []
        self.rewritten: list[Record] = []  # in bulk: what a cascade marks, it deletes next
        self.revision = revision
        self.evaluated = 0
        self.singles = 0  # of the jobs, those that somebody waits for one by one
        self.one_by_one = 0  # those up to this number are not evaluated together with others
        self._cursor = cursor
        self._is_watched = is_watched
        self._size = 0
        self._known: writes.Known = {}

    @property
    def is_full(self) -> bool:
        return self.evaluated >= GROUP or self._size >= GROUP_BYTES

    def evaluate_next(self, job: Job, *, is_bulk: bool = False) -> None:
        """The next one."""
        self.jobs[job] = None
        result = writes.apply(self._cursor, job.txns[len(job.outcomes)], Revision(self.revision + 1), self._is_watched, self._known)
        self.evaluated += 1
        if isinstance(result, Refused):
            job.outcomes.append(result)
            return
        self.revision = result.revision
        job.outcomes.append(result.revision)
        self.changes.append(result)
        self._size += len(result.value or b"") + len(result.previous or b"")
        if is_bulk and result.value is not None and result.replaced is not None:
            self.rewritten.append(Record(result.key, result.value, result.revision))

    def create_together(self, jobs: list[Job]) -> bool:
        """The next of those that commit one by one, if all they do is create objects that have nothing to do with each other."""
        txns, first = [job.txns[0] for job in jobs], Revision(self.revision + 1)
        try:
            if not bulk_writes.are_separate_creates(txns) or not bulk_writes.create(self._cursor, txns, first, self._known):
                return False
        except BaseException:
            self.jobs |= dict.fromkeys(jobs)  # these are to be told
            raise
        for revision, job in enumerate(jobs, first):
            txn = job.txns[0]
            self.jobs[job] = None
            job.outcomes.append(Revision(revision))
            self.changes.append(writes.Change(Revision(revision), txn.key, txn.value, None))
            self._size += len(txn.value or b"")
        self.revision = Revision(self.revision + len(jobs))
        self.evaluated += len(jobs)
        self.singles += len(jobs)
        return True

    def note_deleted(self, job: Job, run: Sequence[Txn], values: Sequence[bytes]) -> None:
        """The next of the job have deleted what had these values."""
        self.jobs[job] = None
        self._known.clear()
        first = self.revision + 1
        self.changes += [
            writes.Change(Revision(first + number), txn.key, None, txn.expects, values[number]) for number, txn in enumerate(run)
        ]
        job.outcomes += [Revision(first + number) for number in range(len(run))]
        self.evaluated += len(run)
        self.revision = Revision(self.revision + len(run))
        self._size += sum(map(len, values[: len(run)]))


def _again(error: errors.ApiError) -> errors.ApiError:
    """The same error, for one more caller: each needs one of its own."""
    return type(error)(*error.args)
