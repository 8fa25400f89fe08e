"""Translates transactions into etcd's messages, and etcd's answers into results. Pure: sends nothing.

Guards become etcd compares. If any compare fails, etcd reads in the same step the keys that the guards refer to, so the answer
shows exactly which guards failed:

    update(key, b"2", revision=5, guards=[EmptyRange("owned/u1/a/")])

    compare     MOD(key) == 5     VERSION(owned/u1/a/ ..) == 0     MOD(slot) == 17
    success     put key           put slot
    failure     read key          read the first of owned/u1/a/    read slot

A range compare holds if all keys of the range satisfy it, and etcd treats an empty range like one key of version 0; an existing key
has version 1 or more. So `VERSION == 0` over a range means that the range is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate.store import checksums, keys
from probate.store.contract import Absent, EmptyRange, FailedGuards, Guard, Limits, Txn, Unchanged
from probate.store.etcd.layout import KeyRange, Layout
from probate.store.etcd.rpc import rpc_failures
from probate.store.etcd.rpc import rpc_pb2 as rpc

LIMITS = Limits(key_bytes=keys.MAX_BYTES, value_bytes=1_376_256, entries=120, guards=100, page_size=10_000)
"""etcd accepts 128 compares and 128 operations per branch; the engine needs two in addition to the guards and to the entries."""

MAX_REQUEST_BYTES = 1_572_864 - 1_024
"""etcd's limit for a request, minus what etcd adds before it measures."""

OPERATIONS = 128
"""etcd's limit for the operations of one request."""

_NEVER = -1
"""A mod revision that no key has, whether it exists or not."""


class SlotContent(NamedTuple):
    """The revision and value of a write slot."""

    revision: int
    value: bytes


def transaction_request(txn: Txn, layout: Layout, *, slot: bytes, slot_revision: int, mark: bytes) -> rpc.TxnRequest:
    """Returns the message that commits `txn` if the slot is still at `slot_revision`, and writes `mark` into the slot."""
    guards = txn.all_guards()
    request = rpc.TxnRequest(
        compare=[*(_compare(guard, layout) for guard in guards), compare_revision(slot, slot_revision)],
        success=[*_changes(txn, layout), put(slot, mark)],
        failure=[*(_evidence(guard, layout) for guard in guards), read(slot)],
    )
    size = request.ByteSize()
    if size > MAX_REQUEST_BYTES:
        raise rpc_failures.too_large(f"it has {size:,} bytes with its keys and guards, of at most {MAX_REQUEST_BYTES:,}")
    return request


def failed_guards(txn: Txn, answer: rpc.TxnResponse) -> FailedGuards | None:
    """Returns the guards that failed; None if all held, so that the compare of the slot failed."""
    pairs = zip(txn.all_guards(), answer.responses, strict=False)  # the last response is the slot's
    failed = tuple(guard for guard, response in pairs if not _holds(guard, response.response_range.kvs))
    return FailedGuards(failed) if failed else None


def slot_content(answer: rpc.TxnResponse) -> SlotContent | None:
    """Returns the content of the slot, which a failed transaction reads last; None if the slot does not exist any more."""
    return slot_content_of(answer.responses[-1].response_range.kvs)


def slot_content_of(kvs: Sequence[rpc.KeyValue]) -> SlotContent | None:
    """Returns the content of a slot from the result of reading its key; None if the slot does not exist."""
    return SlotContent(kvs[0].mod_revision, kvs[0].value) if kvs else None


def compare_revision(key: bytes, revision: int) -> rpc.Compare:
    """Returns the compare that holds if the key was last written at this revision."""
    return rpc.Compare(target=rpc.Compare.MOD, key=key, mod_revision=revision)


def put(key: bytes, value: bytes = b"") -> rpc.RequestOp:
    """Returns the operation that writes a key."""
    return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=value))


def delete(key: bytes) -> rpc.RequestOp:
    """Returns the operation that deletes a key, if it exists."""
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))


def delete_range(range_: KeyRange) -> rpc.RequestOp:
    """Returns the operation that deletes all keys of a range."""
    return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=range_.key, range_end=range_.range_end))


def read(key: bytes, *, revision: int = 0) -> rpc.RequestOp:
    """Returns the operation that reads a key: now, or at `revision`."""
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=key, revision=revision))


def _compare(guard: Guard, layout: Layout) -> rpc.Compare:
    match guard:
        case Unchanged(key, revision):
            return compare_revision(layout.etcd_key(key), revision if revision > 0 else _NEVER)
        case Absent(key):
            return rpc.Compare(target=rpc.Compare.VERSION, key=layout.etcd_key(key), version=0)
        case EmptyRange(prefix):
            return rpc.Compare(target=rpc.Compare.VERSION, version=0, **layout.key_range(prefix)._asdict())


def _evidence(guard: Guard, layout: Layout) -> rpc.RequestOp:
    """Returns the read whose result shows whether the guard held."""
    if isinstance(guard, EmptyRange):
        range_ = layout.key_range(guard.prefix)
        return rpc.RequestOp(request_range=rpc.RangeRequest(key=range_.key, range_end=range_.range_end, limit=1, keys_only=True))
    return rpc.RequestOp(request_range=rpc.RangeRequest(key=layout.etcd_key(guard.key), keys_only=True))


def _holds(guard: Guard, kvs: Sequence[rpc.KeyValue]) -> bool:
    if isinstance(guard, Unchanged):
        return bool(kvs) and kvs[0].mod_revision == guard.revision
    return not kvs


def _changes(txn: Txn, layout: Layout) -> list[rpc.RequestOp]:
    key = layout.etcd_key(txn.key)
    change = delete(key) if txn.value is None else put(key, checksums.append_checksum(txn.key, txn.value))
    return [
        change,
        *(put(layout.etcd_key(entry)) for entry in txn.add_entries),
        *(delete(layout.etcd_key(entry)) for entry in txn.remove_entries),
    ]
