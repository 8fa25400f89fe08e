"""The periodic audit reports what outlives its tenant in a metric and the log, and changes nothing."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from probate.api import tenants
from probate.core import errors
from probate.core.clock import FakeClock
from probate.core.metrics import Registry
from probate.store import contract
from probate.store.contract import Page, Revision
from probate.store.sqlite.store import SqliteStore, open_memory
from probate.tenants.ownership.periodic_audit import AUDIT_SECONDS, FIRST_SECONDS, PAUSE_SECONDS, auditing
from support.namespace_controller import settle
from support.stored_tenants import committed, create_tenant, value

ONE = "111111"
POD = f"objects/pods/{ONE}-web/p"


class CountingStore:
    """A store that counts its scans of objects, and fails them with an error if it has one."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.scans = 0
        self.error: errors.ApiError | None = None
        self.read, self.read_many, self.nonempty_ranges = store.read, store.read_many, store.nonempty_ranges

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        if prefix == "objects/":
            self.scans += 1
            if self.error is not None:
                raise self.error
        return await self.store.scan(prefix, after=after, limit=limit, at=at)


class Audits:
    """A process with periodic audits on a virtual clock."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = CountingStore(store)
        self.clock = FakeClock()
        self.metrics = Registry()

    async def pass_time(self, seconds: float) -> None:
        """Lets time pass, and the pauses of an audit that is due then."""
        await settle()
        await self.clock.advance(seconds)
        for _ in range(20):
            await settle()
            await self.clock.advance(PAUSE_SECONDS)

    def orphans(self) -> float | None:
        [family] = [one for one in self.metrics.gather() if one.name == "probate_tenant_orphan_rows"]
        return family.values.get(())


@pytest.fixture
async def audits() -> AsyncIterator[Audits]:
    store = await open_memory()
    made = Audits(store)
    async with auditing(made.store, made.clock, made.metrics):  # type: ignore[arg-type]
        yield made
    await store.close()


async def leak(store: SqliteStore, key: str = POD) -> None:
    """Writes an object of a tenant that does not exist."""
    committed(await store.commit(contract.create(key, value({tenants.TENANT_LABEL: ONE}))))


async def test_a_server_without_tenants_is_not_read(audits: Audits) -> None:
    committed(await audits.store.store.commit(contract.create("objects/pods/default/p", value())))
    await audits.pass_time(FIRST_SECONDS)
    await audits.pass_time(AUDIT_SECONDS)
    assert (audits.store.scans, audits.orphans()) == (0, None)


async def test_all_is_well(audits: Audits, caplog: pytest.LogCaptureFixture) -> None:
    await create_tenant(audits.store.store, ONE)
    await audits.pass_time(FIRST_SECONDS - 1)
    assert audits.orphans() is None
    await audits.pass_time(1)
    assert (audits.orphans(), caplog.records) == (0, [])


async def test_what_outlives_its_tenant_is_reported_and_kept(audits: Audits, caplog: pytest.LogCaptureFixture) -> None:
    await create_tenant(audits.store.store, ONE)
    await audits.pass_time(FIRST_SECONDS)
    current = await audits.store.store.read(tenants.tenant_key(ONE))
    assert current is not None
    gone = contract.delete(current.key, revision=current.revision, remove_entries=[tenants.open_entry(ONE)])
    committed(await audits.store.store.commit(gone))
    await leak(audits.store.store)
    await audits.pass_time(AUDIT_SECONDS)
    assert audits.orphans() == 1
    [record] = caplog.records
    assert (record.levelno, "UnknownTenant " + POD in str(record.__dict__)) == (logging.WARNING, True)
    assert await audits.store.store.read(POD) is not None


async def test_an_entry_alone_is_reason_enough_to_look(audits: Audits) -> None:
    entry = tenants.content_entry(ONE, POD)
    committed(await audits.store.store.commit(contract.create("objects/pods/default/p", value(), add_entries=[entry])))
    await audits.pass_time(FIRST_SECONDS)
    assert audits.orphans() == 1


async def test_failures_are_retried_at_the_next_audit(audits: Audits, caplog: pytest.LogCaptureFixture) -> None:
    await create_tenant(audits.store.store, ONE)
    audits.store.error = errors.StoreUnavailable("not now")
    await audits.pass_time(FIRST_SECONDS)
    assert (audits.orphans(), caplog.records[0].levelno) == (None, logging.WARNING)
    audits.store.error = None
    await audits.pass_time(AUDIT_SECONDS)
    assert audits.orphans() == 0


async def test_an_audit_that_history_outran_does_not_pause_again(audits: Audits) -> None:
    await create_tenant(audits.store.store, ONE)
    audits.store.error = errors.Gone("compacted")
    await audits.pass_time(FIRST_SECONDS)
    audits.store.error = None
    await settle()
    await audits.clock.advance(AUDIT_SECONDS)
    await settle()
    assert audits.orphans() == 0


async def test_a_large_store_is_read_with_pauses(audits: Audits) -> None:
    await create_tenant(audits.store.store, ONE)
    await audits.store.store.commit_many([contract.create(f"objects/pods/default/p{number}", value()) for number in range(1200)])
    await settle()
    await audits.clock.advance(FIRST_SECONDS)
    await settle()
    assert (audits.store.scans, audits.orphans()) == (1, None)
    await audits.pass_time(PAUSE_SECONDS)
    assert (audits.store.scans, audits.orphans()) == (3, 0)
