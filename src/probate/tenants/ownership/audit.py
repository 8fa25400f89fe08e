"""Compares the objects of tenants with the index of them, as the store has them. Changes nothing.

Everything is read from the store itself: all objects, all entries, all Tenants; no cache is used, and no list of kinds. This
takes many reads, and the store changes meanwhile. So what seems to be wrong is read again, all that concerns one object in one
step, and reported only if it is still wrong. `findings` says what is compared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

from probate.api import object_keys, tenants
from probate.core import errors
from probate.core.aio import time_slices
from probate.store import pagination
from probate.store.contract import ReadResult, Record, Revision, Store
from probate.tenants.ownership import findings, prefixed_keys
from probate.tenants.ownership.findings import Finding, ObjectFacts, TenantFacts
from probate.tenants.ownership.stored_labels import LABEL_BYTES

MAX_FINDINGS = 1_000
"""The report ends with this many."""
PAGE = 500
_OPEN, _CONTENT = "tenant-open/", "tenant/"
_NO_TENANT = TenantFacts(exists=False)


class Report(NamedTuple):
    """What an audit has found: the revision of the objects, how many objects of tenants and entries were read, and what is
    wrong."""

    revision: Revision
    tenant: str
    rows: int
    entries: int
    findings: tuple[Finding, ...]

    def as_object(self) -> dict[str, Any]:
        """Returns the report as it is shown."""
        return {**self._asdict(), "findings": [finding._asdict() for finding in self.findings]}


async def audit(store: Store, tenant: str = "") -> Report:
    """Audits one tenant, which need not exist any more, or all tenants and what is left of others."""
    return await _Audit(store, tenant).report()


class _Audit:
    def __init__(self, store: Store, tenant: str) -> None:
        self._store = store
        self._tenant = tenant
        self._tenants: dict[str, TenantFacts] = {}
        self._suspects: dict[str, set[str]] = {}  # the keys of objects that seem to be wrong, and the tenants that this concerns
        self._revision = Revision(0)
        self._rows = self._entries = 0

    async def report(self) -> Report:
        async for page in pagination.pages(self._store, tenants.TENANTS_RANGE, size=PAGE):
            found: list[ReadResult] = [*page.records, *page.damaged_records]
            self._tenants |= {object_keys.name_in(one.key): findings.tenant_facts(one) for one in found if one is not None}
        result = [finding async for finding in self._open_entry_findings()]
        await self._compare_objects()
        await self._compare_entries()
        for key in sorted(self._suspects):
            if len(result) < MAX_FINDINGS:
                result += await self._confirmed_findings(key, self._suspects[key])
        return Report(self._revision, self._tenant, self._rows, self._entries, tuple(result[:MAX_FINDINGS]))

    def _is_about_all(self, record: ReadResult) -> bool:
        return (
            not self._tenant and record is not None and bool(findings.tenants_of(record.key, record) or findings.label_of(record))
        )

    def _is_concerned(self, tenant: str) -> bool:
        return not self._tenant or tenant == self._tenant

    async def _open_entry_findings(self) -> AsyncIterator[Finding]:
        ids = {*self._tenants, self._tenant} - {""}
        async for page in pagination.pages(self._store, _OPEN, size=PAGE):
            ids |= {record.key.removeprefix(_OPEN) for record in page.records}
        for tenant in sorted(filter(self._is_concerned, ids)):
            object_, entry = await self._store.read_many([tenants.tenant_key(tenant), tenants.open_entry(tenant)])
            for finding in findings.open_entry_findings(tenant, object_, entry):
                yield finding

    async def _compare_objects(self) -> None:
        """Looks at every object that a key or a label makes a tenant's."""
        async for page in pagination.pages(self._store, object_keys.OBJECTS, size=PAGE):
            self._revision = page.revision
            found: dict[str, ReadResult] = {record.key: record for record in page.records if _may_be_owned(record)}
            found |= {damaged.key: damaged for damaged in page.damaged_records}
            named = {key: findings.tenants_of(key, one) for key, one in found.items()}
            relevant = {key: owners for key, owners in named.items() if self._tenant in owners or self._is_about_all(found[key])}
            self._rows += len(relevant)
            await self._compare(found, relevant)
            await time_slices.wait_turn()

    async def _compare_entries(self) -> None:
        """Looks at the object of every entry."""
        listed = tenants.content_range(self._tenant) if self._tenant else _CONTENT
        async for page in pagination.pages(self._store, listed, size=PAGE):
            self._entries += len(page.records)
            owners: dict[str, set[str]] = {}
            for record in page.records:
                _, tenant, key = record.key.split("/", 2)
                owners.setdefault(key, set()).add(tenant)
            found = dict(zip(owners, await self._store.read_many(list(owners)), strict=True))
            named = {key: owners[key] | findings.tenants_of(key, record) for key, record in found.items()}
            await self._compare(found, named)
            await time_slices.wait_turn()

    async def _compare(self, found: Mapping[str, ReadResult], named: Mapping[str, set[str]]) -> None:
        """Notes which of these objects seem to be wrong."""
        wanted = [tenants.content_entry(tenant, key) for key, owners in named.items() for tenant in owners]
        revisions = await self._revisions(wanted)
        for key, owners in named.items():
            entries = {one: revisions[entry] for one in owners if (entry := tenants.content_entry(one, key)) in revisions}
            facts = ObjectFacts(key, found[key], entries, {one: self._tenants.get(one, _NO_TENANT) for one in owners})
            if any(findings.object_findings(facts)) or any(findings.may_be_late(facts, tenant) for tenant in owners):
                self._suspects.setdefault(key, set()).update(owners)

    async def _revisions(self, keys: Sequence[str]) -> dict[str, Revision]:
        """Returns the revisions of those keys that exist."""
        found: dict[str, Revision] = {}
        for start in range(0, len(keys), PAGE):
            results = await self._store.read_many(keys[start : start + PAGE])
            found |= {result.key: result.revision for result in results if result is not None}
        return found

    async def _confirmed_findings(self, key: str, ids: set[str]) -> list[Finding]:
        """Returns what is wrong with an object, by what is read in one step."""
        [seen] = await self._store.read_many([key])
        owners = sorted({*ids, *findings.tenants_of(key, seen)})
        keys = [read for tenant in owners for read in (tenants.tenant_key(tenant), tenants.content_entry(tenant, key))]
        record, *others = await self._store.read_many([key, *keys])
        entries = {tenant: one.revision for tenant, one in zip(owners, others[1::2], strict=True) if one is not None}
        facts = ObjectFacts(key, record, entries, dict(zip(owners, map(findings.tenant_facts, others[::2]), strict=True)))
        if not findings.tenants_of(key, record) <= set(owners):
            return []  # it has just changed: the layer has looked at it
        late = [findings.created_too_late(key, tenant) for tenant in owners if await self._got_in_too_late(facts, tenant)]
        return [*findings.object_findings(facts), *late]

    async def _got_in_too_late(self, facts: ObjectFacts, tenant: str) -> bool:
        """Whether the tenant was being deleted when the object got into it. If history does not go back so far, times decide."""
        if tenant not in facts.entries or not findings.may_be_late(facts, tenant):
            return False
        try:
            then = await self._store.read(tenants.tenant_key(tenant), at=facts.entries[tenant])
        except (errors.Gone, errors.DamagedObject):
            return findings.is_late(facts, tenant)
        return bool(findings.tenant_facts(then).deleted_at)


def _may_be_owned(record: Record) -> bool:
    """Fast path: whether the key or the label of an object may name a tenant."""
    return LABEL_BYTES in record.value or bool(prefixed_keys.tenants_named_in(record.key))
