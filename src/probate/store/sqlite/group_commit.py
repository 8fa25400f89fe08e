"""Group commit: transactions that are waiting are written together and made durable by one sync.

The transactions of a group are evaluated one after the other on the event loop, a few at a time so that other tasks can run. The
commit, which waits for the disk, runs off the loop; meanwhile the next group gathers. Evaluating on the thread as well would be
slower: evaluation is short pieces of Python between short SQLite calls, and the two threads would contend for the interpreter at
each call. Independent deletes, which are most of a cascade, are the exception: hundreds of them take a few calls, and are evaluated
off the loop. docs/adr/0002 has the measurements.

Single commits go first, then as much of the bulk as fits: a long cascade delays an API write by one group at most. A group that
fails (no space, a broken disk) is rolled back as a whole: none of it was acknowledged, and every caller gets the error.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import apsw

from probate.core import errors
from probate.core.aio import time_slices
from probate.core.aio.offload import Offload
from probate.store.contract import CommitResult, Revision, Txn
from probate.store.sqlite import bulk_writes, reads, sqlite_failures, writes
from probate.store.sqlite.value_cache import ValueCache
from probate.store.sqlite.write_group import MAX_GROUP, Job, WriteGroup

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5_000
"""How long a group waits for another program that has locked the file."""
TURN_TRANSACTIONS = 64
"""Transactions evaluated before other tasks of the event loop run."""
BULK_DELETES = 512
"""Deletes that are evaluated together off the loop, while single commits wait."""
MIN_BULK_DELETES = 8
"""With fewer deletes, moving them off the loop and back is not worth its cost."""
MAX_GATHER_TURNS = 3
"""Turns of the event loop that a group waits at most for as many committers as the last group had. Committers that arrive together
are there by then; those that arrive one by one, each after a request to another server, must not wait for each other."""


class Hooks(NamedTuple):
    """The callbacks of a store into its group commit."""

    after_step: Callable[[], None]
    """Called on the loop after each step of `run_between_groups`."""
    confirm: Callable[[Revision], None]
    """Called after each commit, on its thread, with the new revision: raises `StoreFilesLost` if the files do not hold it."""
    on_lost: Callable[[errors.StoreFilesLost], None]
    """Called on the loop after `confirm` has raised."""


class GroupCommitter:
    """The single writer of a store.

    `publish` receives the changes of each group once they are durable, before the callers get their results.
    """

    def __init__(
        self,
        db: apsw.Connection,
        offload: Offload,
        publish: Callable[[list[writes.Change]], Awaitable[None]],
        *,
        is_watched: Callable[[str], bool],
        values: ValueCache,
        turn: int = TURN_TRANSACTIONS,
        hooks: Hooks,
    ) -> None:
        self.revision = reads.revision(db)
        self.written = 0  # groups made durable so far
        self._db = db
        self._cursor = db.cursor()
        self._loop = asyncio.get_running_loop()
        self._offload = offload
        self._publish = publish
        self._is_watched = is_watched
        self._values = values
        self._hooks = hooks
        self.is_full = False  # whether the last write failed for lack of space
        self.on_foreign_write: Callable[[], None] = lambda: None  # called when another program has changed the file
        self._data_version = self._read_data_version()
        self._stopped: errors.ApiError | None = None
        self._turn = turn
        self._turns = time_slices.current()
        self._last_singles = 0  # how many single commits the last group had, or just missed
        self._singles: deque[Job] = deque()
        self._bulk: deque[Job] = deque()
        self._steps: deque[tuple[Callable[[], object], asyncio.Future[object]]] = deque()
        self._has_work = asyncio.Event()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def commit(self, txn: Txn) -> asyncio.Future[list[CommitResult]]:
        """Adds a transaction to the next group. The future gets its one result."""
        if self._stopped is not None:
            raise _copy_of(self._stopped)
        job = Job((txn,), self._loop.create_future(), min_singles=1)
        self._singles.append(job)
        self._wake()
        return job.done

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        """Commits transactions in the next groups, as these have room."""
        self._check_is_running()
        job = Job(txns, self._loop.create_future(), min_singles=int(len(txns) == 1))
        self._bulk.append(job)
        self._wake()
        return await job.done

    async def run_between_groups(self, step: Callable[[], T]) -> T:
        """Runs a short step on the writing connection, off the loop, while no group is being written."""
        self._check_is_running()
        done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._steps.append((step, done))
        self._wake()
        return await done  # type: ignore[return-value]

    async def drain(self) -> None:
        """Waits until no writes are pending."""
        await self._is_idle.wait()

    async def run(self) -> None:
        """Writes pending transactions, group after group. Never returns."""
        while True:
            await self._has_work.wait()
            if self._singles or self._bulk:
                await self._gather()
                await self._write_group()
            if self._steps:
                await self._run_step()
            if not (self._singles or self._bulk or self._steps):
                self._has_work.clear()
                self._is_idle.set()

    def stop(self, error: errors.ApiError) -> None:
        """Fails pending and later writes with this error."""
        self._stopped = error
        self._fail_pending(error)
        for _, done in self._steps:
            if not done.done():
                done.set_exception(_copy_of(error))
        self._steps.clear()
        self._is_idle.set()

    def _fail_pending(self, error: errors.ApiError) -> None:
        for job in (*self._singles, *self._bulk):
            job.fail(_copy_of(error))
        self._singles.clear()
        self._bulk.clear()

    def _check_is_running(self) -> None:
        if self._stopped is not None:
            raise _copy_of(self._stopped)

    def _wake(self) -> None:
        if not self._has_work.is_set():
            self._is_idle.clear()
            self._has_work.set()

    async def _run_step(self) -> None:
        step, done = self._steps.popleft()
        try:
            result = await self._offload.run(step)
        except Exception as error:  # noqa: BLE001 the caller of the step gets it; other callers are not affected
            if not done.done():
                done.set_exception(sqlite_failures.translate(error) if isinstance(error, apsw.Error) else error)
        else:
            if not done.done():
                done.set_result(result)
        finally:
            self._hooks.after_step()

    async def _gather(self) -> None:
        """Waits briefly for as many single commits as the last group had, because a group's cost is shared by its members."""
        expected = min(self._last_singles, MAX_GROUP)
        for _ in range(MAX_GATHER_TURNS):
            if not 0 < len(self._singles) < expected:
                return
            await asyncio.sleep(0)

    async def _write_group(self) -> None:
        try:
            await self._begin()
        except apsw.Error as error:
            self._fail_pending(self._translate(error))
            return
        group = WriteGroup(self._cursor, self.revision, self._is_watched)
        try:
            await self._evaluate(group)
            await self._offload.run(lambda: self._commit(group.revision))
        except apsw.Error as error:
            self._roll_back(group, self._translate(error))
        except errors.StoreFilesLost as error:
            self._roll_back(group, error)
            self._hooks.on_lost(error)
        except errors.ApiError as error:
            self._roll_back(group, error)
        except BaseException:
            self._roll_back(group, errors.StoreUnavailable("the store stopped while writing. Nothing of this was written"))
            raise
        else:
            self._last_singles = group.singles + len(self._singles)
            await self._finish(group)

    async def _begin(self) -> None:
        """Begins a SQLite transaction. If another program has locked the file, waits for it off the loop, for a limited time."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            await self._offload.run(self._begin_with_timeout)
        self._detect_foreign_write()

    def _detect_foreign_write(self) -> None:
        """Calls `on_foreign_write` if another program has changed the file since the last group: that may have damaged it."""
        version = self._read_data_version()
        if version != self._data_version:
            self._data_version = version
            self.on_foreign_write()

    def _read_data_version(self) -> int:
        version: int = self._db.execute("PRAGMA data_version").get
        return version

    def _begin_with_timeout(self) -> None:
        self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
        try:
            self._db.execute("BEGIN IMMEDIATE")
        finally:
            self._db.set_busy_timeout(0)

    async def _evaluate(self, group: WriteGroup) -> None:
        turn_end = self._slice_size()
        while not group.is_full and (self._singles or self._bulk):
            if group.evaluated >= turn_end:
                turn_end = group.evaluated + self._slice_size()
                await (asyncio.sleep(0) if self._singles else self._turns.wait_turn())
            elif self._singles:
                self._evaluate_singles(group)
            else:
                job = self._bulk[0]
                if len(job.results) < job.min_singles:
                    group.evaluate_next(job, is_bulk=True)
                else:
                    await self._evaluate_together(group, job)
                    turn_end = max(turn_end, group.evaluated + 1)  # other tasks have just run
                if job.is_evaluated and self._bulk:  # `stop` may have emptied it meanwhile
                    self._bulk.popleft()

    def _slice_size(self) -> int:
        """Returns how many transactions to evaluate in one turn: the whole group, where readers must not see it half done."""
        return self._turn if self._turn >= MAX_GROUP else self._turns.slice_size(self._turn)

    def _evaluate_singles(self, group: WriteGroup) -> None:
        """Evaluates the next single commits: several together if they are independent creates, otherwise one."""
        number = bulk_writes.BATCH_ROWS
        if len(self._singles) >= number and group.min_singles <= group.evaluated <= MAX_GROUP - number:
            if group.create_together(list(itertools.islice(self._singles, number))):
                for _ in range(number):
                    self._singles.popleft()
                return
            group.min_singles = group.evaluated + number
        group.evaluate_next(self._singles.popleft())
        group.singles += 1

    async def _evaluate_together(self, group: WriteGroup, job: Job) -> None:
        """Evaluates the next deletes of a job together, off the loop; otherwise marks the next transactions as single ones."""
        start = len(job.results)
        if job.txns[start].value is not None:
            job.min_singles = next((at for at in range(start, len(job.txns)) if job.txns[at].value is None), len(job.txns))
            return
        txns = job.txns[start : start + min(self._turns.slice_size(BULK_DELETES), MAX_GROUP - group.evaluated)]
        values = self._values.values(txns)
        txns = txns[: bulk_writes.count_independent_deletes(txns[: len(values)])]
        revision = Revision(group.revision + 1)
        group.jobs[job] = None  # so that it fails with the group
        deleted = 0
        if len(txns) >= MIN_BULK_DELETES:
            deleted = await self._offload.run(lambda: bulk_writes.delete(self._cursor, txns, revision))
        if deleted:
            group.add_deleted(job, txns[:deleted], values)
        else:
            job.min_singles = start + max(1, len(txns))

    def _translate(self, error: apsw.Error) -> errors.ApiError:
        translated = sqlite_failures.translate(error)
        self.is_full = self.is_full or isinstance(translated, errors.StoreFull)
        return translated

    def _commit(self, revision: Revision) -> None:
        try:
            self._db.execute("COMMIT")
        except (apsw.IOError, apsw.NoMemError) as error:
            # The group may be on disk nevertheless, and be found there if the process dies before the next group is written.
            raise errors.OutcomeUnknown(
                f"the disk or the memory failed during a write: {error}. The write may have succeeded: read the object to find out"
            ) from error
        self._hooks.confirm(revision)

    async def _finish(self, group: WriteGroup) -> None:
        self.revision = group.revision
        self.written += 1
        self.is_full = False
        if group.bulk_updates:
            self._values.add(group.bulk_updates)
        try:
            await self._publish(group.changes)
        finally:
            for job in group.jobs:
                if job.is_evaluated:
                    job.succeed()

    def _roll_back(self, group: WriteGroup, error: errors.ApiError) -> None:
        for job in group.jobs:
            job.fail(_copy_of(error))
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        for pending in (self._singles, self._bulk):
            while pending and pending[0].done.done():
                pending.popleft()


def _copy_of(error: errors.ApiError) -> errors.ApiError:
    """Returns an equal error: every caller must get its own exception object."""
    return type(error)(*error.args)
