"""Random transactions for the state machine: drawn as plans, made concrete against what the model holds then.

A plan says "update x, rightly" and not "update x at revision 17", so hypothesis can shrink a failing run and the rest of
it still makes sense. The alphabet is tiny: keys meet again and again, as objects, as ranges and as guards.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from probate.store import contract
from probate.store.contract import NOTHING, Absent, EmptyRange, Guard, Revision, Txn, Unchanged
from support import store_model

OBJECTS = [
    "objects/a/x",
    "objects/a/y",
    "objects/a/x/deep",
    "objects/a-b/x",
    "objects/ab/x",
    "objects/u/\ufffd",
    "objects/u/\U0001f600",
]
MANY = [f"objects/many/{number}" for number in range(10)]
ENTRIES = ["owned/u/1", "owned/u/2", "owned/u-v/1", "owned/v/1", "closed/s"]
OBJECT_RANGES = ["objects/", "objects/a/", "objects/a/x/", "objects/ab/", "objects/u/"]
ENTRY_RANGES = ["owned/", "owned/u/", "owned/v/", "closed/"]

objects = st.sampled_from(OBJECTS)
entries = st.sampled_from(ENTRIES)
any_key = st.sampled_from(OBJECTS + ENTRIES)
object_ranges = st.sampled_from(OBJECT_RANGES)
any_range = st.sampled_from(OBJECT_RANGES + ENTRY_RANGES)
changes = st.sampled_from([b"", b"1", b"22", b"\x00\xff" * 40, None, None])
"""A value to write, or None: delete what is there."""
moments = st.integers(0, 1000)
"""Stands for one of the revisions so far, or the next one: see `moment`."""


class GuardPlan(NamedTuple):
    """`holding` is made to hold at the time; the other kinds may or may not."""

    kind: str
    key: str
    prefix: str
    ago: int

    def concrete(self, model: store_model.Model) -> Guard:
        record = model.read(self.key)
        match self.kind:
            case "holding":
                return Absent(self.key) if record is None else Unchanged(self.key, record.revision)
            case "absent":
                return Absent(self.key)
            case "unchanged":
                return Unchanged(self.key, Revision(max(0, model.revision - self.ago)))
        return EmptyRange(self.prefix)


class TxnPlan(NamedTuple):
    """What to do with one object, and whether to expect of it what is true."""

    key: str
    value: bytes | None
    rightly: bool
    wrong: int
    enter: list[str]
    leave: list[str]
    guards: list[GuardPlan]

    def concrete(self, model: store_model.Model) -> Txn:
        expects = self._expects(model)
        deletes = self.value is None and expects != NOTHING
        leave = tuple(entry for entry in self.leave if deletes or entry not in self.enter)
        enter = () if deletes else tuple(self.enter)
        guards = tuple(guard.concrete(model) for guard in self.guards)
        return Txn(self.key, None if deletes else self.value or b"", expects, enter, leave, guards)

    def _expects(self, model: store_model.Model) -> Revision:
        record = model.read(self.key)
        true = NOTHING if record is None else record.revision
        return true if self.rightly else Revision(max(0, model.revision - self.wrong))


guard_plans = st.builds(
    GuardPlan,
    kind=st.sampled_from(["holding"] * 6 + ["absent", "unchanged", "empty"]),
    key=any_key,
    prefix=any_range,
    ago=st.integers(-1, 5),
)
txn_plans = st.builds(
    TxnPlan,
    key=objects,
    value=changes,
    rightly=st.sampled_from([True] * 5 + [False]),
    wrong=st.integers(-1, 5),
    enter=st.lists(entries, max_size=2, unique=True),
    leave=st.lists(entries, max_size=2, unique=True),
    guards=st.lists(guard_plans, max_size=3),
)


def simple(model: store_model.Model, key: str, value: bytes | None) -> Txn:
    """The transaction that writes or deletes, whatever is there."""
    record = model.read(key)
    if record is None:
        return contract.create(key, value or b"", enter=ENTRIES[:1])
    if value is None:
        return contract.delete(key, revision=record.revision, leave=ENTRIES[:1])
    return contract.update(key, value, revision=record.revision)


def moment(number: int, *, first: Revision, last: Revision) -> Revision:
    """One of the revisions from `first` to one above `last`, the newest for 0."""
    span = last + 2 - first
    return Revision(last - number % span if number % span <= last - first else last + 1)
