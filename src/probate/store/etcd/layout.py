"""Where things lie in etcd. With the root `probate`:

    /probate/keys/objects/pods/default/web-1        an object; its value is the object's, with its checksum (see `checksums`)
    /probate/keys/objects0                          the tick
    /probate/keys/owned/u1@default/objects/...      an index entry; its value is empty
    /probate/.engine/format                         the version of this layout (see `versions`)
    /probate/.engine/slots/<process>/<number>       a write slot (see `slots`)
    /probate/.engine/times/<microseconds>           a moment; its revision is what had been reached then (see `past`)

Keys of the contract and those of the engine have different parents, so that no call can reach the engine's own.

**The tick** is the one key that directly follows all objects: a contract key has two segments, so nothing else can lie there,
and one etcd watch from the first object to the tick sees all changes and nothing besides. Whatever the engine writes for
itself also writes the tick. So each revision that this store causes is seen by that watch, and the hub of every server
gets as far as the store is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.store import checksums, damage, keys
from probate.store.contract import Damaged, Page, Record, Revision
from probate.store.etcd.rpc import rpc_pb2 as rpc


class Span(NamedTuple):
    """The keys from `key` up to, but without, `range_end`."""

    key: bytes
    range_end: bytes


class Layout:
    """The places of one root."""

    def __init__(self, root: str) -> None:
        self._keys = f"/{root}/keys/"
        self._skip = len(self._keys)
        self.tick = self.key(keys.end_of(keys.OBJECTS))
        self.watched = Span(self.key(keys.OBJECTS), self.tick + b"\x00")
        self.slots = _under(f"/{root}/.engine/slots/")
        self.times = _under(f"/{root}/.engine/times/")
        self.format = f"/{root}/.engine/format".encode()

    def key(self, key: str) -> bytes:
        """Where a key of the contract lies."""
        return (self._keys + key).encode()

    def text(self, place: bytes) -> str:
        """The contract's key that lies here."""
        return place.decode()[self._skip :]

    def span(self, prefix: str, after: str = "") -> Span:
        """Where the keys lie that begin with `prefix` and follow `after`."""
        return Span(self.key(keys.start_of(prefix, after)), self.key(keys.end_of(prefix)))

    def record(self, kv: rpc.KeyValue) -> Record | Damaged:
        """What etcd has, as the contract says it. Values that were written before there were checksums must be JSON."""
        key, stored, revision = self.text(kv.key), kv.value, Revision(kv.mod_revision)
        if not keys.is_object(key):
            return Record(key, stored, revision)
        value = checksums.opened(key, stored)
        if value is not None:
            return Record(key, value, revision)
        if checksums.is_sealed(stored):
            return Damaged(key, revision, damage.CHECKSUM)
        return Record(key, stored, revision) if checksums.is_json(stored) else Damaged(key, revision, damage.NOT_JSON)

    def page(self, kvs: Iterable[rpc.KeyValue], revision: Revision, *, more: bool) -> Page:
        """A part of a range, out of what etcd has of it."""
        found = [self.record(kv) for kv in kvs]
        records = [one for one in found if isinstance(one, Record)]
        damaged = tuple(one for one in found if isinstance(one, Damaged)) if len(records) < len(found) else ()
        return Page(records, revision, more, damaged)

    def slots_of(self, process: str) -> Span:
        """Where the slots of one process lie."""
        return _under(self.slots.key.decode() + process + "/")

    def time(self, seconds: float) -> bytes:
        """Where this moment lies. Later moments lie after it."""
        return self.times.key + f"{max(0, round(seconds * 1_000_000)):020d}".encode()


def _under(prefix: str) -> Span:
    return Span(prefix.encode(), keys.end_of(prefix).encode())
