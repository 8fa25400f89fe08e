"""Converts stored records between a tenant's view and the physical view: their keys, and the JSON in their values.

A value that is no JSON object is the same in both views: the store contract allows any bytes, the API stores only objects.
"""

from __future__ import annotations

import logging

import orjson

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource
from probate.core.logs import facts
from probate.core.metrics import Counter
from probate.store.contract import DamagedRecord, Event, Record
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.shared_objects import NODES, VOLUMES, Visibility
from probate.tenants.store_view.tenant_platform import TenantPlatform
from probate.tenants.view import key_conversion, object_conversion
from probate.tenants.view.name_converter import NameConverter, ToPhysical, ToTenant

PROBLEM = "it cannot be converted to the view of its tenant"
_CLUSTER_SCOPED = f"/{object_keys.NO_NAMESPACE}/"

log = logging.getLogger(__name__)


class RecordConverter:
    """The conversion of one tenant's keys and records, as of one `TenantPlatform`."""

    def __init__(self, tenant: str, platform: TenantPlatform, failures: Counter) -> None:
        self.tenant = tenant
        self.platform = platform
        self.out = ToPhysical(tenants.prefix_of(tenant), platform)
        self.back = ToTenant(tenants.prefix_of(tenant), platform)
        self._failures = failures

    # Keys

    def physical_key(self, key: str) -> str:
        """Converts a key or range of the tenant."""
        return key_conversion.convert_key(self.out, key)

    def own_key(self, physical: str) -> str | None:
        """Returns the tenant's key of what belongs to the tenant by its names; None for anything else."""
        return key_conversion.own_key(self.back, physical)

    def candidates(self, key: str) -> list[str]:
        """Returns the physical keys at which the object of a tenant's key may be: a visible one of the platform comes first."""
        if not shared_objects.is_platform_named(key):
            return [self.physical_key(key)]
        folder, _, name = key.rpartition("/")
        resource = object_keys.parse_resource(object_keys.resource_in(key))
        if resource == NODES or not f"{folder}/".endswith(_CLUSTER_SCOPED):
            return [key]
        if resource not in object_conversion.NAMED_BY_GROUP:
            return [key, f"{folder}/{self.out.prefix}{name}"]
        first, dot, group = name.partition(".")
        return [key, f"{folder}/{first}.{self.out.prefix}{group}"] if dot else [key]

    def visibility(self, key: str, value: bytes) -> Visibility:
        """Returns what an object whose name does not have the tenant's prefix is to the tenant. Takes only such keys."""
        resource, name = object_keys.parse_resource(object_keys.resource_in(key)), object_keys.name_in(key)
        if resource == VOLUMES:
            return Visibility.OWN if shared_objects.tenant_of(value) == self.tenant else Visibility.HIDDEN
        if resource == NODES or shared_objects.is_shared(resource, name, value):
            return Visibility.SHARED
        is_api_service = resource == object_conversion.API_SERVICES and self.platform.snapshot.is_shared_api_service(name)
        return Visibility.SHARED if is_api_service and not shared_objects.tenant_of(value) else Visibility.HIDDEN

    def shown_key(self, physical: str, value: bytes) -> str | None:
        """Returns the tenant's key of any object; None if the tenant does not see it."""
        if not shared_objects.is_platform_named(physical):
            return self.own_key(physical)
        own = self.own_key(physical)
        if own is not None:
            resource, name = object_keys.parse_resource(object_keys.resource_in(own)), object_keys.name_in(own)
            return None if self.platform.is_shared_object(resource, name) else own
        return None if self.visibility(physical, value) == Visibility.HIDDEN else physical

    # Records

    def physical_value(self, key: str, physical: str, value: bytes) -> bytes:
        """Converts a value that the tenant writes."""
        return _converted(self.out, key, value, to=physical)

    def tenant_record(self, key: str, record: Record) -> Record | DamagedRecord:
        """Converts a stored record. One that cannot be converted is damaged for the tenant."""
        if key == record.key and self._is_of_platform(key):
            return record
        try:
            return Record(key, _converted(self.back, key, record.value, to=key), record.revision)
        except Exception:
            resource = object_keys.resource_in(record.key)
            self._failures[resource,] += 1
            log.exception("object not converted for its tenant", extra=facts(key=record.key, revision=record.revision))
            return DamagedRecord(key, record.revision, PROBLEM)

    @staticmethod
    def _is_of_platform(key: str) -> bool:
        return shared_objects.is_platform_named(key) and object_keys.resource_in(key) != str(VOLUMES)

    def shown(self, key: str, record: Record | DamagedRecord) -> Record | DamagedRecord:
        """Returns a physical record as the tenant sees it."""
        return (
            DamagedRecord(key, record.revision, record.problem)
            if isinstance(record, DamagedRecord)
            else self.tenant_record(key, record)
        )

    def event(self, event: Event) -> Event | DamagedRecord | None:
        """Returns what the tenant sees of a change: an event, or nothing, or that there is one that cannot be shown."""
        old, new = self._shown_version(event.previous), None
        if event.value is not None:
            new = self._shown_version(Record(event.key, event.value, event.revision))
        for version in (old, new):
            if isinstance(version, DamagedRecord):
                return DamagedRecord(version.key, event.revision, PROBLEM)
        if isinstance(new, Record):
            return Event(event.revision, new.key, new.value, old)  # type: ignore[arg-type]
        return Event(event.revision, old.key, None, old) if isinstance(old, Record) else None

    def _shown_version(self, record: Record | None) -> Record | DamagedRecord | None:
        key = None if record is None else self.shown_key(record.key, record.value)
        return None if record is None or key is None else self.tenant_record(key, record)


def _converted(names: NameConverter, key: str, value: bytes, *, to: str) -> bytes:
    """Converts a value. `key` is in the tenant's view; the object is named as in the key `to`."""
    if not value.startswith(b"{"):
        return value
    try:
        object_ = orjson.loads(value)
    except orjson.JSONDecodeError:
        return value
    resource: GroupResource = object_keys.parse_resource(object_keys.resource_in(key))
    object_conversion.convert_in_place(names, resource, object_)
    metadata = object_.get("metadata")
    if _CLUSTER_SCOPED in to and isinstance(metadata, dict) and "name" in metadata:
        metadata["name"] = object_keys.name_in(to)
    return orjson.dumps(object_)
