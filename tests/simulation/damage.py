"""Damages stored objects: flips a bit of a stored value at random. An administrator removes the object, soon or at the end.

A damaged object still exists: objects that depend on it or hold it wait until it is removed, and no other object does. Namespaces
and CRDs are not damaged: removing a damaged one would leave its content without a scope.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from simulation import kinds
from simulation.connection import Lost
from simulation.judge import Judge, Violation
from simulation.known_objects import KnownObject
from simulation.machine import Machine

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
MAX_DAMAGED = 3
"""Objects that are damaged at the same time, at most."""
TRIES = 100
"""How often the administrator tries to remove an object after the last fault."""
_FLIP = "UPDATE log SET value = ? WHERE rev = ?"
_KINDS = {kind.resource: kind for kind in kinds.MADE if kind is not kinds.NAMESPACE}


class Damager:
    """Damages objects of one machine, and removes them as an administrator."""

    def __init__(self, machine: Machine, judge: Judge, *, seed: object, log: Callable[[str], None]) -> None:
        self._machine = machine
        self._judge = judge
        self._log = log
        self._rng = random.Random(f"damage {seed}")  # noqa: S311
        self._lasting: set[str] = set()  # keys of objects that are removed only at the end

    async def run(self, goes_on: Callable[[], bool], *, pause: float, probability: float) -> None:
        """Damages objects and removes them while `goes_on`."""
        while goes_on():
            await asyncio.sleep(self._rng.expovariate(1 / pause))
            if self._rng.random() < probability:
                self._damage_some()
            for key in [key for key in self._judge.history.damaged if key not in self._lasting]:
                if self._rng.random() < 0.2:
                    with suppress(Lost):
                        await self._remove(key)

    async def remove_all(self) -> None:
        """Removes all damaged objects. There are no more faults, so each removal must succeed."""
        for key in list(self._judge.history.damaged):
            for _ in range(TRIES):
                if key not in self._judge.history.damaged:
                    break
                with suppress(Lost):
                    await self._remove(key)
                await asyncio.sleep(0.1)
            else:
                raise Violation(f"{key} is damaged and cannot be removed")

    def _damage_some(self) -> None:
        history, store = self._judge.history, self._machine.inner
        keys = self._candidates()
        if store is None or not keys or len(history.damaged) >= MAX_DAMAGED:
            return
        key = self._rng.choice(keys)
        revision, value = history.values[key]
        changed = bytearray(value)
        changed[self._rng.randrange(len(changed))] ^= 1 << self._rng.randrange(8)
        store.database.writer.execute(_FLIP, (bytes(changed), revision))
        history.note_damage(key, bytes(changed))
        self._lasting.discard(key)
        if self._rng.random() < 0.4:
            self._lasting.add(key)
        self._log(f"{key} at revision {revision} is damaged")

    def _candidates(self) -> list[str]:
        """Returns the keys that can be damaged, preferring objects that own or are owned."""
        world, history = self._judge.world, self._judge.history
        keys = [
            key for key in world.objects if key.split("/")[1] in _KINDS and key in history.values and key not in history.damaged
        ]
        owners = [key for key in keys if any(True for _ in world.dependents(world.objects[key]))]
        owned = [key for key in keys if world.objects[key].metadata.owner_references]
        others = [key for key in keys if world.objects[key].metadata.namespace]
        return next((some for some in self._rng.choices((owners, owned, others), (3, 2, 1), k=2) if some), [])

    async def _remove(self, key: str) -> None:
        _, resource, namespace, name = key.split("/")
        target = KnownObject(_KINDS[resource], "" if namespace == "-" else namespace, name, "")
        revision, _ = self._judge.history.values[key]
        if self._rng.random() < 0.5:
            answer = await self._machine.ask("administrator", "DELETE", target.path, query=f"{UNSAFE}=true")
        else:
            answer = await self._machine.ask("administrator", "DELETE", target.path, body={UNSAFE: True})
        self._log(f"administrator: removes {key}: {answer.code} {answer.body.get('message', '')}")
        self._judge.sane(answer)
        later = [change for change in self._judge.history.of[key] if change.revision > revision]
        if answer.code == 200 and all(change.after is not None for change in later):
            raise Violation(f"the removal of {key} at revision {revision} was acknowledged, but it is there")
        if answer.code == 422 and not later:
            raise Violation(f"{key} is damaged, but could not be removed: {answer.body}")
