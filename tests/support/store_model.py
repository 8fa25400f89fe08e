"""A model of the store contract in the simplest possible Python: a list of all changes, replayed for every question.

The state machine compares each engine with this model step by step, so it must be obviously right; it need not be fast.
It does not assign revisions: the caller of `apply` states which revision the engine gave the transaction, so the model fits engines
that leave gaps between revisions and those that do not. It does not check arguments; `argument_checks` does.
"""

from __future__ import annotations

from collections.abc import Sequence

from probate.core import errors
from probate.store import contract
from probate.store.contract import Event, Guard, Page, Record, Revision, Txn


class Model:
    """Everything that ever happened to a store, up to `revision`. Revisions before `compacted` may no longer be read."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.compacted = contract.NO_REVISION
        self.changes: list[Event] = []
        self.entries: dict[str, Revision] = {}
        self.times: list[tuple[float, Revision]] = []

    def failed_guards(self, txn: Txn) -> tuple[Guard, ...]:
        """Returns the guards of a transaction that do not hold now."""
        return tuple(guard for guard in txn.all_guards() if not self._holds(guard))

    def apply(self, txn: Txn, revision: Revision) -> None:
        """Applies a transaction that was committed at this revision."""
        self.changes.append(Event(revision, txn.key, txn.value, self.read(txn.key)))
        self.changes.sort(key=lambda change: change.revision)  # independent ones of a batch may be applied out of order
        for entry in txn.remove_entries:
            self.entries.pop(entry, None)
        for entry in txn.add_entries:
            self.entries[entry] = revision
        self.revision = max(self.revision, revision)

    def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        return self._state(at).get(key)

    def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        records = [record for key, record in sorted(self._state(at).items()) if key.startswith(prefix) and key > after]
        return Page(records[:limit], self.revision if at is None else at, len(records) > limit)

    def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        return sum(key.startswith(prefix) and key > after for key in self._state(at))

    def child_prefixes(self, prefix: str) -> list[str]:
        rests = [key.removeprefix(prefix) for key in self._state(None) if key.startswith(prefix)]
        return sorted({f"{prefix}{rest.split('/')[0]}/" for rest in rests if "/" in rest})

    def events(self, prefix: str, *, after: Revision) -> list[Event]:
        """Returns what a watch of this range delivers if nothing else happens."""
        self.check_available(after)
        return [change for change in self.changes if change.key.startswith(prefix) and change.revision > after]

    def compact(self, before: Revision) -> None:
        self.check_reached(before)
        self.compacted = max(self.compacted, before)

    def record_time(self, now: float) -> None:
        self.times.append((now, self.revision))

    def revision_at(self, time: float) -> Revision | None:
        return max((revision for recorded, revision in self.times if recorded <= time), default=None)

    def check_reached(self, revision: Revision) -> None:
        if revision > self.revision:
            raise errors.FutureRevision(f"{revision} has not been reached")

    def check_available(self, revision: Revision) -> None:
        self.check_reached(revision)
        if revision < self.compacted:
            raise errors.Gone(f"{revision} has been compacted")

    def _holds(self, guard: Guard) -> bool:
        state = self._state(None)
        match guard:
            case contract.Absent(key=key):
                return key not in state
            case contract.Unchanged(key=key, revision=revision):
                return key in state and state[key].revision == revision
            case contract.EmptyRange(prefix=prefix):
                return not any(key.startswith(prefix) for key in state)

    def _state(self, at: Revision | None) -> dict[str, Record]:
        """Returns the record of every key now, or of every object as of revision `at`."""
        if at is None:
            return self._objects(self.changes) | {key: Record(key, b"", revision) for key, revision in self.entries.items()}
        self.check_available(at)
        return self._objects([change for change in self.changes if change.revision <= at])

    @staticmethod
    def _objects(changes: Sequence[Event]) -> dict[str, Record]:
        objects: dict[str, Record] = {}
        for change in changes:
            if change.value is None:
                del objects[change.key]
            else:
                objects[change.key] = Record(change.key, change.value, change.revision)
        return objects


def conflict(first: Txn, second: Txn) -> bool:
    """Returns whether the order of two transactions matters: one of them writes what the other writes or guards."""
    return _depends_on(first, _written_keys(second)) or _depends_on(second, _written_keys(first))


def _written_keys(txn: Txn) -> set[str]:
    return {txn.key, *txn.add_entries, *txn.remove_entries}


def _depends_on(txn: Txn, written: set[str]) -> bool:
    ranges = tuple(guard.prefix for guard in txn.guards if isinstance(guard, contract.EmptyRange))
    guarded = {guard.key for guard in txn.guards if not isinstance(guard, contract.EmptyRange)}
    return any(key in guarded or key in _written_keys(txn) or key.startswith(ranges) for key in written)
