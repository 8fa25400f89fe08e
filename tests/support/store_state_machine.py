"""A state machine that takes an engine and the model through the same random steps; after each step they must agree.

It compares reads, failed guards, lists of past revisions, watches and errors with `store_model`. Where the contract leaves an
engine a choice, the machine follows the engine and checks that its choice is allowed: which revisions it assigns, how it orders
independent transactions of a batch or concurrent ones, how many events a watch delivers at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from hypothesis import stateful
from hypothesis import strategies as st

from probate.core import errors
from probate.store import contract
from probate.store.contract import Batch, CommitResult, Event, FailedGuards, Revision, Store, Txn, Watch
from support import random_transactions as plans
from support import store_engines, store_model
from support import store_operations as steps

T = TypeVar("T")


class OpenWatch:
    """An open watch, and the revision up to which it has been read."""

    def __init__(self, manager: AbstractAsyncContextManager[Watch], watch: Watch, prefix: str, *, after: Revision) -> None:
        self.manager = manager
        self.watch = watch
        self.prefix = prefix
        self.position = after
        self.waiting: asyncio.Future[Batch] | None = None

    async def wait(self) -> None:
        """Waits for the next batch in the background, as a server does: only a watch that waits gets events pushed."""
        if self.waiting is None:
            self.waiting = asyncio.ensure_future(anext(aiter(self.watch)))
        for _ in range(3):
            await asyncio.sleep(0)

    async def take(self, count: int) -> list[Event]:
        """Returns at least `count` events, starting with those of the batch awaited in the background."""
        waiting, self.waiting = self.waiting, None
        events = [] if waiting is None else await asyncio.wait_for(waiting, steps.TIMEOUT_SECONDS)
        return events + await steps.take_events(self.watch, max(0, count - len(events)))

    async def close(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            await asyncio.wait([self.waiting])
        await self.manager.__aexit__(None, None, None)


class StoreMachine(stateful.RuleBasedStateMachine):
    """The rules and invariants. A subclass provides the engine."""

    def make_engine(self) -> store_engines.Engine:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.engine = self.make_engine()
        self.store: Store = self.run(self.engine.open())
        self.start: Revision = self.run(self.store.revision())
        self.model = store_model.Model(self.start)
        self.watches: list[OpenWatch] = []

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def teardown(self) -> None:
        try:
            self.run(self.compare_all_history())
            self.run(self.close())
        finally:
            self.runner.close()

    # Writing

    @stateful.rule(plan=plans.txn_plans)
    def commit(self, plan: plans.TxnPlan) -> None:
        txn = plan.concrete(self.model)
        self.apply(txn, self.run(self.store.commit(txn)))

    @stateful.initialize(steps=st.lists(st.tuples(plans.objects, plans.changes), max_size=12))
    def start_with_history(self, steps: list[tuple[str, bytes | None]]) -> None:
        self.write(steps)

    @stateful.rule(steps=st.lists(st.tuples(plans.objects, plans.changes), min_size=1, max_size=4))
    def write(self, steps: list[tuple[str, bytes | None]]) -> None:
        for key, value in steps:
            txn = plans.unconditional(self.model, key, value)
            result = self.run(self.store.commit(txn))
            assert not isinstance(result, FailedGuards)
            self.apply(txn, result)

    @stateful.rule(batch=st.lists(plans.txn_plans, max_size=6))
    def commit_many(self, batch: list[plans.TxnPlan]) -> None:
        self.commit_together([plan.concrete(self.model) for plan in batch])

    @stateful.rule(
        value=plans.changes, guards=st.lists(plans.guard_plans, max_size=1), changed=st.sets(st.integers(0, 99), max_size=2)
    )
    def delete_many(self, value: bytes | None, guards: list[plans.GuardPlan], changed: set[int]) -> None:
        """Deletes objects that were just read, under the same guards, as a cascade does. Some may have changed since."""
        self.write([(key, value or b"v") for key in plans.BULK_KEYS])
        records = self.run(self.store.read_many(plans.BULK_KEYS))
        shared = tuple(guard.concrete(self.model) for guard in guards)
        self.write([(plans.BULK_KEYS[number], b"w") for number in changed if number < len(plans.BULK_KEYS)])
        self.commit_together(
            [
                contract.delete(record.key, revision=record.revision, remove_entries=plans.ENTRIES[:1], guards=shared)
                for record in records
                if record
            ]
        )

    def commit_together(self, txns: list[Txn]) -> None:
        results = self.run(self.store.commit_many(txns))
        assert len(results) == len(txns)
        self.check_order(txns, results)
        floor = self.model.revision
        for txn, result in zip(txns, results, strict=True):
            self.apply(txn, result, floor=floor)

    @stateful.rule(batch=st.lists(plans.txn_plans, min_size=2, max_size=5))
    def commit_concurrently(self, batch: list[plans.TxnPlan]) -> None:
        """Concurrent commits happen in some order; the failed guards of each must be right at some point of it."""
        txns = [plan.concrete(self.model) for plan in batch]
        results = self.run(gather([self.store.commit(txn) for txn in txns]))
        failed = [(txn, result) for txn, result in zip(txns, results, strict=True) if isinstance(result, FailedGuards)]
        done = [(result, txn) for txn, result in zip(txns, results, strict=True) if not isinstance(result, FailedGuards)]
        possible = {index: [self.model.failed_guards(txn)] for index, (txn, _) in enumerate(failed)}
        for revision, txn in sorted(done, key=lambda pair: pair[0]):
            self.apply(txn, revision)
            for index, (failed_txn, _) in enumerate(failed):
                possible[index].append(self.model.failed_guards(failed_txn))
        for index, (_, result) in enumerate(failed):
            assert result.guards
            assert result.guards in possible[index]

    def apply(self, txn: Txn, result: CommitResult, *, floor: Revision | None = None) -> None:
        """Applies to the model what the engine did, after checking that it was right."""
        failed = self.model.failed_guards(txn)
        if failed:
            assert result == FailedGuards(failed)
            return
        assert not isinstance(result, FailedGuards), f"{txn} failed with {result}, but its guards hold"
        assert result > (self.model.revision if floor is None else floor)
        assert result not in [change.revision for change in self.model.changes]
        self.model.apply(txn, result)

    def check_order(self, txns: Sequence[Txn], results: Sequence[CommitResult]) -> None:
        """Checks that dependent transactions of one batch have their revisions in the order of the list."""
        done = [(txn, revision) for txn, revision in zip(txns, results, strict=True) if not isinstance(revision, FailedGuards)]
        for index, (later, revision) in enumerate(done):
            for earlier, smaller in done[:index]:
                assert smaller < revision or not store_model.conflict(earlier, later)

    # Reading

    @stateful.rule(keys=st.lists(plans.objects, min_size=1, max_size=4), number=plans.revision_numbers)
    def read_at(self, keys: list[str], number: int) -> None:
        at = self.revision(number)
        for key in keys:
            self.compare(lambda key=key: self.store.read(key, at=at), lambda key=key: self.model.read(key, at=at))  # type: ignore[misc]

    @stateful.rule(keys=st.lists(plans.any_key, max_size=6))
    def read_many(self, keys: list[str]) -> None:
        assert self.run(self.store.read_many(keys)) == [self.model.read(key) for key in keys]

    @stateful.rule(prefix=plans.any_range, after=st.one_of(st.just(""), plans.any_key), limit=st.integers(1, 4))
    def scan(self, prefix: str, after: str, limit: int) -> None:
        assert self.run(self.store.scan(prefix, after=after, limit=limit)) == self.model.scan(prefix, after=after, limit=limit)
        assert self.run(self.store.count(prefix, after=after)) == self.model.count(prefix, after=after)

    @stateful.rule(
        prefix=plans.object_ranges,
        after=st.one_of(st.just(""), plans.any_key),
        limit=st.integers(1, 9),
        number=plans.revision_numbers,
    )
    def scan_at(self, prefix: str, after: str, limit: int, number: int) -> None:  # noqa: PLR0917 a rule of Hypothesis
        at = self.revision(number)
        self.compare(
            lambda: self.store.scan(prefix, after=after, limit=limit, at=at),
            lambda: self.model.scan(prefix, after=after, limit=limit, at=at),
        )
        self.compare(lambda: self.store.count(prefix, after=after, at=at), lambda: self.model.count(prefix, after=after, at=at))

    def revision(self, number: int) -> Revision:
        """Returns a revision, never one before the start: what engines know of those differs."""
        return plans.pick_revision(number, first=self.start, last=self.model.revision)

    def compare(self, call: Callable[[], Awaitable[object]], model_call: Callable[[], object]) -> None:
        """Checks that the store and the model return the same result or raise the same error."""
        actual, expected = self.run(result_of(call)), model_result_of(model_call)
        assert type(actual) is type(expected) if isinstance(expected, errors.ApiError) else actual == expected

    # Watching

    @stateful.rule(prefix=plans.object_ranges, number=plans.revision_numbers)
    def open_watch(self, prefix: str, number: int) -> None:
        self.begin_watch(prefix, self.revision(number))

    def begin_watch(self, prefix: str, after: Revision) -> None:
        expected_error = model_result_of(lambda: self.model.check_available(after))
        if expected_error is not None:
            error = self.run(result_of(lambda: steps.collect_events(self.store, prefix, after=after, last=Revision(0))))
            assert type(error) is type(expected_error)
            return
        manager = self.store.watch(prefix, after=after)
        self.watches.append(OpenWatch(manager, self.run(enter(manager)), prefix, after=after))

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(skip=st.integers(0, 3), everything=st.booleans())
    def read_watches(self, skip: int, everything: bool) -> None:
        """Some watches fall behind, and some take only the next batch."""
        for watched in self.watches[skip % len(self.watches) :]:
            pending = self.pending(watched)
            if pending:
                self.read_watch(watched, pending, len(pending) if everything else 1)

    def read_watch(self, watched: OpenWatch, pending: list[Event], count: int) -> None:
        found = self.run(result_of(lambda: watched.take(count)))
        if isinstance(found, errors.Gone):
            assert watched.position < self.model.compacted
            self.drop(watched)
            return
        assert isinstance(found, list), found
        assert found == pending[: len(found)]
        watched.position = found[-1].revision

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(skip=st.integers(0, 3))
    def wait_for_changes(self, skip: int) -> None:
        for watched in self.watches[skip % len(self.watches) :]:
            self.run(watched.wait())
        self.collect()

    def collect(self) -> None:
        """Reads the batches that background waits have received."""
        for watched in tuple(self.watches):
            if watched.waiting is not None and watched.waiting.done():
                self.read_watch(watched, self.pending(watched), 1)

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(index=st.integers(0, 9))
    def close_and_resume_watch(self, index: int) -> None:
        """A new watch continues from the revision up to which the old one says it has delivered."""
        self.collect()
        watched = self.watches[index % len(self.watches)] if self.watches else None
        if watched is None:
            return
        resume = watched.watch.revision
        self.drop(watched)
        self.begin_watch(watched.prefix, resume)

    def pending(self, watched: OpenWatch) -> list[Event]:
        changes = self.model.changes
        return [change for change in changes if change.key.startswith(watched.prefix) and change.revision > watched.position]

    def drop(self, watched: OpenWatch) -> None:
        self.watches.remove(watched)
        self.run(watched.close())

    # Compaction, restart

    @stateful.rule(number=plans.revision_numbers)
    def compact(self, number: int) -> None:
        before = self.revision(number)
        self.compare(lambda: self.store.compact(before), lambda: self.model.compact(before))

    @stateful.rule(now=st.integers(100, 120))
    def record_time(self, now: int) -> None:
        self.run(self.store.record_time(float(now)))
        self.model.record_time(float(now))

    @stateful.rule(time=st.integers(99, 121))
    def revision_at(self, time: int) -> None:
        """Times recorded before the compacted revision may be dropped with it."""
        found, expected = self.run(self.store.revision_at(float(time))), self.model.revision_at(float(time))
        assert found == expected or (found is None and expected is not None and expected < self.model.compacted)

    @stateful.rule()
    def restart(self) -> None:
        """Watches end with the store; each is opened again in the new one from where it was."""
        self.collect()
        open_watches = [(watched.prefix, watched.position) for watched in self.watches]
        self.run(self.close())
        self.store = self.run(self.engine.open())
        for prefix, position in open_watches:
            self.begin_watch(prefix, position)

    async def close(self) -> None:
        while self.watches:
            await self.watches.pop().close()
        await self.store.close()

    # Invariants

    @stateful.invariant()
    def revision_is_that_of_the_newest_transaction(self) -> None:
        found = self.run(self.store.revision())
        assert found >= self.model.revision if self.engine.has_gaps else found == self.model.revision
        self.model.revision = found

    @stateful.invariant()
    def store_holds_what_the_model_holds(self) -> None:
        for prefix in ("objects/", "owned/", "closed/"):
            page = self.run(self.store.scan(prefix, limit=100))
            assert page.records == self.model.scan(prefix, limit=100).records

    @stateful.invariant()
    def watches_claim_no_more_than_they_delivered(self) -> None:
        self.collect()
        for watched in self.watches:
            assert watched.position <= watched.watch.revision <= self.model.revision
            assert all(event.revision > watched.watch.revision for event in self.pending(watched))

    async def compare_all_history(self) -> None:
        """Compares, at the end, every revision that is not compacted and every event since the first of them."""
        first = max(self.model.compacted, self.start)
        for at in {first, *(change.revision for change in self.model.changes if change.revision > first)}:
            assert await self.store.scan("objects/", limit=100, at=at) == self.model.scan("objects/", limit=100, at=at)
        expected = self.model.events("objects/", after=first)
        if expected:
            assert await steps.collect_events(self.store, "objects/", after=first, last=expected[-1].revision) == expected


async def gather(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    return list(await asyncio.gather(*calls))


async def enter(manager: AbstractAsyncContextManager[Watch]) -> Watch:
    return await manager.__aenter__()


async def result_of(call: Callable[[], Awaitable[object]]) -> object:
    """Returns the result of a call, or the error that it raised."""
    try:
        return await call()
    except errors.ProbateError as error:
        return error


def model_result_of(call: Callable[[], object]) -> object:
    try:
        return call()
    except errors.ProbateError as error:
        return error
