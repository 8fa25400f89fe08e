"""The objects that clients know, and correct and wrong references to them."""

from __future__ import annotations

import random
from collections import deque
from typing import Any, NamedTuple

from simulation import kinds
from simulation.kinds import Kind


class KnownObject(NamedTuple):
    """An object that a client has seen. It may be gone by now."""

    kind: Kind
    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)

    @property
    def key(self) -> str:
        return self.kind.key(self.namespace, self.name)


class KnownObjects:
    """The objects that one client knows. All clients share them; each chooses with its own random numbers."""

    def __init__(self, known: deque[KnownObject], rng: random.Random) -> None:
        self._known = known
        self._rng = rng

    def add(self, made: KnownObject) -> None:
        self._known.append(made)

    def some(self) -> KnownObject | None:
        """Returns a known object, preferring recent ones."""
        if not self._known:
            return None
        at = min(int(self._rng.expovariate(1 / 8)), len(self._known) - 1)
        return self._known[-1 - at]

    def owners(self, namespace: str) -> list[dict[str, Any]]:
        found = []
        for _ in range(self._rng.choice((0, 1, 1, 1, 2, 3))):
            owner = self.some()
            if owner is None:
                continue
            if owner.namespace not in ("", namespace) and self._rng.random() < 0.85:
                owner = next((one for one in reversed(self._known) if one.namespace in ("", namespace)), owner)
            found.append(self.reference(owner, is_blocking=self._rng.choice((True, True, True, False, None))))
        return found

    def reference(self, owner: KnownObject, *, is_blocking: bool | None) -> dict[str, Any]:
        reference = {"apiVersion": owner.kind.api_version, "kind": owner.kind.kind, "name": owner.name, "uid": owner.uid}
        if is_blocking is not None:
            reference["blockOwnerDeletion"] = is_blocking  # type: ignore[assignment]
        lot = self._rng.random()
        if lot < 0.005:
            reference["uid"] = "no/such uid"
        elif lot < 0.02:
            reference["uid"] = f"never-{self._rng.getrandbits(32)}"
        elif lot < 0.03:
            reference["name"] = "nobody"
        elif lot < 0.04:
            reference |= {"apiVersion": "nowhere.example.com/v1", "kind": "Ghost"}
        elif lot < 0.05:
            reference["kind"] = "Secret" if owner.kind is kinds.CONFIG else "ConfigMap"
        return reference
