"""The version of the layout, stored in its own key, so that a server does not misread what a newer Probate wrote.

    1   values have no checksums, and this key does not exist
    2   values written from now on have checksums; older values remain valid without one until they are written again

A store without the key gets it when it is opened. So an upgrade changes no object, and a crash in the middle of it does no harm.
Servers of version 1 do not know the key: they cannot read what servers of version 2 write, and must not run beside them.
"""

from __future__ import annotations

from probate.core import errors
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Members

VERSION = 2


async def check_or_write(members: Members, layout: Layout, *, seconds: float) -> None:
    """Writes the version into a store that has none; otherwise raises `CannotOpen` if it is newer. Safe to run concurrently."""
    own_version = b"%d" % VERSION
    request = rpc.TxnRequest(
        compare=[rpc.Compare(target=rpc.Compare.VERSION, key=layout.format, version=0)],
        success=[messages.put(layout.format, own_version), messages.put(layout.tick)],
        failure=[messages.read(layout.format)],
    )
    answer = await members.call(TXN, request, seconds=seconds)
    if answer.succeeded:
        return
    _check_version(answer.responses[0].response_range.kvs[0].value)


async def check_supported(members: Members, layout: Layout, *, seconds: float) -> None:
    """Raises `CannotOpen` if the store has a newer version. Writes nothing."""
    answer = await members.call(RANGE, rpc.RangeRequest(key=layout.format), seconds=seconds)
    if answer.kvs:
        _check_version(answer.kvs[0].value)


def _check_version(stored: bytes) -> None:
    if not stored.isdigit():
        raise errors.CannotOpen(
            f"the store's version on etcd is {stored[:40]!r}, which is not a number. Restore a copy of etcd's data"
        )
    if int(stored) > VERSION:
        raise errors.CannotOpen(
            f"the store on etcd was written by a newer Probate (store version {int(stored)}; this one knows up to {VERSION}). "
            "Upgrade Probate to use it"
        )
