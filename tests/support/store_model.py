"""The contract in the plainest Python there is: a list of all changes, replayed for every question.

The state machine holds each engine against this, step by step, so it must be right at a glance; it need not be fast.
It does not number its transactions: whoever applies one says which revision it got, so engines that leave gaps between
revisions fit as well as those that do not. Arguments are taken as valid; `checks` is for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from probate.core import errors
from probate.store import contract
from probate.store.contract import Event, Guard, Page, Record, Revision, Txn


class Model:
    """All that ever happened to a store, up to `revision`. What lies before `horizon` may no longer be asked for."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.horizon = contract.NOTHING
        self.changes: list[Event] = []
        self.entries: dict[str, Revision] = {}
        self.notes: list[tuple[float, Revision]] = []

    def failed_guards(self, txn: Txn) -> tuple[Guard, ...]:
        """Those that do not hold now."""
        return tuple(guard for guard in txn.all_guards() if not self._holds(guard))

    def apply(self, txn: Txn, revision: Revision) -> None:
        """The transaction was committed, as this revision."""
        self.changes.append(Event(revision, txn.key, txn.value, self.read(txn.key)))
        self.changes.sort(key=lambda change: change.revision)  # independent ones of a batch may be applied out of order
        for entry in txn.leave:
            self.entries.pop(entry, None)
        for entry in txn.enter:
            self.entries[entry] = revision
        self.revision = max(self.revision, revision)

    def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        return self._everything(at).get(key)

    def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        found = [record for key, record in sorted(self._everything(at).items()) if key.startswith(prefix) and key > after]
        return Page(found[:limit], self.revision if at is None else at, len(found) > limit)

    def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        return sum(key.startswith(prefix) and key > after for key in self._everything(at))

    def folders(self, prefix: str) -> list[str]:
        rests = [key.removeprefix(prefix) for key in self._everything(None) if key.startswith(prefix)]
        return sorted({f"{prefix}{rest.split('/')[0]}/" for rest in rests if "/" in rest})

    def events(self, prefix: str, *, after: Revision) -> list[Event]:
        """What a watch of this range hands out, if nothing else happens."""
        self.check_kept(after)
        return [change for change in self.changes if change.key.startswith(prefix) and change.revision > after]

    def compact(self, before: Revision) -> None:
        self.check_reached(before)
        self.horizon = max(self.horizon, before)

    def note_time(self, now: float) -> None:
        self.notes.append((now, self.revision))

    def revision_at(self, time: float) -> Revision | None:
        return max((revision for noted, revision in self.notes if noted <= time), default=None)

    def check_reached(self, revision: Revision) -> None:
        if revision > self.revision:
            raise errors.FutureRevision(f"{revision} has not been reached")

    def check_kept(self, revision: Revision) -> None:
        self.check_reached(revision)
        if revision < self.horizon:
            raise errors.Gone(f"{revision} has been compacted")

    def _holds(self, guard: Guard) -> bool:
        now = self._everything(None)
        match guard:
            case contract.Absent(key=key):
                return key not in now
            case contract.Unchanged(key=key, revision=revision):
                return key in now and now[key].revision == revision
            case contract.EmptyRange(prefix=prefix):
                return not any(key.startswith(prefix) for key in now)

    def _everything(self, at: Revision | None) -> dict[str, Record]:
        """Every key there is (or, of objects, was at `at`) with its record."""
        if at is None:
            return self._objects(self.changes) | {key: Record(key, b"", revision) for key, revision in self.entries.items()}
        self.check_kept(at)
        return self._objects([change for change in self.changes if change.revision <= at])

    @staticmethod
    def _objects(changes: Sequence[Event]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        for change in changes:
            if change.value is None:
                del found[change.key]
            else:
                found[change.key] = Record(change.key, change.value, change.revision)
        return found


def conflict(one: Txn, other: Txn) -> bool:
    """Whether the order of the two matters: one of them writes what the other writes or looks at."""
    return _sees(one, _written(other)) or _sees(other, _written(one))


def _written(txn: Txn) -> set[str]:
    return {txn.key, *txn.enter, *txn.leave}


def _sees(txn: Txn, written: set[str]) -> bool:
    ranges = tuple(guard.prefix for guard in txn.guards if isinstance(guard, contract.EmptyRange))
    looked_at = {guard.key for guard in txn.guards if not isinstance(guard, contract.EmptyRange)}
    return any(key in looked_at or key in _written(txn) or key.startswith(ranges) for key in written)
