"""Random transactions for the state machine: drawn as plans, and made concrete against the model when they are used.

A plan says "update x, with the correct revision" instead of "update x at revision 17", so hypothesis can shrink a failing run and
the rest of the run remains meaningful. The alphabet is tiny: the same keys appear again and again as objects, in ranges and in
guards.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from probate.store import contract
from probate.store.contract import NO_REVISION, Absent, EmptyRange, Guard, Revision, Txn, Unchanged
from support import store_model

OBJECTS = [
    "objects/a/x",
    "objects/a/y",
    "objects/a/x/deep",
    "objects/a-b/x",
    "objects/ab/x",
    "objects/u/\ufffd",
    "objects/u/\U0001f600",
    "objects/a/111111-w/x",
    "objects/a/-/111111-v",
    "objects/a/1111110-w/x",
]
BULK_KEYS = [f"objects/many/{number}" for number in range(10)]
ENTRIES = ["owned/u/1", "owned/u/2", "owned/u-v/1", "owned/v/1", "closed/s"]
OBJECT_RANGES = ["objects/", "objects/a/", "objects/a/x/", "objects/ab/", "objects/u/", "objects/a/111111-", "objects/a/-/111111-"]
ENTRY_RANGES = ["owned/", "owned/u/", "owned/v/", "closed/"]

objects = st.sampled_from(OBJECTS)
entries = st.sampled_from(ENTRIES)
any_key = st.sampled_from(OBJECTS + ENTRIES)
object_ranges = st.sampled_from(OBJECT_RANGES)
any_range = st.sampled_from(OBJECT_RANGES + ENTRY_RANGES)
changes = st.sampled_from([b"", b"1", b"22", b"\x00\xff" * 40, None, None])
"""A value to write, or None: delete the object."""
revision_numbers = st.integers(0, 1000)
"""Stands for one of the revisions so far, or the next one: see `pick_revision`."""


class GuardPlan(NamedTuple):
    """A guard to build. The kind `holding` produces one that holds; the other kinds may or may not hold."""

    kind: str
    key: str
    prefix: str
    age: int  # of the revision to name, in revisions

    def concrete(self, model: store_model.Model) -> Guard:
        record = model.read(self.key)
        match self.kind:
            case "holding":
                return Absent(self.key) if record is None else Unchanged(self.key, record.revision)
            case "absent":
                return Absent(self.key)
            case "unchanged":
                return Unchanged(self.key, Revision(max(0, model.revision - self.age)))
        return EmptyRange(self.prefix)


class TxnPlan(NamedTuple):
    """What to do with one object, and whether to expect its actual revision or another one."""

    key: str
    value: bytes | None
    expects_actual: bool
    age: int  # of the revision to expect otherwise, in revisions
    add_entries: list[str]
    remove_entries: list[str]
    guards: list[GuardPlan]

    def concrete(self, model: store_model.Model) -> Txn:
        expected = self._expected_revision(model)
        deletes = self.value is None and expected != NO_REVISION
        remove = tuple(entry for entry in self.remove_entries if deletes or entry not in self.add_entries)
        add = () if deletes else tuple(self.add_entries)
        guards = tuple(guard.concrete(model) for guard in self.guards)
        return Txn(self.key, None if deletes else self.value or b"", expected, add, remove, guards)

    def _expected_revision(self, model: store_model.Model) -> Revision:
        record = model.read(self.key)
        actual = NO_REVISION if record is None else record.revision
        return actual if self.expects_actual else Revision(max(0, model.revision - self.age))


guard_plans = st.builds(
    GuardPlan,
    kind=st.sampled_from(["holding"] * 6 + ["absent", "unchanged", "empty"]),
    key=any_key,
    prefix=any_range,
    age=st.integers(-1, 5),
)
txn_plans = st.builds(
    TxnPlan,
    key=objects,
    value=changes,
    expects_actual=st.sampled_from([True] * 5 + [False]),
    age=st.integers(-1, 5),
    add_entries=st.lists(entries, max_size=2, unique=True),
    remove_entries=st.lists(entries, max_size=2, unique=True),
    guards=st.lists(guard_plans, max_size=3),
)


def unconditional(model: store_model.Model, key: str, value: bytes | None) -> Txn:
    """Returns the transaction that writes or deletes the object in its current state."""
    record = model.read(key)
    if record is None:
        return contract.create(key, value or b"", add_entries=ENTRIES[:1])
    if value is None:
        return contract.delete(key, revision=record.revision, remove_entries=ENTRIES[:1])
    return contract.update(key, value, revision=record.revision)


def pick_revision(number: int, *, first: Revision, last: Revision) -> Revision:
    """Returns one of the revisions from `first` to one above `last`; the newest for 0."""
    span = last + 2 - first
    return Revision(last - number % span if number % span <= last - first else last + 1)
