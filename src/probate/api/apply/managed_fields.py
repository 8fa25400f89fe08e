"""`metadata.managedFields`: one entry for each manager, way of writing, and path it was written through.

    {"manager": "kubectl", "operation": "Apply", "apiVersion": "v1", "time": "...", "fieldsType": "FieldsV1", "fieldsV1": {...}}

An entry of an apply is found by its manager and subresource, whatever version was applied last; that of an update also by its
version.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TypeAlias

import orjson

from probate.api.apply import field_set_order, field_sets
from probate.api.apply.field_sets import FieldSet

Entry: TypeAlias = dict[str, Any]

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
ANCIENT = "ancient-changes"
"""Whom the fields belong to of those who would be too many."""
MAX_GIVEN = 1_000


class Who(NamedTuple):
    """Who writes: under which name, in which version, through which subresource."""

    manager: str
    version: str
    subresource: str = ""


def made(who: Who, operation: str, fields: FieldSet | orjson.Fragment, time: str) -> Entry:
    """A new entry."""
    manager, version, subresource = who
    if isinstance(fields, dict):
        fields = field_set_order.ordered(fields)
    entry: Entry = {
        "manager": manager,
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


def owner(entry: Entry) -> Who:
    """Whose entry it is."""
    return Who(entry.get("manager", ""), entry.get("apiVersion", ""), entry.get("subresource", ""))


def is_of(entry: Entry, who: Who, operation: str) -> bool:
    """Whether this is where the fields stand that they write in this way."""
    if entry.get("operation") != operation or entry.get("manager") != who.manager:
        return False
    if entry.get("subresource", "") != who.subresource:
        return False
    return operation == APPLY or entry.get("apiVersion") == who.version


def with_fields(entry: Entry, fields: FieldSet) -> Entry:
    """The entry, for these fields."""
    return {**entry, "fieldsV1": fields}


def ordered(entries: list[Entry]) -> list[Entry]:
    """As Kubernetes has them: those of applies first, and the oldest first."""

    def place(entry: Entry) -> tuple[str, ...]:
        return tuple(entry.get(key, "") for key in ("operation", "time", "manager", "apiVersion", "subresource"))

    return sorted(entries, key=place)


def capped(entries: list[Entry]) -> list[Entry]:
    """Not too many who updated: the oldest of one version become one."""
    if len(entries) <= MAX_UPDATERS:
        return entries
    updaters = sorted((one for one in entries if one["operation"] == UPDATE), key=lambda one: (one.get("time", ""), one["manager"]))
    excess = len(updaters) - MAX_UPDATERS
    if excess <= 0:
        return entries
    shared = Counter(one["apiVersion"] for one in updaters)
    buckets: dict[str, list[Entry]] = {}
    for one in updaters:
        version = one["apiVersion"]
        if shared[version] > 1 and excess > 0:
            buckets.setdefault(version, []).append(one)
            excess -= len(buckets[version]) > 1
    joined = [_joined(version, ones) for version, ones in buckets.items() if len(ones) > 1]
    gone = {id(one) for ones in buckets.values() if len(ones) > 1 for one in ones}
    return [one for one in entries if id(one) not in gone] + joined


def _joined(version: str, ones: list[Entry]) -> Entry:
    fields: FieldSet = {}
    for one in ones:
        fields = field_sets.union(fields, one["fieldsV1"])
    return made(Who(ANCIENT, version), UPDATE, fields, ones[-1].get("time", ""))


def read(given: Any) -> list[Entry] | None:
    """Entries that a client wrote; None if they are none that can be used."""
    if not isinstance(given, list) or not given or len(given) > MAX_GIVEN:
        return None
    try:
        return [_read(entry) for entry in given]
    except field_sets.Malformed:
        return None


def _read(entry: Any) -> Entry:
    if not isinstance(entry, dict) or entry.get("operation") not in {APPLY, UPDATE} or entry.get("fieldsType") != "FieldsV1":
        raise field_sets.Malformed
    texts = ("manager", "operation", "apiVersion", "time", "subresource")
    if any(not isinstance(entry[name], str) for name in texts if entry.get(name) is not None):
        raise field_sets.Malformed
    kept = {name: entry[name] for name in texts if entry.get(name)}
    written = field_sets.read(entry.get("fieldsV1") or {})
    return made(owner(kept), kept["operation"], written, kept.get("time", ""))


def is_reset(given: Any) -> bool:
    """Whether a client asks that nobody owns anything any more: by a list with one empty entry."""
    return isinstance(given, list) and len(given) == 1 and given[0] == {}


def are_same(some: list[Entry], others: list[Entry]) -> bool:
    """Whether they say the same, but for when."""
    if len(some) != len(others):
        return False

    def untimed(entries: list[Entry]) -> list[Entry]:
        return ordered([{key: value for key, value in entry.items() if key != "time"} for entry in entries])

    return untimed(some) == untimed(others)
