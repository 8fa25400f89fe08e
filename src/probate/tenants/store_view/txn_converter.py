"""Converts a tenant's transactions to physical ones, and the guards that failed back to the tenant's.

Each guard of the tenant becomes exactly one physical guard, so failed guards are told by their positions. A transaction for an
object of the platform is never committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from probate.api import object_keys, tenants
from probate.core import errors
from probate.core.errors import Details
from probate.server.storage import index_entries
from probate.store import damaged_objects
from probate.store.contract import (
    NO_REVISION,
    CommitResult,
    EmptyRange,
    FailedGuards,
    Guard,
    ReadResult,
    Record,
    Store,
    Txn,
)
from probate.tenants.ownership import tenant_errors
from probate.tenants.store_view import name_limits, shared_objects, volume_names
from probate.tenants.store_view.ranges.range_factory import RangeFactory
from probate.tenants.store_view.record_converter import RecordConverter
from probate.tenants.store_view.shared_objects import VOLUMES, Visibility


class PhysicalTxn(NamedTuple):
    """The physical form of a transaction, to be committed."""

    seen: Txn
    txn: Txn

    def outcome(self, outcome: CommitResult) -> CommitResult:
        """Returns the result of the transaction in the tenant's terms."""
        if not isinstance(outcome, FailedGuards):
            return outcome
        pairs = zip(self.seen.all_guards(), self.txn.all_guards(), strict=True)
        failed = tuple(guard for guard, physical in pairs if physical in outcome.guards)
        if not failed:  # what the layer below added has changed
            raise errors.Conflict("the tenant was changed at the same time: try again")
        return FailedGuards(failed)


_CUSTOM = "custom/"
Settled: TypeAlias = PhysicalTxn | FailedGuards
"""A transaction that is ready to be committed, or the result of one that cannot be."""


class TxnConverter:
    """The conversion of transactions with one converter."""

    def __init__(self, store: Store, converter: RecordConverter, ranges: RangeFactory) -> None:
        self._store = store
        self._converter = converter
        self._ranges = ranges

    async def convert(self, txns: Sequence[Txn]) -> list[Settled]:
        """Converts transactions. Raises `Forbidden` for a change of what the platform shares, `Invalid` for too long names."""
        needed = dict.fromkeys(key for txn in txns for key in self._read_before(txn))
        found = dict(zip(needed, await self._store.read_many(list(needed)), strict=True)) if needed else {}
        return [self._converted(txn, found) for txn in txns]

    def _read_before(self, txn: Txn) -> list[str]:
        """Returns the physical keys whose records decide how a transaction is converted."""
        resource = object_keys.resource_in(txn.key)
        found = [key for key in _guarded_keys(txn) if object_keys.resource_in(key) == str(VOLUMES)] if txn.guards else []
        if resource in shared_objects.PLATFORM_NAMED:
            found.append(txn.key)
        elif resource in volume_names.PATHS and txn.value is not None and (name := volume_names.named_in(resource, txn.value)):
            found += [self._converter.physical_key(txn.key), _volume_key(name)]
        return found

    def _converted(self, txn: Txn, found: Mapping[str, ReadResult]) -> Settled:
        physical = self._physical_key(txn, found)
        if physical is None:
            return FailedGuards((txn.own_guard(),))
        value = txn.value
        if value is not None:
            if txn.expected_revision == NO_REVISION:
                name_limits.check_name(txn.key, physical, self._converter.platform.catalog)
            value = self._value(txn, physical, value, found=found)
        converted = Txn(
            physical,
            value,
            txn.expected_revision,
            self._entries(txn.key, txn.add_entries, physical),
            self._entries(txn.key, txn.remove_entries, physical),
            tuple([self._guard(guard, found) for guard in txn.guards]),
        )
        return PhysicalTxn(txn, converted)

    def _physical_key(self, txn: Txn, found: Mapping[str, ReadResult]) -> str | None:
        """Returns the physical key of a transaction's object; None if it is a create of an object of the platform that exists."""
        record = found.get(txn.key) if shared_objects.is_platform_named(txn.key) else None
        visibility = Visibility.HIDDEN if record is None else self._visibility(txn.key, record)
        if visibility != Visibility.HIDDEN and txn.expected_revision == NO_REVISION:
            return None
        if visibility == Visibility.OWN:
            return txn.key
        physical = self._converter.physical_key(txn.key)
        if visibility == Visibility.SHARED or self._converter.own_key(physical) is None or _is_of_tenants(physical):
            raise _of_platform(txn.key)
        return physical

    def _visibility(self, key: str, record: ReadResult) -> Visibility:
        if isinstance(record, Record):
            return self._converter.visibility(key, record.value)
        resource, name = object_keys.parse_resource(object_keys.resource_in(key)), object_keys.name_in(key)
        return Visibility.SHARED if self._converter.platform.is_shared_object(resource, name) else Visibility.HIDDEN

    def _value(self, txn: Txn, physical: str, value: bytes, *, found: Mapping[str, ReadResult]) -> bytes:
        key, resource = txn.key, object_keys.resource_in(txn.key)
        label = shared_objects.tenant_of(value, self._converter.tenant)
        if label != self._converter.tenant:
            raise tenant_errors.wrong_label(key, label, self._converter.tenant)
        converted = self._converter.physical_value(key, physical, value)
        if resource in volume_names.PATHS and (name := volume_names.named_in(resource, value)):
            stored, volume = found.get(physical), found.get(_volume_key(name))
            is_stored = isinstance(stored, Record) and volume_names.named_in(resource, stored.value) == name
            if is_stored or (volume is not None and self._visibility(_volume_key(name), volume) == Visibility.OWN):
                converted = volume_names.with_name(resource, converted, name)
        limit = self._store.limits.value_bytes
        if len(converted) > limit:
            raise errors.TooLarge(
                f"the object {key!r} has {len(converted):,} bytes as it would be stored; the store takes at most {limit:,}. "
                "Make it smaller or split it"
            )
        return converted

    def _entries(self, key: str, entries: Sequence[str], physical: str) -> tuple[str, ...]:
        """Converts index entries, without those that the physical object does not have: others would stay when it is deleted."""
        converted = [self._entry(key, entry, physical) for entry in entries]
        return tuple([entry for entry in converted if index_entries.is_derivable(entry)])

    def _entry(self, key: str, entry: str, physical: str) -> str:
        """Converts an index entry. That of an object whose name is the platform's ends in its physical key."""
        if key == physical and entry.endswith(f"/{key}"):
            return self._converter.physical_key(entry[: -len(key)]) + physical
        return self._converter.physical_key(entry)

    def _guard(self, guard: Guard, found: Mapping[str, ReadResult]) -> Guard:
        if isinstance(guard, EmptyRange):
            range_ = self._ranges.range_of(guard.prefix)
            if not range_.is_guardable:
                raise errors.BadRequest(
                    f"a transaction of a tenant cannot be guarded by the range {guard.prefix!r}: name a smaller one"
                )
            return EmptyRange(range_.physical)
        record = found.get(guard.key)
        is_own = record is not None and self._visibility(guard.key, record) == Visibility.OWN
        return msgspec.structs.replace(guard, key=guard.key if is_own else self._converter.physical_key(guard.key))


def _guarded_keys(txn: Txn) -> list[str]:
    return [guard.key for guard in txn.guards if not isinstance(guard, EmptyRange) and guard.key.startswith(object_keys.OBJECTS)]


def _is_of_tenants(physical: str) -> bool:
    return physical.startswith(tenants.TENANTS_RANGE)


def _of_platform(key: str) -> errors.Forbidden:
    name = damaged_objects.object_name(key)
    return errors.Forbidden(
        f"{name} belongs to the platform, which shares it with tenants: a tenant cannot create, change or delete it",
        Details(name=name.name, group=name.group, kind=name.resource),
    )


def _volume_key(name: str) -> str:
    return object_keys.object_key(VOLUMES, "", name)
