"""A history: what clients did and observed while faults were injected. Operations, watches and the plan; saved as JSON.

Times are seconds of one monotonic clock, that of the process which ran all clients.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Kind = Literal["get", "stale-get", "create", "update", "put", "delete", "list", "decision"]
"""`update`, and `delete` with `expected`, compare and swap by resourceVersion; `put`, and `delete` without it, do not compare.
`decision` is a request of a user whose permission is the key: it reads whether the permission exists."""
Outcome = Literal["ok", "absent", "exists", "conflict", "failed", "unknown"]
"""`failed`: the server said that nothing was changed. `unknown`: a write whose answer was lost."""


class ObjectVersion(msgspec.Struct, frozen=True):
    """An object as observed by a client. Each write has a unique value."""

    value: str
    version: int


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request. `value` is the value written, `found` the value read, `expected` the version that a compare-and-swap names."""

    client: str
    server: int
    kind: Kind
    key: str
    start: float
    end: float | None
    outcome: Outcome = "ok"
    value: str | None = None
    expected: ObjectVersion | None = None
    found: str | None = None
    version: int = 0
    items: dict[str, ObjectVersion] | None = None

    @property
    def is_write(self) -> bool:
        return self.kind in {"create", "update", "put", "delete"}

    def __str__(self) -> str:
        end = "never" if self.end is None else f"{self.end:.4f}"
        details = [f"{name}={getattr(self, name)}" for name in ("value", "expected", "found", "version") if getattr(self, name)]
        return f"[{self.start:.4f} .. {end}] {self.client}@{self.server} {self.kind} {self.key} {self.outcome} {' '.join(details)}"


class Event(msgspec.Struct, frozen=True):
    """One event of a watch, and when it arrived."""

    type: str
    key: str
    value: str
    version: int
    time: float


class WatchLog(msgspec.Struct):
    """The events of one watcher, over all its connections. `reached` is the last version that it had to deliver and did."""

    name: str
    after: int
    reached: int = 0
    connections: int = 0
    events: list[Event] = []
    errors: list[str] = []


class Fault(msgspec.Struct, frozen=True):
    """A fault that starts `at` seconds after the beginning and lasts `seconds`. `target` is the number of a server or a member."""

    kind: str
    at: float
    seconds: float
    target: int
    peer: int = -1


class Plan(msgspec.Struct, frozen=True):
    """Everything decided before a history begins. The seed determines it, and the choices of each client."""

    seed: int
    seconds: float
    keys: int
    clients: int
    faults: list[Fault]
    is_long: bool = False


class History(msgspec.Struct):
    """One run. `rights_bound` and `watch_bound` are the seconds by which decisions and events may be late (None: unbounded)."""

    target: str
    plan: Plan
    rights_bound: float
    watch_bound: float | None = None
    operations: list[Operation] = []
    watches: list[WatchLog] = []

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1))
        return path


def load(path: Path) -> History:
    return msgspec.json.decode(path.read_bytes(), type=History)
