"""What controllers and nodes do elsewhere: foreign finalizers come off what is being deleted, pods run and end. Sooner or later."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

from simulation import kinds
from simulation.connection import Lost
from simulation.court import Court
from simulation.hand import MERGE
from simulation.history import Version
from simulation.machine import Machine
from simulation.memory import Known
from simulation.users import HOLD


class Caretaker:
    """Looks around now and then, and cares for what it finds with the probability of its zeal."""

    def __init__(self, machine: Machine, court: Court, *, pause: float, seed: object) -> None:
        self._pause = pause
        self._zeal = 0.3
        self._machine = machine
        self._court = court
        self._dice = random.Random(f"caretaker {seed}")  # noqa: S311
        self._is_calm = False

    def calm_down(self) -> None:
        """From now on nothing begins; what is to end, ends soon."""
        self._pause, self._zeal, self._is_calm = 0.5, 1.0, True

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._dice.expovariate(1 / self._pause))
            for key, found in list(self._court.world.objects.items()):
                kind = kinds.BY_RESOURCE.get(key.split("/")[1])
                if kind is not None and self._dice.random() < self._zeal:
                    with suppress(Lost):
                        await self._care_for(Known(kind, found.metadata.namespace, found.metadata.name, found.metadata.uid), found)

    async def _care_for(self, target: Known, found: Version) -> None:
        finalizers = found.metadata.finalizers
        if found.is_deleting and HOLD in finalizers:
            meta = {"uid": target.uid, "finalizers": [one for one in finalizers if one != HOLD]}
            await self._write("PATCH", target, target.path, body={"metadata": meta}, media=MERGE)
        elif found.is_deleting and target.kind is kinds.POD:
            body = {"gracePeriodSeconds": 0, "preconditions": {"uid": target.uid}}
            await self._write("DELETE", target, target.path, body=body)
        elif target.kind is kinds.POD and not self._is_calm:
            status = {"phase": self._dice.choice(("Running", "Succeeded", "Failed"))}
            body = {"metadata": {"uid": target.uid}, "status": status}
            await self._write("PATCH", target, f"{target.path}/status", body=body, media=MERGE)

    async def _write(self, method: str, target: Known, path: str, **how: Any) -> None:
        answer = await self._machine.ask("caretaker", method, path, **how)
        self._court.acknowledged(answer, target.kind, target.namespace)
