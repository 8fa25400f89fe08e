"""The version of the layout, which a store on etcd keeps in a key of its own: what a newer Probate wrote must not be misread.

    1   values have no checksums, and there is no such key
    2   values that are written from now on have checksums; those written before are good without, until they are written again

A store without the key gets it when it is opened. So an upgrade changes no object, and a crash in the middle of it does no harm.
Servers of version 1 do not know the key: they cannot read what one of version 2 writes, and must not run beside it.
"""

from __future__ import annotations

from probate.core import errors
from probate.store.etcd import messages
from probate.store.etcd.layout import Layout
from probate.store.etcd.rpc import rpc_pb2 as rpc
from probate.store.etcd.rpc.members import RANGE, TXN, Endpoints

VERSION = 2


async def check(endpoints: Endpoints, layout: Layout, *, seconds: float) -> None:
    """Note our version in the store, if none is. `CannotOpen` if it is of a newer one. Several servers may do so at once."""
    mine = b"%d" % VERSION
    request = rpc.TxnRequest(
        compare=[rpc.Compare(target=rpc.Compare.VERSION, key=layout.format, version=0)],
        success=[messages.put(layout.format, mine), messages.put(layout.tick)],
        failure=[messages.read(layout.format)],
    )
    answer = await endpoints.ask(TXN, request, seconds=seconds)
    if answer.succeeded:
        return
    _check_is_known(answer.responses[0].response_range.kvs[0].value)


async def check_is_known(endpoints: Endpoints, layout: Layout, *, seconds: float) -> None:
    """`CannotOpen` if the store is of a newer version. Writes nothing."""
    answer = await endpoints.ask(RANGE, rpc.RangeRequest(key=layout.format), seconds=seconds)
    if answer.kvs:
        _check_is_known(answer.kvs[0].value)


def _check_is_known(found: bytes) -> None:
    if not found.isdigit():
        raise errors.CannotOpen(
            f"the store's version on etcd is {found[:40]!r}, which is not a number. Restore a copy of etcd's data"
        )
    if int(found) > VERSION:
        raise errors.CannotOpen(
            f"the store on etcd was written by a newer Probate (store version {int(found)}; this one knows up to {VERSION}). "
            "Upgrade Probate to use it"
        )
