"""Plays external controllers and kubelets, after random delays.

It removes their finalizers from deleting objects, and runs and terminates pods.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

from simulation import kinds, tenants
from simulation.client import MERGE
from simulation.connection import Lost
from simulation.history import Version
from simulation.judge import Judge
from simulation.known_objects import KnownObject
from simulation.machine import Machine
from simulation.users import HOLD

_REMOVED = frozenset({HOLD, "kubernetes.io/pv-protection"})


class ExternalControllers:
    """Polls all objects, and acts on each with the probability `_probability`."""

    def __init__(self, machine: Machine, judge: Judge, *, pause: float, seed: object) -> None:
        self._pause = pause
        self._probability = 0.3
        self._machine = machine
        self._judge = judge
        self._rng = random.Random(f"caretaker {seed}")  # noqa: S311
        self._is_calm = False

    def calm_down(self) -> None:
        """From now on no pod starts, and everything that is deleting is released soon."""
        self._pause, self._probability, self._is_calm = 0.5, 1.0, True

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._pause))
            for key, found in list(self._judge.world.objects.items()):
                kind = tenants.BY_RESOURCE.get(key.split("/")[1])
                if kind is not None and self._rng.random() < self._probability:
                    with suppress(Lost):
                        await self._act_on(
                            KnownObject(kind, found.metadata.namespace, found.metadata.name, found.metadata.uid), found
                        )

    async def _act_on(self, target: KnownObject, found: Version) -> None:
        finalizers = found.metadata.finalizers
        if found.is_deleting and not _REMOVED.isdisjoint(finalizers):
            meta = {"uid": target.uid, "finalizers": [one for one in finalizers if one not in _REMOVED]}
            await self._write("PATCH", target, target.path, body={"metadata": meta}, media=MERGE)
        elif found.is_deleting and target.kind is kinds.POD:
            body = {"gracePeriodSeconds": 0, "preconditions": {"uid": target.uid}}
            await self._write("DELETE", target, target.path, body=body)
        elif target.kind is kinds.POD and not self._is_calm:
            status = {"phase": self._rng.choice(("Running", "Succeeded", "Failed"))}
            body = {"metadata": {"uid": target.uid}, "status": status}
            await self._write("PATCH", target, f"{target.path}/status", body=body, media=MERGE)

    async def _write(self, method: str, target: KnownObject, path: str, **how: Any) -> None:
        answer = await self._machine.ask("caretaker", method, path, **how)
        self._judge.acknowledged(answer, target.kind, target.namespace)
