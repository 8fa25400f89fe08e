"""What is wrong with what the store has recorded about tenants. Pure functions of what was read.

    MissingLabel      the object is named as those of a tenant that exists, and lacks the label
    WrongLabel        the label names another tenant than the object's key
    UnknownTenant     the label names a tenant that does not exist
    MissingEntry      the index of the tenant that the label names lacks the object
    StrayEntry        the index of a tenant has an entry of an object that does not exist, or is not the tenant's
    CreatedTooLate    the object got into its tenant after the deletion of the tenant began
    MissingOpenEntry  a tenant that is not being deleted lacks its entry, so nothing can be created in it
    StrayOpenEntry    the entry of a tenant that is being deleted or does not exist, so that objects can be created in it

None of these can happen while all writes go through `ownership_store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from probate.api import tenants
from probate.store.contract import DamagedRecord, ReadResult, Record, Revision
from probate.tenants.ownership import prefixed_keys, stored_labels


class Finding(NamedTuple):
    """One thing that is wrong: the key in the store, what sort of finding it is, and a message."""

    key: str
    finding: str
    message: str


class TenantFacts(NamedTuple):
    """What is known about a tenant. `deleted_at` is empty if it is not being deleted, or its object is damaged."""

    exists: bool
    deleted_at: str = ""
    revision: Revision = Revision(0)


class ObjectFacts(NamedTuple):
    """An object, the entries of it in the indexes of tenants, by tenant, and these tenants and all that its key or label names."""

    key: str
    record: ReadResult
    entries: Mapping[str, Revision]
    tenants: Mapping[str, TenantFacts]


class _Meta(msgspec.Struct, rename="camel"):
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


_objects = msgspec.json.Decoder(_Object)


def label_of(record: ReadResult) -> str:
    """Returns the tenant that the label of an object names; empty if it has none, or is damaged or absent."""
    return stored_labels.tenant_of(record.value) if isinstance(record, Record) else ""


def tenants_of(key: str, record: ReadResult) -> set[str]:
    """Returns the tenants that an object's key and label name."""
    named = set(prefixed_keys.tenants_named_in(key))
    label = label_of(record)
    return named | {label} if tenants.is_valid_id(label) else named


def tenant_facts(record: ReadResult) -> TenantFacts:
    """Returns what the record of a Tenant says."""
    if record is None:
        return TenantFacts(exists=False)
    deleted_at = _meta(record.value).deletion_timestamp if isinstance(record, Record) else None
    return TenantFacts(exists=True, deleted_at=deleted_at or "", revision=record.revision)


def open_entry_findings(tenant: str, record: ReadResult, entry: ReadResult) -> Iterator[Finding]:
    """Yields what is wrong with the entry that a tenant is open."""
    facts = tenant_facts(record)
    if entry is None and facts.exists and not facts.deleted_at and not isinstance(record, DamagedRecord):
        message = f"tenant {tenant} is not being deleted, but nothing can be created in it"
        yield Finding(tenants.open_entry(tenant), "MissingOpenEntry", message)
    if entry is not None and (facts.deleted_at or not facts.exists):
        why = "is being deleted" if facts.exists else "does not exist"
        yield Finding(tenants.open_entry(tenant), "StrayOpenEntry", f"objects can be created in tenant {tenant}, which {why}")


def object_findings(facts: ObjectFacts) -> Iterator[Finding]:
    """Yields what is wrong with an object and its entries, except for when it was created."""
    record, named = facts.record, prefixed_keys.tenants_named_in(facts.key)
    if record is None:
        yield from _stray_entries(facts, set(), "does not exist")
        return
    existing = [tenant for tenant in named if facts.tenants[tenant].exists]
    if isinstance(record, Record):
        label = label_of(record)
        yield from _label_findings(facts, label, existing)
        rightful = {label} if label else set(existing)
    else:  # nobody knows the label of a damaged object
        yield from (_missing_entry(facts.key, tenant) for tenant in existing if tenant not in facts.entries)
        rightful = set(facts.entries) if prefixed_keys.is_volume(facts.key) else set(existing)
    # Entries of cluster-scoped objects also reserve the names of tenants that do not exist.
    reserved = set(named) - set(existing) if prefixed_keys.is_cluster_scoped(facts.key) else set()
    yield from _stray_entries(facts, rightful | reserved, "does not belong to the tenant")


def may_be_late(facts: ObjectFacts, tenant: str) -> bool:
    """Whether revisions and times allow that the object got into the tenant after the tenant's deletion began."""
    deleted_at = facts.tenants[tenant].deleted_at
    return bool(deleted_at) and (is_late(facts, tenant) or _created_at(facts) == deleted_at)


def is_late(facts: ObjectFacts, tenant: str) -> bool:
    """Whether revisions and times say that the object got into the tenant after the tenant's deletion began."""
    owner, entered = facts.tenants[tenant], facts.entries.get(tenant)
    return bool(owner.deleted_at and entered and (entered > owner.revision or _created_at(facts) > owner.deleted_at))


def created_too_late(key: str, tenant: str) -> Finding:
    """Returns the finding for an object that got into its tenant after the deletion of the tenant began."""
    return Finding(key, "CreatedTooLate", f"the object got into tenant {tenant} after the deletion of the tenant began")


def _label_findings(facts: ObjectFacts, label: str, existing: Iterable[str]) -> Iterator[Finding]:
    key, others = facts.key, [tenant for tenant in existing if tenant != label]
    if not label:
        for tenant in others:
            yield Finding(key, "MissingLabel", f"the object is named as those of tenant {tenant}, but does not have its label")
        return
    owner = facts.tenants.get(label)
    if owner is None or not owner.exists:
        yield Finding(key, "UnknownTenant", f"the object has the label of tenant {label}, which does not exist")
    elif label not in facts.entries:
        yield _missing_entry(key, label)
    if others:
        yield Finding(key, "WrongLabel", f"the object has the label of tenant {label}, but is named as those of tenant {others[0]}")
    elif label not in prefixed_keys.tenants_named_in(key) and not prefixed_keys.is_volume(key):
        yield Finding(key, "WrongLabel", f"the object has the label of tenant {label}, but is not named as those of the tenant")


def _stray_entries(facts: ObjectFacts, rightful: set[str], why: str) -> Iterator[Finding]:
    for tenant in sorted(facts.entries.keys() - rightful):
        entry = tenants.content_entry(tenant, facts.key)
        yield Finding(entry, "StrayEntry", f"the index of tenant {tenant} lists an object that {why}")


def _created_at(facts: ObjectFacts) -> str:
    return _meta(facts.record.value).creation_timestamp if isinstance(facts.record, Record) else ""


def _missing_entry(key: str, tenant: str) -> Finding:
    return Finding(key, "MissingEntry", f"the index of tenant {tenant} does not list the object, so it would survive the tenant")


def _meta(value: bytes) -> _Meta:
    try:
        return _objects.decode(value).metadata
    except msgspec.DecodeError:
        return _Meta()
