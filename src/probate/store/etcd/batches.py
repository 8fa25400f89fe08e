"""Runs the transactions of a batch concurrently where they do not depend on each other.

Two transactions depend on each other if one changes a key that the other changes or guards, or a key in a range that the other
guards with `EmptyRange`. The later one then waits for the earlier one; all others run concurrently:

    0  create(objects/pods/a/x, add_entries=[owned/u1/a/x])
    1  create(objects/pods/a/y)                                             concurrently with 0
    2  delete(objects/replicasets.apps/a/o, guards=[EmptyRange(owned/u1/a/)])    after 0, which changes that range
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from probate.core import errors
from probate.store import keys
from probate.store.contract import CommitResult, EmptyRange, Txn


def dependencies(txns: Sequence[Txn]) -> list[set[int]]:
    """Returns for each transaction the positions of the earlier ones that it has to wait for."""
    tracker = _DependencyTracker({guard.prefix for txn in txns for guard in txn.guards if isinstance(guard, EmptyRange)})
    return [tracker.add(position, txn) for position, txn in enumerate(txns)]


class _DependencyTracker:
    """The keys and ranges that the transactions so far change and guard."""

    def __init__(self, guarded_prefixes: set[str]) -> None:
        self._guarded_prefixes = guarded_prefixes
        self._writers: dict[str, int] = {}  # by key: the last writer, which itself waits for the earlier ones
        self._readers: dict[str, set[int]] = {}  # by key or prefix: the transactions that guard it, since it was last changed
        self._range_writers: dict[str, set[int]] = {}  # by guarded prefix: all transactions that change a key in the range

    def add(self, position: int, txn: Txn) -> set[int]:
        """Adds a transaction and returns the positions of those it depends on."""
        earlier: set[int] = set()
        for guarded in _keys_and_prefixes_guarded_by(txn):
            earlier |= self._range_writers.get(guarded, set())
            earlier |= {self._writers[guarded]} if guarded in self._writers else set()
            self._readers.setdefault(guarded, set()).add(position)
        for key in (txn.key, *txn.add_entries, *txn.remove_entries):
            earlier |= {self._writers[key]} if key in self._writers else set()
            earlier |= self._readers.get(key, set())
            self._writers[key] = position
            self._readers[key] = set()
            for prefix in self._guarded_ranges_of(key):
                earlier |= self._readers.get(prefix, set())
                self._range_writers.setdefault(prefix, set()).add(position)
        return earlier - {position}

    def _guarded_ranges_of(self, key: str) -> Iterator[str]:
        ranges = (*keys.prefixes_of(key), keys.partial_prefix_of(key)) if self._guarded_prefixes else ()
        return (prefix for prefix in ranges if prefix in self._guarded_prefixes)


def _keys_and_prefixes_guarded_by(txn: Txn) -> Iterator[str]:
    return (guard.prefix if isinstance(guard, EmptyRange) else guard.key for guard in txn.guards)


class BatchRun:
    """The execution of one batch."""

    def __init__(self, txns: Sequence[Txn], commit: Callable[[Txn], Awaitable[CommitResult]], *, concurrency: int) -> None:
        self._txns = txns
        self._commit = commit
        self._permits = asyncio.Semaphore(concurrency)
        self._dependencies = dependencies(txns)
        self._is_done = [asyncio.Event() for _ in txns]
        self._errors: list[BaseException] = []

    async def results(self) -> list[CommitResult]:
        """Returns all results in order. After an error, waits for the transactions in progress and raises the worst error."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(position)) for position in range(len(self._txns))]
        if self._errors:
            raise min(self._errors, key=lambda error: not isinstance(error, errors.OutcomeUnknown))
        return [result for task in tasks if (result := task.result()) is not None]

    async def _run(self, position: int) -> CommitResult | None:
        try:
            for earlier in self._dependencies[position]:
                await self._is_done[earlier].wait()
            async with self._permits:
                return None if self._errors else await self._commit(self._txns[position])
        except errors.ProbateError as error:
            self._errors.append(error)
            return None
        finally:
            self._is_done[position].set()
