"""A whole server, taken through random requests: whenever the collector has come to rest, the rules of deletion must explain all
that has happened, change by change.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, TypeVar

from hypothesis import stateful
from hypothesis import strategies as st

from support import deletion_step_check as account
from support import random_deletion_requests as plans
from support import sample_kinds, store_engines
from support.deletion_model import Thing, World
from support.deletion_step_check import Change, Thread
from support.in_process_server import Told
from support.random_deletion_requests import Op, Parting, Plan
from support.virtual_time_server import Cluster

T = TypeVar("T")

DEAD = 2
"""Objects that are gone, and yet are named."""


class DeletionMachine(stateful.RuleBasedStateMachine):
    """The steps. A subclass says on which store."""

    runner: ClassVar[asyncio.Runner]
    pause = 0.0

    def make_engine(self) -> store_engines.Engine:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.world: World = {}
        self.known: list[Thing] = []  # everything that was ever created, as it was then
        self.asked: list[str] = []
        self.is_sound = True
        self.stack = AsyncExitStack()
        self.server: Cluster = self.run(self.start())

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.get_loop().run_until_complete(call)

    async def start(self) -> Cluster:
        store = await self.make_engine().open()
        self.stack.push_async_callback(store.close)
        server = await self.stack.enter_async_context(Cluster(store, pause=self.pause).running())
        await sample_kinds.define(server)
        return server

    def teardown(self) -> None:
        try:
            if self.is_sound:
                assert self.run(account.listed(self.server)) == {uid: one.seen for uid, one in self.world.items()}
        finally:
            self.run(self.stack.aclose())

    # Requests

    @stateful.initialize(first=st.lists(plans.creates, min_size=3, max_size=8))
    def begin_with_some(self, first: list[Plan]) -> None:
        for plan in first:
            self.one([plan])

    @stateful.rule(plan=plans.plans)
    def ask(self, plan: Plan) -> None:
        self.one([plan])

    @stateful.rule(some=st.lists(plans.plans, min_size=2, max_size=4))
    def ask_one_after_the_other(self, some: list[Plan]) -> None:
        self.one(some)

    @stateful.rule(some=st.lists(st.tuples(plans.turns, plans.plans), min_size=2, max_size=3))
    def ask_at_once(self, some: list[tuple[int, Plan]]) -> None:
        known = self.nameable()
        self.check([self.thread([plan.op(known)], turns) for turns, plan in some if can_mean(plan, known)])

    @stateful.rule(parting=plans.partings)
    def come_to_an_owner_that_goes(self, parting: Parting) -> None:
        known = self.nameable()
        if known:
            self.check([self.thread([op], turns) for turns, op in parting.ops(known)])

    def nameable(self) -> plans.Known:
        gone = [one for one in self.known if one.uid not in self.world]
        owners = Counter(ref.uid for one in self.world.values() for ref in one.refs)
        return [*sorted(self.world.values(), key=lambda one: (-owners[one.uid], one.uid)), *gone[-DEAD:]]

    def one(self, some: Sequence[Plan]) -> None:
        known = self.nameable()
        self.check([self.thread([plan.op(known) for plan in some if can_mean(plan, known)])])

    async def thread(self, ops: Sequence[Op], turns: int = 0) -> Thread:
        await self.server.turns(turns)
        found: list[tuple[Op, Told]] = []
        for op in ops:
            answer = await op.send(self.server)
            found.append((op, answer))
            if isinstance(op, plans.Create) and answer.code == 201:
                self.known.append(op.made(answer))
            if isinstance(op, plans.DeleteMany):
                found += [(part, answer) for part in op.parts(answer)]
        return tuple(found)

    # Checking

    def check(self, threads: Iterable[Coroutine[Any, Any, Thread]]) -> None:
        self.is_sound = False
        asked, happened = self.run(self.carry_out(list(threads)))
        explained, world = account.explain(self.world, asked, happened)
        self.asked += account.told(asked)
        assert world is not None, "\n".join(["", *self.asked, account.report(self.world, asked, happened, explained)])
        self.world = world
        self.is_sound = True

    async def carry_out(self, threads: list[Coroutine[Any, Any, Thread]]) -> tuple[tuple[Thread, ...], list[Change]]:
        asked = tuple(await asyncio.gather(*threads))
        await self.server.settle()
        events, self.server.events = self.server.events, []
        return asked, account.changes(events)


def can_mean(plan: Plan, known: plans.Known) -> bool:
    """Whether the plan means something: most are about an object."""
    return bool(known) or isinstance(plan, plans.CreatePlan | plans.Meanwhile)
