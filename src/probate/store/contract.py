"""The contract between Probate and its storage engines: one ordered key space with revisions, transactions and watches.

This module is the specification. The tests in `tests/contract` hold every engine (SQLite file, SQLite in memory, etcd) to it.

**Keys.** Keys under `objects/` are *objects*: each has a value, a revision and a history, and can be watched. All other keys
are *index entries*: they have no value and no history and cannot be watched. An index entry carries the revision of the
transaction that last added it; adding an existing entry again updates that revision. `keys` defines the layout of keys.

**Ranges.** A prefix names a range: all keys that begin with it. It ends with a whole segment, in `/`. A range of objects may end
within the segment of the namespace too, or of the name if the namespace is `-`, after an id of six characters and a dash: as in
`objects/pods/111111-` and `objects/nodes/-/111111-`. `keys` has the syntax. Every method that takes a prefix takes both forms.

**Transactions.** A transaction (`Txn`) creates, updates or deletes exactly one object and adds or removes any number of index
entries, if all its guards hold. It always states what it expects of its own object: absent, or unchanged since a revision.
So no write overwrites a version that its author has not seen, and index entries never diverge from the objects they describe.

**Revisions.** Each committed transaction gets its own revision, which is greater than the revision of every transaction
committed before it. An empty store is at revision 1 (on etcd, which also counts the engine's internal writes, at some higher
one). Revisions never decrease and are never reused, not even after a crash. A client that has seen revision R of a store
sees R or later in every subsequent read.

**Durability.** When `commit` returns a revision, the transaction is durable: synced to disk (SQLite) or accepted by a majority
of members (etcd). After a crash, a transaction that was not acknowledged is present as a whole or not at all.

**Damage.** A value whose checksum does not match is never returned, and its object is never treated as absent: `read` raises
`DamagedObject`; `read_many` and `scan` report a `DamagedRecord`; `count`, `nonempty_ranges` and guards count the object; and a
change of it that a watch cannot show ends the watches of its range with `Gone`. `Store.damaged_objects` lists all damaged
objects found so far. A transaction that names the revision of a damaged object can replace or delete it as usual.

Example, starting from an empty store (revision 1):

    commit(create("objects/pods/a/x", b"1", add_entries=["owned/u1/a/objects/pods/a/x"]))     -> 2
    commit(create("objects/pods/a/x", b"1"))                                 -> FailedGuards(Absent("objects/pods/a/x"))
    commit(update("objects/pods/a/x", b"2", revision=2))                     -> 3
    commit(delete("objects/replicasets.apps/a/owner", revision=9, guards=[EmptyRange("owned/u1/a/")]))
                                             -> FailedGuards(Unchanged(...), EmptyRange(...)): every guard that failed
    watch("objects/pods/", after=2)          yields revision 3, key "objects/pods/a/x", value b"2", previous b"1" at 2
    scan("objects/", limit=10, at=2)         returns x with value b"1"
    scan("owned/u1/a/", limit=10)            returns the index entry, with revision 2
    compact(before=3); scan(..., at=2)       raises Gone; at=3 still works

`app.assembly` opens the engine. All methods must be called on the event loop on which the store was opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

import msgspec

from probate.core import errors

if TYPE_CHECKING:
    from probate.store.damaged_objects import DamagedObjects

Revision = NewType("Revision", int)

NO_REVISION = Revision(0)
"""The revision of an absent key."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One version of a key. `revision` is that of the transaction that wrote it. The value of an index entry is empty."""

    key: str
    value: bytes
    revision: Revision


class DamagedRecord(msgspec.Struct, frozen=True, gc=False):
    """An object that exists but whose stored value is not what was written. `problem` says how the damage was detected."""

    key: str
    revision: Revision
    problem: str


ReadResult: TypeAlias = Record | DamagedRecord | None
"""The result of looking up one key. None: the key is absent."""


class Page(msgspec.Struct, frozen=True, gc=False):
    """Part of a range, in key order, as of `revision`. `has_more` says whether the range contains keys after `last_key`.

    Damaged objects are not in `records` but in `damaged_records`.
    """

    records: list[Record]
    revision: Revision
    has_more: bool
    damaged_records: tuple[DamagedRecord, ...] = ()

    @property
    def keys(self) -> list[str]:
        """All keys of the page in order, including those of damaged objects."""
        keys = [record.key for record in self.records]
        return sorted([*keys, *(damaged.key for damaged in self.damaged_records)]) if self.damaged_records else keys

    @property
    def last_key(self) -> str:
        """The last key of the page, damaged or not: the next page starts after it. Must not be read on an empty page."""
        if not self.damaged_records:
            return self.records[-1].key
        return max(self.damaged_records[-1].key, self.records[-1].key if self.records else "")


class Event(msgspec.Struct, frozen=True, gc=False):
    """One committed change of one object. `value` is None for a delete; `previous` is None for a create."""

    revision: Revision
    key: str
    value: bytes | None
    previous: Record | None


class Batch(list[Event]):
    """Events delivered together, in the order of their revisions.

    All watchers of the same range receive the same batch, so they must not change it or its events. They may share work through
    `cache`: what one watcher derives from the whole batch, the others find there.
    """

    __slots__ = ("_value_bytes", "cache")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        super().__init__(events)
        self.cache: dict[Hashable, Any] = {}
        self._value_bytes: int | None = None

    @property
    def value_bytes(self) -> int:
        """The memory that the values of the events occupy, in bytes, without the fixed cost of each event."""
        if self._value_bytes is None:
            sizes = [len(event.value or b"") + (0 if event.previous is None else len(event.previous.value)) for event in self]
            self._value_bytes = sum(sizes)
        return self._value_bytes


class UnchangedSince(msgspec.Struct, frozen=True, gc=False):
    """States that no object of a range changed after revision `since`, up to the store's revision `now`.

    Reads of the range at `since` and at `now` therefore return the same.
    """

    since: Revision
    now: Revision


class Unchanged(msgspec.Struct, frozen=True, gc=False):
    """Guard: `key` exists at exactly this revision."""

    key: str
    revision: Revision


class Absent(msgspec.Struct, frozen=True, gc=False):
    """Guard: `key` does not exist."""

    key: str


class EmptyRange(msgspec.Struct, frozen=True, gc=False):
    """Guard: no key begins with `prefix`."""

    prefix: str


Guard: TypeAlias = Unchanged | Absent | EmptyRange


class Txn(msgspec.Struct, frozen=True, gc=False):
    """A change of one object and its index entries, under guards. Build it with `create`, `update` or `delete`."""

    key: str
    value: bytes | None  # None deletes the object
    expected_revision: Revision  # the current revision of the object; NO_REVISION: it must be absent
    add_entries: tuple[str, ...] = ()  # index entries to add; existing ones get the new revision
    remove_entries: tuple[str, ...] = ()  # index entries to remove; absent ones are ignored
    guards: tuple[Guard, ...] = ()  # in addition to the expectation about the object itself

    def own_guard(self) -> Guard:
        """Returns the expectation about the transaction's own object, as a guard."""
        return Absent(self.key) if self.expected_revision == NO_REVISION else Unchanged(self.key, self.expected_revision)

    def all_guards(self) -> tuple[Guard, ...]:
        """Returns every guard of the transaction, the object's own guard first."""
        return (self.own_guard(), *self.guards)


def create(key: str, value: bytes, *, add_entries: Iterable[str] = (), guards: Iterable[Guard] = ()) -> Txn:
    """Returns a transaction that creates an object, provided the key is absent."""
    return Txn(key, value, NO_REVISION, tuple(add_entries), (), tuple(guards))


def update(
    key: str,
    value: bytes,
    *,
    revision: Revision,
    add_entries: Iterable[str] = (),
    remove_entries: Iterable[str] = (),
    guards: Iterable[Guard] = (),
) -> Txn:
    """Returns a transaction that replaces the value of an object, provided the object is still at `revision`."""
    if revision < 1:
        raise errors.BadRequest(f"the update of {key!r} must name the revision it replaces, not {revision}")
    return Txn(key, value, revision, tuple(add_entries), tuple(remove_entries), tuple(guards))


def delete(key: str, *, revision: Revision, remove_entries: Iterable[str] = (), guards: Iterable[Guard] = ()) -> Txn:
    """Returns a transaction that deletes an object, provided the object is still at `revision`."""
    return Txn(key, None, revision, (), tuple(remove_entries), tuple(guards))


class FailedGuards(msgspec.Struct, frozen=True, gc=False):
    """The result of a transaction that changed nothing: all guards that did not hold, in the transaction's order."""

    guards: tuple[Guard, ...]


CommitResult: TypeAlias = Revision | FailedGuards
"""The revision of the committed transaction, or the guards that prevented it."""


class Limits(msgspec.Struct, frozen=True, gc=False):
    """The largest arguments an engine accepts. A call that exceeds one raises `TooLarge` or `InvalidKey` and changes nothing."""

    key_bytes: int  # of a key or prefix, in UTF-8
    value_bytes: int  # of one object
    entries: int  # added and removed by one transaction, together
    guards: int  # of one transaction, in addition to the object's own guard
    page_size: int  # records of one scan


BatchHandler: TypeAlias = Callable[[Batch], bool]
"""Handles a batch and returns True, or returns False to leave the batch to the iterator of the watch."""


class Watch(Protocol):
    """The changes of a range, in the order of their revisions, each exactly once. Iterate it inside its `async with`."""

    @property
    def revision(self) -> Revision:
        """The revision up to which every change of the range was delivered. It advances even if nothing in the range changes."""
        ...

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Iterates over batches of one or more events. A batch is empty only after a call of `wake`."""
        ...

    def wake(self) -> None:
        """Makes the iterator yield now: an empty batch if there are no new events."""
        ...

    def set_handler(self, handler: BatchHandler) -> None:
        """Offers each batch to `handler` first, whenever the consumer of the iterator is waiting for the next one.

        The hub calls the handler while it publishes, so the handler must be quick. The iterator yields every batch for which the
        handler returns False or raises. Either way each batch is delivered exactly once and in order.
        """
        ...


class Store(Protocol):
    """An open store.

    Every method may raise `StoreUnavailable` (the engine does not answer; nothing was changed), `StoreDamaged`, and for invalid
    arguments `InvalidKey`, `TooLarge` or `BadRequest`. After `close`, all methods raise `StoreUnavailable`.
    """

    @property
    def limits(self) -> Limits: ...

    @property
    def damaged_objects(self) -> DamagedObjects:
        """The damaged objects found so far."""
        ...

    async def revision(self) -> Revision:
        """Returns the newest revision: at least that of every transaction acknowledged before this call."""
        ...

    def unchanged_since(self, prefix: str) -> UnchangedSince | None:
        """Returns since which revision the objects under `prefix` are known to be unchanged. Costs next to nothing.

        `now` keeps the promise of `revision`. The objects may in fact be unchanged for longer. Returns None if the engine cannot
        tell without a request to another process.
        """
        ...

    def confirmed_revision(self) -> Revision | None:
        """Returns a revision that includes every change acknowledged more than a few seconds ago; None if none is known.

        A watch that has reached it is current up to these seconds (SQLite: 0; etcd: 5). While it is None, state learned from
        watches may be older than that and must not be used for decisions. Costs next to nothing.
        """
        ...

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        """Returns the record of a key, or None if it is absent: now, or for objects as of revision `at`.

        Sees every transaction acknowledged before the call. Never waits for writers. Raises `DamagedObject` if the value is
        damaged, `Gone` if `at` was compacted, `FutureRevision` if `at` has not been reached.
        """
        ...

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        """Returns the current records of several keys, all as of one revision, in the given order. At most `limits.page_size` keys.

        A damaged object is returned as a `DamagedRecord` and does not affect the other keys.
        """
        ...

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        """Returns the first `limit` records whose key begins with `prefix` and sorts after `after`, in key order, at one revision.

        `at` reads objects as of that revision. To get consistent pages of one list, pass the `revision` of the first page as `at`
        for the following pages. Index entries have no history: `at` with an index prefix raises `BadRequest`.
        Gives the same guarantees and raises the same errors as `read`.
        """
        ...

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        """Returns a current page of each range, in the given order. At most `limits.page_size` ranges.

        The pages are not necessarily as of the same revision.
        """
        ...

    async def nonempty_ranges(self, prefixes: Sequence[str]) -> set[str]:
        """Returns those prefixes under which at least one key exists now. At most `limits.page_size` ranges.

        The ranges are not necessarily checked at the same revision. Cheaper than scans.
        """
        ...

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        """Returns how many keys begin with `prefix` and sort after `after`: now, or for objects as of revision `at`.

        Visits each of these keys, without its value; for a past revision it also visits every change since, of any range.
        Gives the same guarantees and raises the same errors as `scan`.
        """
        ...

    async def child_prefixes(self, prefix: str) -> list[str]:
        """Returns, in order, the prefixes under which keys exist now that continue `prefix` up to the end of its next segment.

        A partial prefix is continued to the end of the segment that it begins: `objects/pods/111111-` to `objects/pods/111111-a/`.
        Costs one lookup for each of them, however many keys it has. Not atomic on every engine: a range that gets its first key
        or loses its last one during the call may or may not be included.
        """
        ...

    async def commit(self, txn: Txn) -> CommitResult:
        """Evaluates the guards and, if all hold, applies the change, in one atomic step.

        A revision means that the transaction is durable. `FailedGuards` means that nothing changed. `StoreFull` and
        `StoreUnavailable` mean that nothing changed and that the transaction will not be applied later either. `OutcomeUnknown`
        means that the transaction may or may not have been applied; so does cancelling the call.
        """
        ...

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        """Commits each transaction by itself, in order; a failed one does not stop the others. Far faster than single commits.

        A transaction sees the effects of earlier ones of the list on the keys that it touches or guards. Transactions that share
        no keys may get their revisions in another order. Transactions of other callers may be committed in between. If the call
        raises, the transactions already durable stay, and only reading tells which these are; the others were not applied.
        """
        ...

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        """Opens a watch of all changes of objects under `prefix` after revision `after`: first from history, then as they happen.

        Delivers only durable changes. A change may be delivered shortly before its own commit is acknowledged. Nothing is skipped
        or repeated, even if the engine has to reconnect. Raises `FutureRevision` if `after` has not been reached. Iterating raises
        `Gone` when required history was compacted, and `TooSlow` when the consumer fell behind by more than the watch's buffer:
        writers never wait for watchers. Both end the watch: after `Gone`, list again; after `TooSlow`, watch again from
        `TooSlow.revision`.
        """
        ...

    async def compact(self, before: Revision) -> None:
        """Discards history before a revision: reads at, and watches after, earlier revisions raise `Gone` from now on.

        The state at `before` and all changes since are kept. Space is freed in the background, in small steps. Compacting again to
        the same or an earlier revision does nothing. Raises `FutureRevision` if `before` has not been reached.
        """
        ...

    async def record_time(self, now: float) -> None:
        """Records durably that the current revision had been reached by the time `now`. Costs one small write."""
        ...

    async def revision_at(self, time: float) -> Revision | None:
        """Returns the newest revision recorded as reached by `time`; None if nothing that old is recorded."""
        ...

    async def check(self) -> None:
        """Returns if the store can be read and its watches are current (see `confirmed_revision`); otherwise raises the reason."""
        ...

    async def close(self) -> None:
        """Finishes writes in progress, ends all watches and releases files and connections. Idempotent."""
        ...
