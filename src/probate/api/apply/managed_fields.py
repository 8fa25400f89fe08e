"""`metadata.managedFields`: one entry per manager, operation and subresource.

    {"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "time": "...", "fieldsType": "FieldsV1", "fieldsV1": {...}}

Manager and subresource identify an entry of an apply, whatever version was applied last; an entry of an update is identified by
its version, too.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import orjson

from probate.api.apply import field_set_order, field_sets
from probate.api.apply.field_sets import FieldSet

Entry: TypeAlias = dict[str, Any]

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATE_MANAGERS = 10
ANCIENT_CHANGES = "ancient-changes"
"""The manager that owns the fields of update managers beyond `MAX_UPDATE_MANAGERS`."""
MAX_CLIENT_ENTRIES = 1_000


class FieldManager(NamedTuple):
    """The identity of a field manager: its name, the API version that it writes, and the subresource through which it writes."""

    manager: str
    version: str
    subresource: str = ""


def new_entry(manager: FieldManager, operation: str, fields: FieldSet | orjson.Fragment, *, time: str) -> Entry:
    """Returns a new entry."""
    name, version, subresource = manager
    if isinstance(fields, dict):
        fields = field_set_order.sort_fields(fields)
    entry: Entry = {
        "manager": name,
        "operation": operation,
        "apiVersion": version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if not time:
        del entry["time"]
    if subresource:
        entry["subresource"] = subresource
    return entry


def manager_of(entry: Entry) -> FieldManager:
    """Returns the manager of an entry."""
    return FieldManager(entry.get("manager", ""), entry.get("apiVersion", ""), entry.get("subresource", ""))


def matches(entry: Entry, manager: FieldManager, operation: str) -> bool:
    """Returns whether the entry holds the fields that the manager owns through this operation."""
    if entry.get("operation") != operation or entry.get("manager") != manager.manager:
        return False
    if entry.get("subresource", "") != manager.subresource:
        return False
    return operation == APPLY or entry.get("apiVersion") == manager.version


def replace_fields(entry: Entry, fields: FieldSet) -> Entry:
    """Returns the entry with other fields."""
    return {**entry, "fieldsV1": fields}


def sort_entries(entries: list[Entry]) -> list[Entry]:
    """Returns the entries in Kubernetes' order: applies first, then by time."""

    def sort_key(entry: Entry) -> tuple[str, ...]:
        return tuple(entry.get(key, "") for key in ("operation", "time", "manager", "apiVersion", "subresource"))

    return sorted(entries, key=sort_key)


def cap_update_managers(entries: list[Entry]) -> list[Entry]:
    """Limits the number of update managers: merges the oldest entries of one version."""
    if len(entries) <= MAX_UPDATE_MANAGERS:
        return entries
    updates = (entry for entry in entries if entry["operation"] == UPDATE)
    updaters = sorted(updates, key=lambda entry: (entry.get("time", ""), entry["manager"]))
    excess = len(updaters) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return entries
    versions = Counter(entry["apiVersion"] for entry in updaters)
    buckets: dict[str, list[Entry]] = {}
    for entry in updaters:
        version = entry["apiVersion"]
        if versions[version] > 1 and excess > 0:
            buckets.setdefault(version, []).append(entry)
            excess -= len(buckets[version]) > 1
    joined = [_merge_entries(version, bucket) for version, bucket in buckets.items() if len(bucket) > 1]
    merged = {id(entry) for bucket in buckets.values() if len(bucket) > 1 for entry in bucket}
    return [entry for entry in entries if id(entry) not in merged] + joined


def _merge_entries(version: str, entries: list[Entry]) -> Entry:
    fields: FieldSet = {}
    for entry in entries:
        fields = field_sets.union(fields, entry["fieldsV1"])
    return new_entry(FieldManager(ANCIENT_CHANGES, version), UPDATE, fields, time=entries[-1].get("time", ""))


def parse_entries(value: Any) -> list[Entry] | None:
    """Parses entries that a client sent. Returns None if they are malformed."""
    if not isinstance(value, list) or not value or len(value) > MAX_CLIENT_ENTRIES:
        return None
    try:
        return [_parse_entry(entry) for entry in value]
    except field_sets.MalformedFieldSet:
        return None


def _parse_entry(entry: Any) -> Entry:
    if not isinstance(entry, dict) or entry.get("operation") not in {APPLY, UPDATE} or entry.get("fieldsType") != "FieldsV1":
        raise field_sets.MalformedFieldSet
    names = ("manager", "operation", "apiVersion", "time", "subresource")
    if any(not isinstance(entry[name], str) for name in names if entry.get(name) is not None):
        raise field_sets.MalformedFieldSet
    texts = {name: entry[name] for name in names if entry.get(name)}
    fields = field_sets.parse(entry.get("fieldsV1") or {})
    return new_entry(manager_of(texts), texts["operation"], fields, time=texts.get("time", ""))


def is_reset(value: Any) -> bool:
    """Returns whether a client resets the field ownership: by a list with one empty entry."""
    return isinstance(value, list) and len(value) == 1 and value[0] == {}


def equal_ignoring_time(left: list[Entry], right: list[Entry]) -> bool:
    """Returns whether the entries are equal except for their times."""
    if len(left) != len(right):
        return False

    def untimed(entries: list[Entry]) -> list[Entry]:
        return sort_entries([{key: value for key, value in entry.items() if key != "time"} for entry in entries])

    return untimed(left) == untimed(right)
