"""Checks all objects of a store on etcd, at one revision, for damage. Writes nothing, so servers may run meanwhile.

Does not check history: etcd keeps that itself, with its own checksums.
"""

from __future__ import annotations

from probate.core import errors
from probate.core.clock import Clock
from probate.store import keys
from probate.store.check_report import CheckReport
from probate.store.contract import DamagedRecord, Revision
from probate.store.etcd import layout_version
from probate.store.etcd.layout import Layout
from probate.store.etcd.reads import EtcdReader
from probate.store.etcd.rpc.address import EtcdAddress
from probate.store.etcd.rpc.members import Members

PAGE_SIZE = 500
SECONDS = 10.0


async def check_etcd(address: EtcdAddress, clock: Clock) -> CheckReport:
    """Returns the report of the store at this address. Raises `CannotOpen` if etcd does not answer."""
    members, layout = Members(address, clock), Layout(address.root)
    try:
        await layout_version.check_supported(members, layout, seconds=SECONDS)
        return await _report(EtcdReader(members, layout, seconds=SECONDS))
    except errors.StoreUnavailable as error:
        raise errors.CannotOpen(f"the store {address} cannot be read: {error}") from error
    finally:
        await members.close()


async def _report(reader: EtcdReader) -> CheckReport:
    count, after = 0, ""
    damaged: list[DamagedRecord] = []
    at: Revision | None = None
    while True:
        page = await reader.page(keys.OBJECTS, after, PAGE_SIZE, at=at)
        count += len(page.keys)
        damaged += page.damaged_records
        if not page.has_more:
            return CheckReport(count, damaged=tuple(damaged))
        at, after = page.revision, page.last_key
