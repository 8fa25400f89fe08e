"""Which transactions of a batch may be under way at the same time, and running them so.

Two transactions depend on each other if one changes a key that the other changes or guards, or a key in a range that the
other wants empty. The later one then waits for the earlier one; all others go side by side:

    0  create(objects/pods/a/x, enter=[owned/u1@a/x])
    1  create(objects/pods/a/y)                                     beside 0
    2  delete(objects/apps/a/o, guards=[EmptyRange(owned/u1@a/)])   after 0, which changes that range
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from probate.core import errors
from probate.store import keys
from probate.store.contract import EmptyRange, Outcome, Txn


def dependencies(txns: Sequence[Txn]) -> list[set[int]]:
    """For each transaction, the earlier ones that it has to wait for."""
    known = _Touched({guard.prefix for txn in txns for guard in txn.guards if isinstance(guard, EmptyRange)})
    return [known.add(position, txn) for position, txn in enumerate(txns)]


class _Touched:
    """What the transactions so far change and guard."""

    def __init__(self, guarded: set[str]) -> None:
        self._guarded = guarded
        self._writers: dict[str, int] = {}  # of a key: the last one, which itself waits for those before it
        self._readers: dict[str, set[int]] = {}  # of a key, or of a range, since it was last changed
        self._changed: dict[str, set[int]] = {}  # of a guarded range: all who change a key in it

    def add(self, position: int, txn: Txn) -> set[int]:
        found: set[int] = set()
        for what in _guarded_by(txn):
            found |= self._changed.get(what, set())
            found |= {self._writers[what]} if what in self._writers else set()
            self._readers.setdefault(what, set()).add(position)
        for key in (txn.key, *txn.enter, *txn.leave):
            found |= {self._writers[key]} if key in self._writers else set()
            found |= self._readers.get(key, set())
            self._writers[key] = position
            self._readers[key] = set()
            for prefix in self._ranges_of(key):
                found |= self._readers.get(prefix, set())
                self._changed.setdefault(prefix, set()).add(position)
        return found - {position}

    def _ranges_of(self, key: str) -> Iterator[str]:
        return (prefix for prefix in keys.prefixes_of(key) if prefix in self._guarded)


def _guarded_by(txn: Txn) -> Iterator[str]:
    return (guard.prefix if isinstance(guard, EmptyRange) else guard.key for guard in txn.guards)


class Run:
    """One batch on its way."""

    def __init__(self, txns: Sequence[Txn], commit: Callable[[Txn], Awaitable[Outcome]], *, side_by_side: int) -> None:
        self._txns = txns
        self._commit = commit
        self._room = asyncio.Semaphore(side_by_side)
        self._dependencies = dependencies(txns)
        self._is_done = [asyncio.Event() for _ in txns]
        self._failures: list[BaseException] = []

    async def outcomes(self) -> list[Outcome]:
        """All outcomes, in order; or the worst failure, once nothing is under way any more."""
        async with asyncio.TaskGroup() as group:
            under_way = [group.create_task(self._carry_out(position)) for position in range(len(self._txns))]
        if self._failures:
            raise min(self._failures, key=lambda failure: not isinstance(failure, errors.OutcomeUnknown))
        return [outcome for task in under_way if (outcome := task.result()) is not None]

    async def _carry_out(self, position: int) -> Outcome | None:
        try:
            for earlier in self._dependencies[position]:
                await self._is_done[earlier].wait()
            async with self._room:
                return None if self._failures else await self._commit(self._txns[position])
        except errors.ProbateError as failure:
            self._failures.append(failure)
            return None
        finally:
            self._is_done[position].set()
