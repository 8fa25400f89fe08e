"""The layout of a store in etcd. With the root `probate`:

    /probate/keys/objects/pods/default/web-1        an object: its value followed by a checksum (see `checksums`)
    /probate/keys/objects0                          the tick
    /probate/keys/owned/u1/default/objects/...      an index entry: its value is empty
    /probate/.engine/format                         the version of this layout (see `layout_version`)
    /probate/.engine/slots/<process>/<number>       a write slot (see `write_slots`)
    /probate/.engine/times/<microseconds>           a recorded time; the revision before it had been reached then (see `compaction`)

Keys of the store and keys of the engine have different parents, so no call of the store can reach the engine's keys.

**The tick** is the one key that sorts directly after all objects: a store key has at least two segments, so no other key can be
there, and one etcd watch from the first object to the tick sees all changes of objects and nothing else. Every internal write of
the engine also writes the tick. So that watch sees every revision that this store causes, and the watch hub of every server
advances as far as the store does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.store import checksums, damaged_objects, keys
from probate.store.contract import DamagedRecord, Page, Record, Revision
from probate.store.etcd.rpc import rpc_pb2 as rpc


class KeyRange(NamedTuple):
    """The etcd keys from `key` up to, but not including, `range_end`."""

    key: bytes
    range_end: bytes


class Layout:
    """The etcd keys of a store under one root."""

    def __init__(self, root: str) -> None:
        self._keys = f"/{root}/keys/"
        self._skip = len(self._keys)
        self.tick = self.etcd_key(keys.range_end(keys.OBJECTS))
        self.watched = KeyRange(self.etcd_key(keys.OBJECTS), self.tick + b"\x00")
        self.slots = _range_under(f"/{root}/.engine/slots/")
        self.times = _range_under(f"/{root}/.engine/times/")
        self.format = f"/{root}/.engine/format".encode()

    def etcd_key(self, key: str) -> bytes:
        """Returns the etcd key of a store key."""
        return (self._keys + key).encode()

    def store_key(self, etcd_key: bytes) -> str:
        """Returns the store key of an etcd key."""
        return etcd_key.decode()[self._skip :]

    def key_range(self, prefix: str, after: str = "") -> KeyRange:
        """Returns the etcd keys of the store keys that begin with `prefix` and sort after `after`."""
        return KeyRange(self.etcd_key(keys.scan_start(prefix, after)), self.etcd_key(keys.range_end(prefix)))

    def record(self, kv: rpc.KeyValue) -> Record | DamagedRecord:
        """Returns the record of an etcd key. A value without a checksum, from before checksums existed, must be JSON."""
        key, stored, revision = self.store_key(kv.key), kv.value, Revision(kv.mod_revision)
        if not keys.is_object(key):
            return Record(key, stored, revision)
        value = checksums.strip_checksum(key, stored)
        if value is not None:
            return Record(key, value, revision)
        if checksums.has_checksum(stored):
            return DamagedRecord(key, revision, damaged_objects.CHECKSUM)
        if checksums.is_json(stored):
            return Record(key, stored, revision)
        return DamagedRecord(key, revision, damaged_objects.NOT_JSON)

    def page(self, kvs: Iterable[rpc.KeyValue], revision: Revision, *, has_more: bool) -> Page:
        """Returns the page of these etcd keys."""
        results = [self.record(kv) for kv in kvs]
        records = [result for result in results if isinstance(result, Record)]
        damaged = () if len(records) == len(results) else tuple(result for result in results if isinstance(result, DamagedRecord))
        return Page(records, revision, has_more, damaged)

    def slots_of(self, process: str) -> KeyRange:
        """Returns the keys of the write slots of one process."""
        return _range_under(self.slots.key.decode() + process + "/")

    def time(self, seconds: float) -> bytes:
        """Returns the key of a recorded time. Keys of later times sort after it."""
        return self.times.key + f"{max(0, round(seconds * 1_000_000)):020d}".encode()


def _range_under(prefix: str) -> KeyRange:
    return KeyRange(prefix.encode(), keys.range_end(prefix).encode())
