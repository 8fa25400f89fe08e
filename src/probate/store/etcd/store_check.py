"""Reads all objects of a store on etcd, at one revision, and says which are damaged. Writes nothing, so servers may run meanwhile.

The past is not looked at: etcd keeps that itself, with checksums of its own.
"""

from __future__ import annotations

from probate.core import errors
from probate.core.clock import Clock
from probate.store import keys
from probate.store.check_report import Report
from probate.store.contract import Damaged, Revision
from probate.store.etcd import layout_version
from probate.store.etcd.layout import Layout
from probate.store.etcd.reads import Reads
from probate.store.etcd.rpc.address import Address
from probate.store.etcd.rpc.members import Endpoints

PAGE = 500
SECONDS = 10.0


async def check_etcd(address: Address, clock: Clock) -> Report:
    """What is wrong with the store at this address. `CannotOpen` if etcd does not answer."""
    endpoints, layout = Endpoints(address, clock), Layout(address.root)
    try:
        await layout_version.check_is_known(endpoints, layout, seconds=SECONDS)
        return await _report(Reads(endpoints, layout, seconds=SECONDS))
    except errors.StoreUnavailable as error:
        raise errors.CannotOpen(f"the store {address} cannot be read: {error}") from error
    finally:
        await endpoints.close()


async def _report(reads: Reads) -> Report:
    count, after = 0, ""
    damaged: list[Damaged] = []
    at: Revision | None = None
    while True:
        page = await reads.page(keys.OBJECTS, after, PAGE, at)
        count += len(page.keys)
        damaged += page.damaged
        if not page.more:
            return Report(count, damaged=tuple(damaged))
        at, after = page.revision, page.last
