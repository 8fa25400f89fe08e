"""The seam between Probate and its engines: one ordered key space with revisions. Read this and you know the store.

**Two families of keys.** Keys under `objects/` are *objects*: they have a value, a revision and a history, and they are
watched. All other keys are *index entries*: they have no value and no history and nobody watches them. An entry carries
the revision of the transaction that entered it (entering it again renews that). `keys` has the layout and its rules.

**One object per transaction.** A `Txn` creates, updates or deletes exactly one object, together with any number of index
entries, if all its guards hold. It always says what it expects of its own object (absent, or unchanged since a revision),
so nothing is ever overwritten blindly and entries never drift from the objects they were made of.

**Revisions.** Each committed transaction gets a revision of its own: a number greater than that of every transaction
committed before it. An empty store is at revision 1 (on etcd, which counts its own writes too, somewhere above).
Revisions never fall or come again, also over a crash. Whoever has
seen revision R of this store and reads again sees R or later.

**Damage.** A value that is not what was written (a checksum tells) is never handed out, and its object is never taken for
absent: `read` raises `DamagedObject`, `read_many` and `scan` name it, `count`, `filled` and guards count it, and a change of it
that a watch cannot show ends the watches of its range with `Gone`. `damage` has all that was found so far. Whoever knows its
revision can replace or delete it like any other.

**Durability.** When `commit` returns a revision, the transaction is on disk (SQLite: synced; etcd: agreed on by a
majority). What was not acknowledged is there whole or not at all.

An example, from an empty store (revision 1):

    commit(create("objects/pods/a/x", b"1", enter=["owned/u1@a/objects/pods/a/x"]))     -> 2
    commit(create("objects/pods/a/x", b"1"))                                            -> Refused(Absent("objects/pods/a/x"))
    commit(update("objects/pods/a/x", b"2", revision=2))                                -> 3
    commit(delete("objects/apps/a/owner", revision=9, guards=[EmptyRange("owned/u1@a/")]))
                                                    -> Refused(EmptyRange(...) and Unchanged(...)): both are named
    watch("objects/pods/", after=2)                 hands out: 3, "objects/pods/a/x", b"2", previous 2: b"1"
    scan("objects/", limit=10, at=2)                shows x as b"1"
    scan("owned/u1@a/", limit=10)                   shows the entry, with revision 2
    compact(before=3), then scan(..., at=2)         raises Gone; at=3 still works

Engines are built by `assembly` and used by the server alone. All methods belong to the event loop the store was opened in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

import msgspec

from probate.core import errors

if TYPE_CHECKING:
    from probate.store.damage import Damage

Revision = NewType("Revision", int)

NOTHING = Revision(0)
"""The revision of a key that is not there."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """A key as it was at some moment. `revision` is that of the transaction that wrote it. An index entry's value is empty."""

    key: str
    value: bytes
    revision: Revision


class Damaged(msgspec.Struct, frozen=True, gc=False):
    """An object that is there, but whose value is not what was written: `problem` says how that shows. It is never absent."""

    key: str
    revision: Revision
    problem: str


Found: TypeAlias = Record | Damaged | None
"""What a look at one key can find."""


class Page(msgspec.Struct, frozen=True, gc=False):
    """Part of a range, in key order, as it was at `revision`. `more` says whether the range goes on after `last`.

    Objects whose values are damaged are not among the records.
    """

    records: list[Record]
    revision: Revision
    more: bool
    damaged: tuple[Damaged, ...] = ()

    @property
    def keys(self) -> list[str]:
        """All keys of the page, those of damaged objects too."""
        keys = [record.key for record in self.records]
        return sorted([*keys, *(one.key for one in self.damaged)]) if self.damaged else keys

    @property
    def last(self) -> str:
        """The last key of the page, damaged or not: the next page follows it. Only for a page that has any."""
        if not self.damaged:
            return self.records[-1].key
        return max(self.damaged[-1].key, self.records[-1].key if self.records else "")


class Event(msgspec.Struct, frozen=True, gc=False):
    """One committed change of one object. `value` is None if it was deleted; `previous` is None if it was created."""

    revision: Revision
    key: str
    value: bytes | None
    previous: Record | None


class Batch(list[Event]):
    """Events that are handed out together, in the order of their revisions.

    One batch is handed to all who watch the same range, so never change it or its events. `made` is theirs: what one of them makes
    of the whole batch, the others find there.
    """

    __slots__ = ("_size", "made")

    def __init__(self, events: Iterable[Event] = ()) -> None:
        super().__init__(events)
        self.made: dict[Hashable, Any] = {}
        self._size: int | None = None

    @property
    def size(self) -> int:
        """How many bytes the events keep in memory, but for what all events cost."""
        if self._size is None:
            self._size = sum([len(one.value or b"") + (0 if one.previous is None else len(one.previous.value)) for one in self])
        return self._size


class Calm(msgspec.Struct, frozen=True, gc=False):
    """Nothing in a range has changed after revision `since`, up to `now`, at which the store is: so both show the same."""

    since: Revision
    now: Revision


class Unchanged(msgspec.Struct, frozen=True, gc=False):
    """Guard: `key` is there, and its revision is still this one."""

    key: str
    revision: Revision


class Absent(msgspec.Struct, frozen=True, gc=False):
    """Guard: `key` is not there."""

    key: str


class EmptyRange(msgspec.Struct, frozen=True, gc=False):
    """Guard: no key begins with `prefix`."""

    prefix: str


Guard: TypeAlias = Unchanged | Absent | EmptyRange


class Txn(msgspec.Struct, frozen=True, gc=False):
    """A change of one object with its index entries, under guards. Made by `create`, `update` and `delete` below."""

    key: str
    value: bytes | None  # None deletes
    expects: Revision  # the object's revision now; NOTHING: it must be absent
    enter: tuple[str, ...] = ()  # index entries to add (those already there get the new revision)
    leave: tuple[str, ...] = ()  # index entries to remove (those not there are no error)
    guards: tuple[Guard, ...] = ()  # beyond what is expected of the object itself

    def own_guard(self) -> Guard:
        """What the transaction expects of its own object, as a guard."""
        return Absent(self.key) if self.expects == NOTHING else Unchanged(self.key, self.expects)

    def all_guards(self) -> tuple[Guard, ...]:
        """Everything that must hold, the object's own guard first."""
        return (self.own_guard(), *self.guards)


def create(key: str, value: bytes, *, enter: Iterable[str] = (), guards: Iterable[Guard] = ()) -> Txn:
    """A transaction that adds an object, if there is none of this key."""
    return Txn(key, value, NOTHING, tuple(enter), (), tuple(guards))


def update(
    key: str,
    value: bytes,
    *,
    revision: Revision,
    enter: Iterable[str] = (),
    leave: Iterable[str] = (),
    guards: Iterable[Guard] = (),
) -> Txn:
    """A transaction that replaces an object's value, if nobody has changed it since `revision`."""
    if revision < 1:
        raise errors.BadRequest(f"the update of {key!r} must name the revision it replaces, not {revision}")
    return Txn(key, value, revision, tuple(enter), tuple(leave), tuple(guards))


def delete(key: str, *, revision: Revision, leave: Iterable[str] = (), guards: Iterable[Guard] = ()) -> Txn:
    """A transaction that removes an object, if nobody has changed it since `revision`."""
    return Txn(key, None, revision, (), tuple(leave), tuple(guards))


class Refused(msgspec.Struct, frozen=True, gc=False):
    """Nothing was changed, because these guards did not hold: all of them, in the transaction's order."""

    failed: tuple[Guard, ...]


Outcome: TypeAlias = Revision | Refused


class Limits(msgspec.Struct, frozen=True, gc=False):
    """What an engine accepts. Beyond it a call raises `TooLarge` (or `BadKey`) and changes nothing."""

    key_bytes: int  # of a key or prefix, in UTF-8
    value_bytes: int  # of one object
    entries: int  # entered and left by one transaction, together
    guards: int  # of one transaction, besides the object's own
    page: int  # records of one scan


Sink: TypeAlias = Callable[[Batch], bool]


class Watch(Protocol):
    """The changes of a range, in the order of their revisions, each once. Iterate it inside its `async with`."""

    @property
    def revision(self) -> Revision:
        """Every change of the range up to here has been handed out. Grows also while nothing in the range changes."""
        ...

    def __aiter__(self) -> AsyncIterator[Batch]:
        """Batches of one or more events; an empty one only if there was a `nudge`."""
        ...

    def nudge(self) -> None:
        """Let the one who iterates go on now, with an empty batch if there is nothing new."""
        ...

    def hand_to(self, sink: Sink) -> None:
        """From now on, offer batches to `sink` first, while the one who iterates waits for the next.

        It is called where changes are made known, so it must be quick. It returns whether it has taken the batch; one that it does
        not take, or trips over, comes by iteration. So each batch is handed out once and in order all the same.
        """
        ...


class Store(Protocol):
    """An open store.

    Every method may raise `StoreUnavailable` (it does not answer; nothing was changed), `StoreDamaged`, and for bad
    arguments `BadKey`, `TooLarge` or `BadRequest`. After `close` all methods raise `StoreUnavailable`.
    """

    @property
    def limits(self) -> Limits: ...

    @property
    def damage(self) -> Damage:
        """The damaged objects that were found so far."""
        ...

    async def revision(self) -> Revision:
        """The revision of the newest transaction: at least that of every transaction acknowledged before this call."""
        ...

    def calm(self, prefix: str) -> Calm | None:
        """Since when the objects under `prefix` are as they are now, with the promises of `revision`. Costs next to nothing.

        They may be so for longer than is known. None if the engine would have to ask somebody.
        """
        ...

    def confirmed(self) -> Revision | None:
        """A revision which had every change that was acknowledged a few seconds ago, and earlier; None if none is known.

        A watch that has reached it is current, up to these seconds (SQLite: none; etcd: 5). While it is None, what was learned
        by watching may be older than that, and nobody may decide by it. Costs next to nothing.
        """
        ...

    async def read(self, key: str, *, at: Revision | None = None) -> Record | None:
        """The key's record, or None if it is not there; now, or for objects as of revision `at`.

        Sees every transaction acknowledged before the call. Never waits for writers. `DamagedObject` if its value is damaged,
        `Gone` if `at` was compacted, `FutureRevision` if it has not been reached.
        """
        ...

    async def read_many(self, keys: Sequence[str]) -> list[Found]:
        """What `read` says of each key, all at one revision, in the order asked. At most `limits.page` keys.

        One that is damaged is said to be, and keeps nobody from reading the others.
        """
        ...

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        """The first `limit` records whose key begins with `prefix` and follows `after`, in key order, at one revision.

        `at` reads objects as they were then, so the pages of one list fit together: take `at` for the further pages from
        the first one's `revision`. Index entries have no past: `at` with them is a `BadRequest`.
        Same promises and errors as `read`.
        """
        ...

    async def scan_many(self, prefixes: Sequence[str], *, limit: int) -> list[Page]:
        """What `scan` says of each range now, in the order asked; each for itself. At most `limits.page` ranges."""
        ...

    async def filled(self, prefixes: Sequence[str]) -> set[str]:
        """Those of the ranges that hold any key now, each for itself. At most `limits.page` ranges. Cheaper than a scan."""
        ...

    async def count(self, prefix: str, *, after: str = "", at: Revision | None = None) -> int:
        """How many keys begin with `prefix` and follow `after`; now, or for objects as of revision `at`.

        Costs a walk over them, without their values, and for the past one over all changes since, whatever their range.
        Same promises and errors as `scan`.
        """
        ...

    async def folders(self, prefix: str) -> list[str]:
        """The ranges one segment below `prefix` that hold anything now, in order. Costs a look each, however much they hold.

        Not all of one moment on every engine: a range that fills or empties during the call may be missing or not.
        """
        ...

    async def commit(self, txn: Txn) -> Outcome:
        """Evaluate the guards and, if all hold, make the change: in one step that no other transaction can come between.

        A revision means durable. `Refused` means that nothing changed. `StoreFull`, `StoreUnavailable` mean the same, and
        that it will not happen later either. `OutcomeUnknown` means just that; cancelling the call means it too.
        """
        ...

    async def commit_many(self, txns: Sequence[Txn]) -> list[Outcome]:
        """Commit each transaction on its own, in order: one refused does not stop the others. Far faster than one by one.

        A transaction sees what the earlier ones of the list did to the keys it touches or guards. Those that share no keys
        may get their revisions in another order. Other transactions may come in between. If the call raises, those already
        made durable stay, and only reading tells which; the rest did not happen.
        """
        ...

    def watch(self, prefix: str, *, after: Revision) -> AbstractAsyncContextManager[Watch]:
        """Every change of objects under `prefix` with a revision above `after`: first from history, then as they happen.

        Only acknowledged (or soon to be acknowledged, but durable) changes are seen. Nothing is left out or repeated, also
        when the engine has to connect again on the way. Iterating raises `Gone` when history needed was compacted, and
        `TooSlow` when the reader fell behind by more than the watch's buffer: it is cut off, writers never wait for it.
        Both end the watch: list again after `Gone`, watch again after `TooSlow.revision`.
        `FutureRevision` if `after` has not been reached.
        """
        ...

    async def compact(self, before: Revision) -> None:
        """Forget the history before this revision: reads at, and watches after, earlier revisions are `Gone` from now on.

        What is there at `before` or later stays, with all changes since. Room is given back in the background, in small
        steps. Compacting again to the same or an earlier revision does nothing. `FutureRevision` if not reached.
        """
        ...

    async def note_time(self, now: float) -> None:
        """Remember, durably, that the current revision was reached by `now`. Costs one small write."""
        ...

    async def revision_at(self, time: float) -> Revision | None:
        """The newest revision known to have been reached by `time`; None if nothing that old is known."""
        ...

    async def check(self) -> None:
        """Returns if the store can be read now and watches are current (see `confirmed`); else raises what is wrong."""
        ...

    async def close(self) -> None:
        """Finish the writes under way, end all watches, let go of files and connections. Idempotent."""
        ...
