"""The transactions that one group commit evaluates, and what they have changed so far."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import apsw
import msgspec

from probate.store.contract import CommitResult, FailedGuards, Record, Revision, Txn
from probate.store.sqlite import bulk_writes, writes

MAX_GROUP = 2_000
"""The number of transactions in one group: about 20 ms of work."""
MAX_GROUP_BYTES = 16 * 1024 * 1024


class Job(msgspec.Struct, eq=False):
    """The transactions of one call of `commit` or `commit_many`, and the results of those evaluated so far."""

    txns: Sequence[Txn]
    done: asyncio.Future[list[CommitResult]]
    min_singles: int  # the number of transactions, from the first on, that must be evaluated one by one
    results: list[CommitResult] = []

    @property
    def is_evaluated(self) -> bool:
        return len(self.results) == len(self.txns)

    def succeed(self) -> None:
        if not self.done.done():
            self.done.set_result(self.results)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class WriteGroup:
    """The content of one SQLite transaction while it is being filled."""

    def __init__(self, cursor: apsw.Cursor, revision: Revision, is_watched: Callable[[str], bool]) -> None:
        self.jobs: dict[Job, None] = {}
        self.changes: list[writes.Change] = []
        self.bulk_updates: list[Record] = []  # a cascade deletes next what it has marked in bulk
        self.revision = revision
        self.evaluated = 0
        self.singles = 0  # how many of the jobs are single commits
        self.min_singles = 0  # transactions up to this number are not evaluated together with others
        self._cursor = cursor
        self._is_watched = is_watched
        self._value_bytes = 0
        self._guard_cache: writes.GuardCache = {}

    @property
    def is_full(self) -> bool:
        return self.evaluated >= MAX_GROUP or self._value_bytes >= MAX_GROUP_BYTES

    def evaluate_next(self, job: Job, *, is_bulk: bool = False) -> None:
        """Evaluates the next transaction of a job."""
        self.jobs[job] = None
        txn, revision = job.txns[len(job.results)], Revision(self.revision + 1)
        result = writes.apply(self._cursor, txn, revision, is_watched=self._is_watched, cache=self._guard_cache)
        self.evaluated += 1
        if isinstance(result, FailedGuards):
            job.results.append(result)
            return
        self.revision = result.revision
        job.results.append(result.revision)
        self.changes.append(result)
        self._value_bytes += len(result.value or b"") + len(result.previous or b"")
        if is_bulk and result.value is not None and result.replaced is not None:
            self.bulk_updates.append(Record(result.key, result.value, result.revision))

    def create_together(self, jobs: list[Job]) -> bool:
        """Evaluates single commits together, if all are independent creates. Fast path: equals `evaluate_next` of each."""
        txns, first = [job.txns[0] for job in jobs], Revision(self.revision + 1)
        try:
            if not bulk_writes.are_independent_creates(txns) or not bulk_writes.create(
                self._cursor, txns, first, cache=self._guard_cache
            ):
                return False
        except BaseException:
            self.jobs |= dict.fromkeys(jobs)  # so that they fail with the group
            raise
        for revision, job in enumerate(jobs, first):
            txn = job.txns[0]
            self.jobs[job] = None
            job.results.append(Revision(revision))
            self.changes.append(writes.Change(Revision(revision), txn.key, txn.value, None))
            self._value_bytes += len(txn.value or b"")
        self.revision = Revision(self.revision + len(jobs))
        self.evaluated += len(jobs)
        self.singles += len(jobs)
        return True

    def add_deleted(self, job: Job, txns: Sequence[Txn], values: Sequence[bytes]) -> None:
        """Adds the next transactions of a job, which `bulk_writes.delete` has applied, and the values that they deleted."""
        self.jobs[job] = None
        self._guard_cache.clear()
        first = self.revision + 1
        self.changes += [
            writes.Change(Revision(first + number), txn.key, None, txn.expected_revision, values[number])
            for number, txn in enumerate(txns)
        ]
        job.results += [Revision(first + number) for number in range(len(txns))]
        self.evaluated += len(txns)
        self.revision = Revision(self.revision + len(txns))
        self._value_bytes += sum(map(len, values[: len(txns)]))
