"""One run: a server, its clients and the weather of one seed, for so many steps and then until all has come to rest."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import random
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from probate.store import damage
from simulation import kinds, rest
from simulation.caretaker import Caretaker
from simulation.court import Court, Violation
from simulation.damage import Damager
from simulation.founders import NAMESPACES
from simulation.loop import VirtualLoop
from simulation.machine import Machine
from simulation.memory import Known
from simulation.users import User
from simulation.watchers import Watcher
from simulation.weather import Weather

QUIET_SECONDS = 20.0
"""When nothing was written for so long but signs of life, nothing will be."""
MAX_REST_SECONDS = 600.0
LAST = "last"
STORY = 60
"""Lines that are told of a run that failed."""


class Report(NamedTuple):
    """What came of a run."""

    seed: int
    total: int
    steps: int  # that were begun
    failure: str  # nothing if all was well
    story: tuple[str, ...]  # what happened last
    digest: str  # of all that was committed: two runs with the same one are the same
    revisions: int
    lives: int
    seconds: float  # of virtual time

    @property
    def verdict(self) -> str:
        """In a few words, with the way to see it again."""
        if not self.failure:
            return f"seed {self.seed} holds ({self.digest})"
        again = f"make simulate SEED={self.seed} STEPS={self.total}"
        return f"seed {self.seed} fails at step {self.steps} of {self.total}: {self.failure}\nTo see it again, all of it: {again}"


class Run:
    """One run of one seed."""

    def __init__(self, seed: int, steps: int, *, story: int = STORY) -> None:
        self._seed = seed
        self._steps = steps
        self._done = 0
        self._story: deque[str] = deque(maxlen=story)
        self._loop = VirtualLoop(seed)
        self._weather = Weather(seed)
        self._court = Court(self._tell, self._loop.fail)
        self._machine = Machine(self._loop, seed, self._weather, self._court, self._tell)
        self._caretaker = Caretaker(self._machine, self._court, pause=self._weather.climate.pace * 10, seed=seed)
        self._dice = random.Random(f"chaos {seed}")  # noqa: S311
        self._watchers: list[Watcher] = []
        self._damager = Damager(self._machine, self._court, seed=seed, tell=self._tell)

    def play(self) -> Report:
        """All of it, from the first step to the rest after the last."""
        failure = ""
        self._loop.after_each = self._look
        with _told(self._loop, self._court), _without_collecting():
            try:
                self._loop.play(self._live())
            except Exception as error:  # noqa: BLE001 whatever it is, the run has failed
                failure = str(error) if isinstance(error, Violation) else f"{type(error).__name__}: {error}"
            self._loop.wind_up()
        court = self._court
        return Report(
            self._seed,
            self._steps,
            self._done,
            failure,
            tuple(self._story),
            _digest(court, self._loop),
            court.history.revision,
            self._machine.lives,
            self._loop.time(),
        )

    async def _live(self) -> None:
        climate = self._weather.climate
        known: deque[Known] = deque(maxlen=60)
        self._start(self._machine.run())
        self._start(self._caretaker.run())
        for number in range(climate.watchers):
            self._watchers.append(self._watcher(f"watcher-{number}"))
            self._start(self._watchers[-1].run())
        users = [self._user(f"user-{number}", known) for number in range(climate.clients)]
        await self._prepare()
        await asyncio.gather(self._trouble(), *self._damaging(), *(user.run(self._goes_on) for user in users))
        await self._come_to_rest()
        self._judge_rest()
        if self._court.history.damaged:
            await self._damager.remove_all()
            await self._wait_for_rest()
            self._judge_rest()

    def _damaging(self) -> Iterator[Coroutine[Any, Any, None]]:
        climate = self._weather.climate
        if climate.p_damage:
            yield self._damager.run(lambda: self._done < self._steps, pause=climate.pace * 10, probability=climate.p_damage)

    def _goes_on(self) -> bool:
        if self._done >= self._steps:
            return False
        self._done += 1
        return True

    async def _prepare(self) -> None:
        """Make the namespaces and the custom kinds, which the weather may hinder."""
        wanted: list[tuple[kinds.Kind, dict[str, Any]]] = [(kinds.NAMESPACE, {"metadata": {"name": name}}) for name in NAMESPACES]
        wanted += [(kinds.DEFINITION, kinds.definition(kind)) for kind in kinds.CUSTOM]
        for kind, body in wanted:
            await self._create(kind.path(), body)

    async def _create(self, path: str, body: dict[str, Any]) -> None:
        """Create something, however often that has to be tried."""
        while True:
            try:
                answer = await self._machine.ask("preparation", "POST", path, body=body)
                if answer.code in (201, 409):
                    break
            except Exception:  # noqa: BLE001,S110 not there yet
                pass
            await asyncio.sleep(0.1)

    async def _leave_something_to_make(self) -> None:
        """Where pods are made, some are when all is calm: as many as are wanted, however many leaders make them."""
        await self._create(kinds.NAMESPACE.path(), {"metadata": {"name": LAST}})
        replicas = {"metadata": {"name": LAST}, **kinds.body(kinds.REPLICAS, is_bound=False)}
        await self._create(kinds.REPLICAS.path(LAST), replicas)

    def _user(self, name: str, known: deque[Known]) -> User:
        pace = self._weather.climate.pace
        return User(name, self._machine, self._court, known, pace=pace, seed=self._seed, tell=self._tell)

    def _watcher(self, name: str) -> Watcher:
        kind = self._dice.choice(kinds.KINDS)
        namespace = self._dice.choice(("", *NAMESPACES)) if kind.is_namespaced else ""
        patience = self._dice.choice((0.01, 0.1, 1.0))
        return Watcher(name, self._machine, self._court, kind, namespace, patience=patience, seed=self._seed)

    async def _trouble(self) -> None:
        """Now and then the server is stopped, or dies between two commits."""
        climate = self._weather.climate
        while self._done < self._steps:
            await asyncio.sleep(self._dice.expovariate(1 / (climate.pace * 30)))
            if jump := self._weather.jump():
                self._machine.set_clock(jump)
            if self._weather.happens(climate.p_crash * 30) and self._goes_on():
                if self._dice.random() < 0.3:
                    await self._machine.stop()
                else:
                    self._machine.crash()

    async def _come_to_rest(self) -> None:
        self._tell("no more steps: coming to rest")
        self._weather.calm_down()
        self._caretaker.calm_down()
        self._start(self._caretaker.run())  # the other one may just have gone to sleep for long
        for watcher in self._watchers:
            watcher.is_calm = True
        if "replicasets" in self._weather.climate.crew:
            await self._leave_something_to_make()
        await self._wait_for_rest()

    async def _wait_for_rest(self) -> None:
        began = self._loop.time()
        newest, since = -1, began
        while self._loop.time() - since < QUIET_SECONDS:
            if self._court.history.newest != newest:
                newest, since = self._court.history.newest, self._loop.time()
            if self._loop.time() - began > MAX_REST_SECONDS:
                raise Violation(f"after {MAX_REST_SECONDS:.0f} seconds in which nobody did anything, things still change")
            await asyncio.sleep(1.0)

    def _judge_rest(self) -> None:
        store, court = self._machine.inner, self._court
        if store is None:
            raise Violation("there is no server at the end")
        court.compare(store)
        undone = list(rest.left_undone(court.world, damaged=court.history.damaged))
        if "replicasets" in self._weather.climate.crew:
            undone += rest.miscounted(court.history, court.world)
        if undone:
            raise Violation("at rest, " + "; ".join(undone))
        wrong = rest.entries_wrong(court.history, store)
        if wrong:
            raise Violation(f"index entries are wrong: {wrong}")
        for watcher in self._watchers:
            missing = watcher.missing()
            if missing is not None and watcher.can_watch():
                raise Violation(f"{watcher} never saw {missing}")

    def _start(self, work: Any) -> None:
        def ended(task: asyncio.Task[Any]) -> None:
            if not task.cancelled():
                self._loop.fail(task.exception() or RuntimeError(f"{task} ended although it never should"))

        self._loop.create_task(work).add_done_callback(ended)

    def _look(self) -> None:
        self._court.look(self._machine.inner)

    def _tell(self, line: str) -> None:
        self._story.append(f"{self._loop.time():10.4f}  step {self._done:3}  {line}")


def _digest(court: Court, loop: VirtualLoop) -> str:
    digest = hashlib.sha256()
    for key, (revision, value) in sorted(court.history.values.items()):
        digest.update(f"{revision} {key} ".encode() + value)
    digest.update(f"{court.history.revision} {loop.turns} {loop.time()}".encode())
    return digest.hexdigest()[:16]


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Python's own collector runs when it likes, and closes generators when it does."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _told(loop: VirtualLoop, court: Court) -> Iterator[None]:
    """What Probate logs as an error is a failure of the run."""
    handler = _Handler(loop, court)
    log = logging.getLogger("probate")
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagates


class _Handler(logging.Handler):
    def __init__(self, loop: VirtualLoop, court: Court) -> None:
        super().__init__(logging.ERROR)
        self._loop = loop
        self._court = court

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == damage.LOGGED and self._court.history.ever_damaged:
            return
        why = record.exc_info[1] if record.exc_info else None
        self._loop.fail(Violation(f"an error was logged: {record.getMessage()} ({why!r})"))
