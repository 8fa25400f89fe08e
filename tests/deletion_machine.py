"""A whole server and the rules of deletion, taken through the same random requests: whenever the collector has come to rest, what
is there must be explained by the rules.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, TypeVar

import orjson
from hypothesis import stateful
from hypothesis import strategies as st

import deletion_model as model
import deletion_plans as plans
import sample_kinds
import store_engines
from cluster import Cluster
from deletion_model import Ref, Thing, World
from deletion_plans import Op, Parting, Plan
from in_process import Told
from probate.store import paging
from probate.store.contract import Store

T = TypeVar("T")

DEAD = 2
"""Objects that are gone, and yet are named."""

_SHORTS = {sample_kinds.KINDS[short].plural: short for short in plans.SHORTS}

Thread = tuple[tuple[Op, Told], ...]
"""Requests of one client, one after the other, with their answers."""


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
                assert self.run(listed(self.server)) == seen(self.world)
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
        asked, now = self.run(self.carry_out(list(threads)))
        explained = explain(self.world, asked, now)
        self.is_sound = explained is not None
        assert explained is not None, report(self.asked, self.world, asked, now)
        self.world = explained
        self.asked += told(asked)

    async def carry_out(self, threads: list[Coroutine[Any, Any, Thread]]) -> tuple[tuple[Thread, ...], World]:
        asked = tuple(await asyncio.gather(*threads))
        await self.server.settle()
        return asked, await stored(self.server.store)


def can_mean(plan: Plan, known: plans.Known) -> bool:
    """Whether the plan means something: most are about an object."""
    return bool(known) or isinstance(plan, plans.CreatePlan | plans.Meanwhile)


async def stored(store: Store) -> World:
    """Everything there is, as the store has it."""
    records = [record async for page in paging.pages(store, "objects/") for record in page.records]
    named = [(re.split(r"[./]", record.key)[1], record.value) for record in records]
    return _world((_SHORTS[plural], orjson.loads(value)) for plural, value in named if plural in _SHORTS)


async def listed(server: Cluster) -> World:
    """Everything there is, as clients see it."""
    answers = {short: await server.ask("GET", sample_kinds.KINDS[short].path()) for short in plans.SHORTS}
    return _world((short, item) for short, answer in answers.items() for item in answer.json["items"])


def _world(items: Iterable[tuple[str, dict[str, Any]]]) -> World:
    """The collector's own Events are left out: they tell of what it did."""
    things = [thing_of(short, item) for short, item in items if "component" not in item.get("source", {})]
    return {thing.uid: thing for thing in things}


def seen(world: World) -> World:
    """What clients can see of it."""
    return {uid: one.seen for uid, one in world.items()}


def thing_of(short: str, item: dict[str, Any]) -> Thing:
    meta = item["metadata"]
    refs = [
        Ref(one["apiVersion"], one["kind"], one["name"], one["uid"], bool(one.get("blockOwnerDeletion")))
        for one in meta.get("ownerReferences", ())
    ]
    return Thing(
        short,
        meta.get("namespace", ""),
        meta["name"],
        meta["uid"],
        tuple(refs),
        tuple(meta.get("finalizers", ())),
        deleting="deletionTimestamp" in meta,
        grace=meta.get("deletionGracePeriodSeconds"),
        on_node=bool(item.get("spec", {}).get("nodeName")),
    )


# --- the search for an explanation ------------------------------------------------------------------------------------------


def explain(before: World, threads: tuple[Thread, ...], now: World) -> World | None:
    """The world as it is now, if some order of the requests and of the collector's steps leads there and lets it rest."""
    todo = [(before, threads)]
    tried = set()
    while todo:
        world, left = todo.pop()
        key = (frozenset(world.values()), tuple(map(len, left)))
        if key in tried or not _can_become(world, left, now):
            continue
        tried.add(key)
        if not any(left) and seen(world) == now and model.is_at_rest(world):
            return world
        todo += [(after, left) for after in model.steps(world)]
        for number, thread in enumerate(left):
            if thread:
                after = thread[0][0].apply(world, thread[0][1])
                if after is not None:
                    todo.append((after, (*left[:number], thread[1:], *left[number + 1 :])))
    return None


def _can_become(world: World, left: tuple[Thread, ...], now: World) -> bool:
    """Whether nothing speaks against it at first sight: nobody comes back, and nobody stops being deleted."""
    if any(left):
        return not any(one.deleting and uid in now and not now[uid].deleting for uid, one in world.items())
    for uid, one in now.items():
        before = world.get(uid)
        if before is None or (before.deleting and not one.deleting) or len(before.refs) < len(one.refs):
            return False
    return True


def report(asked: list[str], before: World, threads: tuple[Thread, ...], now: World) -> str:
    been = ["the rules do not lead from", *map(_line, before.values())]
    return "\n".join(["after", *asked, *been, "by", *told(threads), "to", *map(_line, now.values())])


def told(threads: tuple[Thread, ...]) -> list[str]:
    """The requests and their answers, by who asked."""
    return [f"  {number}: {op} -> {answer.code}" for number, thread in enumerate(threads) for op, answer in thread]


def _line(thing: Thing) -> str:
    refs = [f"{ref.kind} {ref.name} {ref.uid[-4:]}{' blocks' if ref.blocks else ''}" for ref in thing.refs]
    state = f"deleting grace={thing.grace}" if thing.deleting else "alive"
    late = f" late={sorted(one[-4:] for one in thing.late)}" if thing.late else ""
    return f"  {'/'.join(thing.place)} {thing.uid[-4:]} {state} {list(thing.finalizers)} owners={refs}{late}"
