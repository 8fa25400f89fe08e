"""An engine and the model, taken through the same random steps: after each of them they must agree.

Reads, refusals, lists of the past, watches and errors are all held against `store_model`. Where the contract leaves an
engine a choice, the machine follows the engine and checks that it chose within what is allowed: which revisions it hands
out, how it orders what is independent in a batch or concurrent, how many events a watch hands out at once.
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
from probate.store.contract import Batch, Event, Outcome, Refused, Revision, Store, Txn, Watch
from support import random_transactions as plans
from support import store_engines, store_model
from support import store_operations as steps

T = TypeVar("T")


class OpenWatch:
    """A watch under way, and how far it has been read."""

    def __init__(self, manager: AbstractAsyncContextManager[Watch], watch: Watch, prefix: str, after: Revision) -> None:
        self.manager = manager
        self.watch = watch
        self.prefix = prefix
        self.position = after
        self.waiting: asyncio.Future[Batch] | None = None

    async def wait(self) -> None:
        """Wait for the next batch in the background, as a server does: this is what makes a watch live."""
        if self.waiting is None:
            self.waiting = asyncio.ensure_future(anext(aiter(self.watch)))
        for _ in range(3):
            await asyncio.sleep(0)

    async def take(self, count: int) -> list[Event]:
        """At least so many events; what was waited for comes first."""
        waiting, self.waiting = self.waiting, None
        events = [] if waiting is None else await asyncio.wait_for(waiting, steps.PATIENCE)
        return events + await steps.take(self.watch, max(0, count - len(events)))

    async def close(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            await asyncio.wait([self.waiting])
        await self.manager.__aexit__(None, None, None)


class StoreMachine(stateful.RuleBasedStateMachine):
    """The steps. A subclass says which engine."""

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
        self.follow(txn, self.run(self.store.commit(txn)))

    @stateful.initialize(steps=st.lists(st.tuples(plans.objects, plans.changes), max_size=12))
    def begin_with_a_past(self, steps: list[tuple[str, bytes | None]]) -> None:
        self.write(steps)

    @stateful.rule(steps=st.lists(st.tuples(plans.objects, plans.changes), min_size=1, max_size=4))
    def write(self, steps: list[tuple[str, bytes | None]]) -> None:
        for key, value in steps:
            txn = plans.simple(self.model, key, value)
            outcome = self.run(self.store.commit(txn))
            assert not isinstance(outcome, Refused)
            self.follow(txn, outcome)

    @stateful.rule(batch=st.lists(plans.txn_plans, max_size=6))
    def commit_many(self, batch: list[plans.TxnPlan]) -> None:
        self.commit_together([plan.concrete(self.model) for plan in batch])

    @stateful.rule(
        value=plans.changes, guards=st.lists(plans.guard_plans, max_size=1), wrong=st.sets(st.integers(0, 99), max_size=2)
    )
    def delete_many(self, value: bytes | None, guards: list[plans.GuardPlan], wrong: set[int]) -> None:
        """As a cascade does: objects that were just read, under the same guards. Some may have changed since."""
        self.write([(key, value or b"v") for key in plans.MANY])
        records = self.run(self.store.read_many(plans.MANY))
        given = tuple(guard.concrete(self.model) for guard in guards)
        self.write([(plans.MANY[number], b"w") for number in wrong if number < len(plans.MANY)])
        self.commit_together(
            [contract.delete(one.key, revision=one.revision, leave=plans.ENTRIES[:1], guards=given) for one in records if one]
        )

    def commit_together(self, txns: list[Txn]) -> None:
        outcomes = self.run(self.store.commit_many(txns))
        assert len(outcomes) == len(txns)
        self.check_order(txns, outcomes)
        floor = self.model.revision
        for txn, outcome in zip(txns, outcomes, strict=True):
            self.follow(txn, outcome, floor=floor)

    @stateful.rule(together=st.lists(plans.txn_plans, min_size=2, max_size=5))
    def commit_at_once(self, together: list[plans.TxnPlan]) -> None:
        """Concurrent commits come in some order; every refusal must be right at some point of it."""
        txns = [plan.concrete(self.model) for plan in together]
        outcomes = self.run(gather([self.store.commit(txn) for txn in txns]))
        refused = [(txn, outcome) for txn, outcome in zip(txns, outcomes, strict=True) if isinstance(outcome, Refused)]
        done = [(outcome, txn) for txn, outcome in zip(txns, outcomes, strict=True) if not isinstance(outcome, Refused)]
        possible = {index: [self.model.failed_guards(txn)] for index, (txn, _) in enumerate(refused)}
        for revision, txn in sorted(done, key=lambda pair: pair[0]):
            self.follow(txn, revision)
            for index, (other, _) in enumerate(refused):
                possible[index].append(self.model.failed_guards(other))
        for index, (_, outcome) in enumerate(refused):
            assert outcome.failed
            assert outcome.failed in possible[index]

    def follow(self, txn: Txn, outcome: Outcome, *, floor: Revision | None = None) -> None:
        """The model does what the engine did, if that was right."""
        failed = self.model.failed_guards(txn)
        if failed:
            assert outcome == Refused(failed)
            return
        assert not isinstance(outcome, Refused), f"{txn} was refused by {outcome}, but its guards hold"
        assert outcome > (self.model.revision if floor is None else floor)
        assert outcome not in [change.revision for change in self.model.changes]
        self.model.apply(txn, outcome)

    def check_order(self, txns: Sequence[Txn], outcomes: Sequence[Outcome]) -> None:
        """Transactions of one batch that can see each other have their revisions in the order of the list."""
        done = [(txn, revision) for txn, revision in zip(txns, outcomes, strict=True) if not isinstance(revision, Refused)]
        for index, (later, revision) in enumerate(done):
            for earlier, smaller in done[:index]:
                assert smaller < revision or not store_model.conflict(earlier, later)

    # Reading

    @stateful.rule(keys=st.lists(plans.objects, min_size=1, max_size=4), moment=plans.moments)
    def read_at(self, keys: list[str], moment: int) -> None:
        at = self.moment(moment)
        for key in keys:
            self.same(lambda key=key: self.store.read(key, at=at), lambda key=key: self.model.read(key, at=at))  # type: ignore[misc]

    @stateful.rule(keys=st.lists(plans.any_key, max_size=6))
    def read_many(self, keys: list[str]) -> None:
        assert self.run(self.store.read_many(keys)) == [self.model.read(key) for key in keys]

    @stateful.rule(prefix=plans.any_range, after=st.one_of(st.just(""), plans.any_key), limit=st.integers(1, 4))
    def scan(self, prefix: str, after: str, limit: int) -> None:
        assert self.run(self.store.scan(prefix, after=after, limit=limit)) == self.model.scan(prefix, after=after, limit=limit)
        assert self.run(self.store.count(prefix, after=after)) == self.model.count(prefix, after=after)

    @stateful.rule(
        prefix=plans.object_ranges, after=st.one_of(st.just(""), plans.any_key), limit=st.integers(1, 9), moment=plans.moments
    )
    def scan_at(self, prefix: str, after: str, limit: int, moment: int) -> None:
        at = self.moment(moment)
        self.same(
            lambda: self.store.scan(prefix, after=after, limit=limit, at=at),
            lambda: self.model.scan(prefix, after=after, limit=limit, at=at),
        )
        self.same(lambda: self.store.count(prefix, after=after, at=at), lambda: self.model.count(prefix, after=after, at=at))

    def moment(self, number: int) -> Revision:
        """Never from before the start: what is known of that differs from engine to engine."""
        return plans.moment(number, first=self.start, last=self.model.revision)

    def same(self, ask: Callable[[], Awaitable[object]], expect: Callable[[], object]) -> None:
        """Both give the same answer, or fail in the same way."""
        found, expected = self.run(answer(ask)), model_answer(expect)
        assert type(found) is type(expected) if isinstance(expected, errors.ApiError) else found == expected

    # Watching

    @stateful.rule(prefix=plans.object_ranges, moment=plans.moments)
    def open_watch(self, prefix: str, moment: int) -> None:
        self.begin_watch(prefix, self.moment(moment))

    def begin_watch(self, prefix: str, after: Revision) -> None:
        refusal = model_answer(lambda: self.model.check_kept(after))
        if refusal is not None:
            found = self.run(answer(lambda: steps.follow(self.store, prefix, after=after, last=Revision(0))))
            assert type(found) is type(refusal)
            return
        manager = self.store.watch(prefix, after=after)
        self.watches.append(OpenWatch(manager, self.run(enter(manager)), prefix, after))

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(skip=st.integers(0, 3), everything=st.booleans())
    def read_watches(self, skip: int, everything: bool) -> None:
        """Some fall behind, and some take only the next batch."""
        for watched in self.watches[skip % len(self.watches) :]:
            pending = self.pending(watched)
            if pending:
                self.read_watch(watched, pending, len(pending) if everything else 1)

    def read_watch(self, watched: OpenWatch, pending: list[Event], count: int) -> None:
        found = self.run(answer(lambda: watched.take(count)))
        if isinstance(found, errors.Gone):
            assert watched.position < self.model.horizon
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
        """Take from those who waited what has come."""
        for watched in tuple(self.watches):
            if watched.waiting is not None and watched.waiting.done():
                self.read_watch(watched, self.pending(watched), 1)

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(index=st.integers(0, 9))
    def close_and_resume_watch(self, index: int) -> None:
        """What the watch says it has handed out is where the next one goes on."""
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

    # Forgetting, stopping

    @stateful.rule(moment=plans.moments)
    def compact(self, moment: int) -> None:
        before = self.moment(moment)
        self.same(lambda: self.store.compact(before), lambda: self.model.compact(before))

    @stateful.rule(now=st.integers(100, 120))
    def note_time(self, now: int) -> None:
        self.run(self.store.note_time(float(now)))
        self.model.note_time(float(now))

    @stateful.rule(time=st.integers(99, 121))
    def ask_revision_at(self, time: int) -> None:
        """Notes from before what was compacted may be forgotten with it."""
        found, expected = self.run(self.store.revision_at(float(time))), self.model.revision_at(float(time))
        assert found == expected or (found is None and expected is not None and expected < self.model.horizon)

    @stateful.rule()
    def restart(self) -> None:
        """Watches end with the store; each goes on in the new one from where it was."""
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

    # What holds after every step

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
    def watches_promise_no_more_than_they_handed_out(self) -> None:
        self.collect()
        for watched in self.watches:
            assert watched.position <= watched.watch.revision <= self.model.revision
            assert all(event.revision > watched.watch.revision for event in self.pending(watched))

    async def compare_all_history(self) -> None:
        """At the end: every revision that is kept, and every event since the first of them."""
        first = max(self.model.horizon, self.start)
        for at in {first, *(change.revision for change in self.model.changes if change.revision > first)}:
            assert await self.store.scan("objects/", limit=100, at=at) == self.model.scan("objects/", limit=100, at=at)
        expected = self.model.events("objects/", after=first)
        if expected:
            assert await steps.follow(self.store, "objects/", after=first, last=expected[-1].revision) == expected


async def gather(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    return list(await asyncio.gather(*calls))


async def enter(manager: AbstractAsyncContextManager[Watch]) -> Watch:
    return await manager.__aenter__()


async def answer(ask: Callable[[], Awaitable[object]]) -> object:
    """The result, or the error that came instead."""
    try:
        return await ask()
    except errors.ProbateError as error:
        return error


def model_answer(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except errors.ProbateError as error:
        return error
