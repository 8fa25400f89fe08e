"""Damage of stored objects: now and then a bit of a stored value flips. An administrator removes the object, soon or at the end.

Nobody knows any more what the object was. But it is there: whoever depends on it or holds it waits until it is removed, and nobody
else does. Namespaces and definitions are spared: who removes one that is damaged takes it away from what it holds.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

from simulation import kinds
from simulation.connection import Lost
from simulation.court import Court, Violation
from simulation.machine import Machine
from simulation.memory import Known

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
MOST = 3
"""Objects that are damaged at the same time."""
TRIES = 100
"""How often the administrator tries to remove an object when nothing goes wrong any more."""
_FLIP = "UPDATE log SET value = ? WHERE rev = ?"
_KINDS = {kind.resource: kind for kind in kinds.MADE if kind is not kinds.NAMESPACE}


class Damager:
    """Damages objects of one machine, and is the administrator who removes them."""

    def __init__(self, machine: Machine, court: Court, *, seed: object, tell: Callable[[str], None]) -> None:
        self._machine = machine
        self._court = court
        self._tell = tell
        self._dice = random.Random(f"damage {seed}")  # noqa: S311
        self._lasting: set[str] = set()  # keys of objects that nobody removes before the end

    async def run(self, goes_on: Callable[[], bool], *, pause: float, probability: float) -> None:
        """Damage objects and remove them, until it does not go on."""
        while goes_on():
            await asyncio.sleep(self._dice.expovariate(1 / pause))
            if self._dice.random() < probability:
                self._damage_some()
            for key in [key for key in self._court.history.damaged if key not in self._lasting]:
                if self._dice.random() < 0.2:
                    with suppress(Lost):
                        await self._remove(key)

    async def remove_all(self) -> None:
        """Remove what is still damaged. Nothing goes wrong any more, so each can be removed."""
        for key in list(self._court.history.damaged):
            for _ in range(TRIES):
                if key not in self._court.history.damaged:
                    break
                with suppress(Lost):
                    await self._remove(key)
                await asyncio.sleep(0.1)
            else:
                raise Violation(f"{key} is damaged and cannot be removed")

    def _damage_some(self) -> None:
        history, store = self._court.history, self._machine.inner
        keys = self._candidates()
        if store is None or not keys or len(history.damaged) >= MOST:
            return
        key = self._dice.choice(keys)
        revision, value = history.values[key]
        changed = bytearray(value)
        changed[self._dice.randrange(len(changed))] ^= 1 << self._dice.randrange(8)
        store.database.writer.execute(_FLIP, (bytes(changed), revision))
        history.note_damage(key, bytes(changed))
        self._lasting.discard(key)
        if self._dice.random() < 0.4:
            self._lasting.add(key)
        self._tell(f"{key} at revision {revision} is damaged")

    def _candidates(self) -> list[str]:
        """What can be damaged: rather an object that owns something or is owned."""
        world, history = self._court.world, self._court.history
        keys = [
            key for key in world.objects if key.split("/")[1] in _KINDS and key in history.values and key not in history.damaged
        ]
        owners = [key for key in keys if any(True for _ in world.dependents(world.objects[key]))]
        owned = [key for key in keys if world.objects[key].metadata.owner_references]
        others = [key for key in keys if world.objects[key].metadata.namespace]
        return next((some for some in self._dice.choices((owners, owned, others), (3, 2, 1), k=2) if some), [])

    async def _remove(self, key: str) -> None:
        _, resource, namespace, name = key.split("/")
        target = Known(_KINDS[resource], "" if namespace == "-" else namespace, name, "")
        revision, _ = self._court.history.values[key]
        if self._dice.random() < 0.5:
            answer = await self._machine.ask("administrator", "DELETE", target.path, query=f"{UNSAFE}=true")
        else:
            answer = await self._machine.ask("administrator", "DELETE", target.path, body={UNSAFE: True})
        self._tell(f"administrator: removes {key}: {answer.code}")
        self._court.sane(answer)
        later = [change for change in self._court.history.of[key] if change.revision > revision]
        if answer.code == 200 and all(change.after is not None for change in later):
            raise Violation(f"the removal of {key} at revision {revision} was acknowledged, but it is there")
        if answer.code == 422 and not later:
            raise Violation(f"{key} is damaged, but could not be removed: {answer.body}")
