"""Sends random requests to a whole server. Whenever the collector is idle, the model must explain everything that has happened,
change by change."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, ClassVar, TypeVar

from hypothesis import stateful
from hypothesis import strategies as st

from support import deletion_step_check as step_check
from support import random_deletion_requests as plans
from support import sample_kinds, store_engines
from support.deletion_model import ModelObject, Objects
from support.deletion_step_check import Change, ClientRequests
from support.in_process_server import Response
from support.random_deletion_requests import OwnerDeletionPlan, Request, RequestPlan
from support.virtual_time_server import VirtualTimeServer

T = TypeVar("T")

MAX_REMOVED = 2
"""Removed objects that requests may still name."""


class DeletionMachine(stateful.RuleBasedStateMachine):
    """The rules of the state machine. A subclass chooses the store."""

    runner: ClassVar[asyncio.Runner]
    pause = 0.0

    def make_engine(self) -> store_engines.Engine:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.objects: Objects = {}
        self.known: list[ModelObject] = []  # every object that was ever created, as it was then
        self.requests_sent: list[str] = []
        self.is_sound = True
        self.stack = AsyncExitStack()
        self.server: VirtualTimeServer = self.run(self.start())

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.get_loop().run_until_complete(call)

    async def start(self) -> VirtualTimeServer:
        store = await self.make_engine().open()
        self.stack.push_async_callback(store.close)
        server = await self.stack.enter_async_context(VirtualTimeServer(store, pause=self.pause).running())
        await sample_kinds.define(server)
        return server

    def teardown(self) -> None:
        try:
            if self.is_sound:
                assert self.run(step_check.list_objects(self.server)) == {uid: one.visible for uid, one in self.objects.items()}
        finally:
            self.run(self.stack.aclose())

    # Requests

    @stateful.initialize(first=st.lists(plans.creates, min_size=3, max_size=8))
    def create_first_objects(self, first: list[RequestPlan]) -> None:
        for plan in first:
            self.one([plan])

    @stateful.rule(plan=plans.plans)
    def ask(self, plan: RequestPlan) -> None:
        self.one([plan])

    @stateful.rule(batch=st.lists(plans.plans, min_size=2, max_size=4))
    def send_sequentially(self, batch: list[RequestPlan]) -> None:
        self.one(batch)

    @stateful.rule(batch=st.lists(st.tuples(plans.turns, plans.plans), min_size=2, max_size=3))
    def send_concurrently(self, batch: list[tuple[int, RequestPlan]]) -> None:
        known = self.nameable()
        self.check([self.thread([plan.request(known)], turns) for turns, plan in batch if is_applicable(plan, known)])

    @stateful.rule(owner_deletion=plans.owner_deletions)
    def add_dependents_to_a_deleting_owner(self, owner_deletion: OwnerDeletionPlan) -> None:
        known = self.nameable()
        if known:
            self.check([self.thread([request], turns) for turns, request in owner_deletion.requests(known)])

    def nameable(self) -> plans.Known:
        gone = [one for one in self.known if one.uid not in self.objects]
        owners = Counter(ref.uid for one in self.objects.values() for ref in one.refs)
        return [*sorted(self.objects.values(), key=lambda one: (-owners[one.uid], one.uid)), *gone[-MAX_REMOVED:]]

    def one(self, batch: Sequence[RequestPlan]) -> None:
        known = self.nameable()
        self.check([self.thread([plan.request(known) for plan in batch if is_applicable(plan, known)])])

    async def thread(self, requests: Sequence[Request], turns: int = 0) -> ClientRequests:
        await self.server.yield_to_loop(turns)
        found: list[tuple[Request, Response]] = []
        for request in requests:
            answer = await request.send(self.server)
            found.append((request, answer))
            if isinstance(request, plans.Create) and answer.code == 201:
                self.known.append(request.made(answer))
            if isinstance(request, plans.DeleteCollection):
                found += [(part, answer) for part in request.parts(answer)]
        return tuple(found)

    # Checking

    def check(self, threads: Iterable[Coroutine[Any, Any, ClientRequests]]) -> None:
        self.is_sound = False
        requests_sent, happened = self.run(self.carry_out(list(threads)))
        explained, objects = step_check.explain(self.objects, requests_sent, happened)
        self.requests_sent += step_check.request_lines(requests_sent)
        assert objects is not None, "\n".join(
            ["", *self.requests_sent, step_check.report(self.objects, requests_sent, happened, explained=explained)]
        )
        self.objects = objects
        self.is_sound = True

    async def carry_out(
        self, threads: list[Coroutine[Any, Any, ClientRequests]]
    ) -> tuple[tuple[ClientRequests, ...], list[Change]]:
        requests_sent = tuple(await asyncio.gather(*threads))
        await self.server.settle()
        events, self.server.events = self.server.events, []
        return requests_sent, step_check.changes(events)


def is_applicable(plan: RequestPlan, known: plans.Known) -> bool:
    """Whether the plan is applicable: most need an object."""
    return bool(known) or isinstance(plan, plans.CreatePlan | plans.Pause)
