"""Transactions as etcd's messages, and etcd's answers as outcomes. Pure: nothing here talks to anybody.

The guards become etcd's compares. Should they not all hold, etcd reads in the same step what each of them is about, so the
answer tells exactly which ones failed:

    update(key, b"2", revision=5, guards=[EmptyRange("owned/u1@a/")])

    compare     MOD(key) == 5     VERSION(owned/u1@a/ ..) == 0     MOD(slot) == 17
    success     put key           put slot
    failure     read key          read the first of owned/u1@a/    read slot

A range compare holds if all keys of the range satisfy it, and etcd treats an empty range like one key of version 0; a key
that exists has version 1 or more. So `VERSION == 0` over a range means that it is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate.store import checksums, keys
from probate.store.contract import Absent, EmptyRange, Guard, Limits, Refused, Txn, Unchanged
from probate.store.etcd.layout import Layout, Span
from probate.store.etcd.rpc import failures
from probate.store.etcd.rpc import rpc_pb2 as rpc

LIMITS = Limits(key_bytes=keys.MAX_BYTES, value_bytes=1_376_256, entries=120, guards=100, page=10_000)
"""etcd takes 128 compares and 128 operations a branch; ours need two besides the guards, and two besides the entries."""

MAX_REQUEST_BYTES = 1_572_864 - 1_024
"""etcd's limit for a request, less what it adds itself before it measures."""

OPERATIONS = 128
"""etcd's limit for the operations of one request."""

_NEVER = -1
"""A mod revision that no key has, there or not."""


class Marker(NamedTuple):
    """What a write slot holds."""

    revision: int
    value: bytes


def transaction(txn: Txn, layout: Layout, *, slot: bytes, known: int, mark: bytes) -> rpc.TxnRequest:
    """The message that commits `txn` if the slot is as it is known, and leaves `mark` in it."""
    guards = txn.all_guards()
    request = rpc.TxnRequest(
        compare=[*(_compare(guard, layout) for guard in guards), unchanged(slot, known)],
        success=[*_changes(txn, layout), put(slot, mark)],
        failure=[*(_evidence(guard, layout) for guard in guards), read(slot)],
    )
    size = request.ByteSize()
    if size > MAX_REQUEST_BYTES:
        raise failures.too_large(f"it has {size:,} bytes with its keys and guards, of at most {MAX_REQUEST_BYTES:,}")
    return request


def refusal(txn: Txn, answer: rpc.TxnResponse) -> Refused | None:
    """The guards that did not hold; None if all did, so that the slot alone was the reason."""
    pairs = zip(txn.all_guards(), answer.responses, strict=False)  # the last response is the slot's
    failed = tuple(guard for guard, found in pairs if not _holds(guard, found.response_range.kvs))
    return Refused(failed) if failed else None


def marker(answer: rpc.TxnResponse) -> Marker | None:
    """What the slot held, which is what a failed compare reads last; None if there is no such slot any more."""
    return marker_in(answer.responses[-1].response_range.kvs)


def marker_in(found: Sequence[rpc.KeyValue]) -> Marker | None:
    """What a slot held, out of what was found of it."""
    return Marker(found[0].mod_revision, found[0].value) if found else None


def unchanged(key: bytes, revision: int) -> rpc.Compare:
    """The key was last written at this revision."""
    return rpc.Compare(target=rpc.Compare.MOD, key=key, mod_revision=revision)


def put(key: bytes, value: bytes = b"") -> rpc.RequestOp:
    """Write a key."""
    return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))


def delete(key: bytes) -> rpc.RequestOp:
    """Delete a key, if it is there."""
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))


def delete_all(span: Span) -> rpc.RequestOp:
    """Delete all keys of a range."""
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=span.key, range_end=span.range_end))


def read(key: bytes, *, revision: int = 0) -> rpc.RequestOp:
    """Read one key; at a revision, if one is given."""
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=key, revision=revision))


def _compare(guard: Guard, layout: Layout) -> rpc.Compare:
    match guard:
        case Unchanged(key, revision):
            return unchanged(layout.key(key), revision if revision > 0 else _NEVER)
        case Absent(key):
            return rpc.Compare(target=rpc.Compare.VERSION, key=layout.key(key), version=0)
        case EmptyRange(prefix):
            return rpc.Compare(target=rpc.Compare.VERSION, version=0, **layout.span(prefix)._asdict())


def _evidence(guard: Guard, layout: Layout) -> rpc.RequestOp:
    if isinstance(guard, EmptyRange):
        span = layout.span(guard.prefix)
        return rpc.RequestOp(request_range=rpc.RangeRequest(key=span.key, range_end=span.range_end, limit=1, keys_only=True))
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=layout.key(guard.key), keys_only=True))


def _holds(guard: Guard, found: Sequence[rpc.KeyValue]) -> bool:
    if isinstance(guard, Unchanged):
        return bool(found) and found[0].mod_revision == guard.revision
    return not found


def _changes(txn: Txn, layout: Layout) -> list[rpc.RequestOp]:
    key = layout.key(txn.key)
    change = delete(key) if txn.value is None else put(key, checksums.sealed(txn.key, txn.value))
    return [
        change,
        *(put(layout.key(entry)) for entry in txn.enter),
        *(delete(layout.key(entry)) for entry in txn.leave),
    ]
