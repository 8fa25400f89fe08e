"""One run: a server, its clients and the faults of one seed, for a number of steps and then until it is quiescent."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import random
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from probate.store import damaged_objects
from simulation import kinds, quiescence
from simulation.damage import Damager
from simulation.external_controllers import ExternalControllers
from simulation.faults import FaultSchedule
from simulation.judge import Judge, Violation
from simulation.known_objects import KnownObject
from simulation.machine import Machine
from simulation.scope_user import NAMESPACES
from simulation.tenant_user import TenantUser
from simulation.users import User
from simulation.virtual_loop import VirtualLoop
from simulation.watchers import Watcher

_User = TypeVar("_User", User, TenantUser)

QUIET_SECONDS = 20.0
"""The system is quiescent when nothing but heartbeats was written for so long."""
MAX_REST_SECONDS = 600.0
LAST = "last"
LOG_LINES = 60
"""Log lines that are kept of a run."""


class Report(NamedTuple):
    """The result of a run."""

    seed: int
    total: int
    steps: int  # that were started
    failure: str  # empty if it succeeded
    log_lines: tuple[str, ...]  # the last log lines
    digest: str  # of all commits: two runs with the same digest are the same
    revisions: int
    lives: int
    seconds: float  # of virtual time

    @property
    def verdict(self) -> str:
        """A summary, with the command that repeats the run."""
        if not self.failure:
            return f"seed {self.seed} holds ({self.digest})"
        again = f"make simulate SEED={self.seed} STEPS={self.total}"
        return f"seed {self.seed} fails at step {self.steps} of {self.total}: {self.failure}\nTo see it again, all of it: {again}"


class Run:
    """One run of one seed."""

    def __init__(self, seed: int, steps: int, *, log_lines: int = LOG_LINES) -> None:
        self._seed = seed
        self._steps = steps
        self._done = 0
        self._lines: deque[str] = deque(maxlen=log_lines)
        self._loop = VirtualLoop(seed)
        self._faults = FaultSchedule(seed)
        self._judge = Judge(self._log, self._loop.fail)
        self._machine = Machine(self._loop, seed, self._faults, judge=self._judge, log=self._log)
        self._external_controllers = ExternalControllers(self._machine, self._judge, pause=self._faults.rates.pace * 10, seed=seed)
        self._rng = random.Random(f"chaos {seed}")  # noqa: S311
        self._watchers: list[Watcher] = []
        self._damager = Damager(self._machine, self._judge, seed=seed, log=self._log)

    def play(self) -> Report:
        """Runs it, from the first step to quiescence."""
        failure = ""
        self._loop.after_each = self._look
        with _fail_on_logged_errors(self._loop, self._judge), _without_python_gc():
            try:
                self._loop.play(self._live())
            except Exception as error:  # noqa: BLE001 whatever it is, the run has failed
                failure = str(error) if isinstance(error, Violation) else f"{type(error).__name__}: {error}"
            self._loop.wind_up()
        judge = self._judge
        return Report(
            self._seed,
            self._steps,
            self._done,
            failure,
            tuple(self._lines),
            _digest(judge, self._loop),
            judge.history.revision,
            self._machine.lives,
            self._loop.time(),
        )

    async def _live(self) -> None:
        rates = self._faults.rates
        known: deque[KnownObject] = deque(maxlen=60)
        self._start(self._machine.run())
        self._start(self._external_controllers.run())
        for number in range(rates.watchers):
            self._watchers.append(self._watcher(f"watcher-{number}"))
            self._start(self._watchers[-1].run())
        users: list[User | TenantUser] = [self._user(f"user-{number}", known) for number in range(rates.clients)]
        users += [self._user(f"tenant-user-{number}", known, TenantUser) for number in range(rates.tenant_users)]
        await self._prepare()
        await asyncio.gather(self._trouble(), *self._damaging(), *(user.run(self._goes_on) for user in users))
        await self._settle()
        self._check_final_state()
        if self._judge.history.damaged:
            await self._damager.remove_all()
            await self._wait_until_quiescent()
            self._check_final_state()

    def _damaging(self) -> Iterator[Coroutine[Any, Any, None]]:
        rates = self._faults.rates
        if rates.p_damage:
            yield self._damager.run(lambda: self._done < self._steps, pause=rates.pace * 10, probability=rates.p_damage)

    def _goes_on(self) -> bool:
        if self._done >= self._steps:
            return False
        self._done += 1
        return True

    async def _prepare(self) -> None:
        """Creates the namespaces and the CRDs, in spite of faults."""
        wanted: list[tuple[kinds.Kind, dict[str, Any]]] = [(kinds.NAMESPACE, {"metadata": {"name": name}}) for name in NAMESPACES]
        wanted += [(kinds.DEFINITION, kinds.definition(kind)) for kind in kinds.CUSTOM]
        for kind, body in wanted:
            await self._create(kind.path(), body)

    async def _create(self, path: str, body: dict[str, Any]) -> None:
        """Creates an object, with retries."""
        while True:
            try:
                answer = await self._machine.ask("preparation", "POST", path, body=body)
                if answer.code in (201, 409):
                    break
            except Exception:  # noqa: BLE001,S110 not there yet
                pass
            await asyncio.sleep(0.1)

    async def _create_last_replica_set(self) -> None:
        """Creates a ReplicaSet after the last fault: it must get as many pods as it wants, however many leaders there are."""
        await self._create(kinds.NAMESPACE.path(), {"metadata": {"name": LAST}})
        replicas = {"metadata": {"name": LAST}, **kinds.body(kinds.REPLICAS, is_bound=False)}
        await self._create(kinds.REPLICAS.path(LAST), replicas)

    def _user(self, name: str, known: deque[KnownObject], make: type[_User] = User) -> _User:  # type: ignore[assignment]
        pace = self._faults.rates.pace
        return make(name, self._machine, self._judge, known=known, pace=pace, seed=self._seed, log=self._log)

    def _watcher(self, name: str) -> Watcher:
        kind = self._rng.choice(kinds.KINDS)
        namespace = self._rng.choice(("", *NAMESPACES)) if kind.is_namespaced else ""
        patience = self._rng.choice((0.01, 0.1, 1.0))
        return Watcher(name, self._machine, self._judge, kind=kind, namespace=namespace, patience=patience, seed=self._seed)

    async def _trouble(self) -> None:
        """Stops or kills the server at random times."""
        rates = self._faults.rates
        while self._done < self._steps:
            await asyncio.sleep(self._rng.expovariate(1 / (rates.pace * 30)))
            if jump := self._faults.jump():
                self._machine.set_clock(jump)
            if self._faults.happens(rates.p_crash * 30) and self._goes_on():
                if self._rng.random() < 0.3:
                    await self._machine.stop()
                else:
                    self._machine.crash()

    async def _settle(self) -> None:
        self._log("no more steps: coming to rest")
        self._faults.calm_down()
        self._external_controllers.calm_down()
        self._start(self._external_controllers.run())  # the other one may just have gone to sleep for long
        for watcher in self._watchers:
            watcher.is_calm = True
        if "replicaset-controller" in self._faults.rates.controllers:
            await self._create_last_replica_set()
        await self._wait_until_quiescent()

    async def _wait_until_quiescent(self) -> None:
        began = self._loop.time()
        newest, since = -1, began
        while self._loop.time() - since < QUIET_SECONDS:
            if self._judge.history.newest != newest:
                newest, since = self._judge.history.newest, self._loop.time()
            if self._loop.time() - began > MAX_REST_SECONDS:
                raise Violation(f"after {MAX_REST_SECONDS:.0f} seconds in which nobody did anything, things still change")
            await asyncio.sleep(1.0)

    def _check_final_state(self) -> None:
        store, judge = self._machine.inner, self._judge
        if store is None:
            raise Violation("there is no server at the end")
        judge.compare(store)
        undone = list(quiescence.unfinished_work(judge.world, damaged=judge.history.damaged))
        if "replicaset-controller" in self._faults.rates.controllers:
            undone += quiescence.wrong_replica_counts(judge.history, judge.world)
        if undone:
            raise Violation("at rest, " + "; ".join(undone))
        wrong = quiescence.wrong_index_entries(judge.history, store, judge.tenants.entries)
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
        self._judge.look(self._machine.inner)

    def _log(self, line: str) -> None:
        self._lines.append(f"{self._loop.time():10.4f}  step {self._done:3}  {line}")


def _digest(judge: Judge, loop: VirtualLoop) -> str:
    digest = hashlib.sha256()
    for key, (revision, value) in sorted(judge.history.values.items()):
        digest.update(f"{revision} {key} ".encode() + value)
    digest.update(f"{judge.history.revision} {loop.turns} {loop.time()}".encode())
    return digest.hexdigest()[:16]


@contextmanager
def _without_python_gc() -> Iterator[None]:
    """Disables Python's garbage collector, which would close generators at unpredictable times."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def _fail_on_logged_errors(loop: VirtualLoop, judge: Judge) -> Iterator[None]:
    """Makes every error that Probate logs a failure of the run."""
    handler = _Handler(loop, judge)
    log = logging.getLogger("probate")
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = propagates


class _Handler(logging.Handler):
    def __init__(self, loop: VirtualLoop, judge: Judge) -> None:
        super().__init__(logging.ERROR)
        self._loop = loop
        self._judge = judge

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == damaged_objects.LOG_MESSAGE and self._judge.history.ever_damaged:
            return
        why = record.exc_info[1] if record.exc_info else None
        self._loop.fail(Violation(f"an error was logged: {record.getMessage()} ({why!r})"))
