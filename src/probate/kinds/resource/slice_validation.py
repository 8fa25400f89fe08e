"""Validates ResourceSlices: the devices of a driver, where they are, and their properties."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from probate.api import names
from probate.api.cel.library import semantic_versions
from probate.api.field_errors import FieldPath, invalid, required, too_long
from probate.kinds.resource import capacities, device_names
from probate.kinds.resource.bounded_lists import check_distinct, check_entries, check_items, key_by_name
from probate.kinds.resource.device_selectors import MAX_ENTRIES, MAX_VALUE, MAX_VALUES
from probate.kinds.resource.device_taints import check_conditions, check_taint
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_name,
    check_rule,
    check_unchanged,
    child,
    is_same,
    items,
    objects,
    text,
    texts,
)
from probate.kinds.shared.selector_validation import check_node_selector

MAX_DEVICES = 128
MAX_ELABORATE_DEVICES = 64
"""The maximum number of devices if some have taints, counters or attributes with several values."""
MAX_COUNTER_SETS = 8
MAX_COUNTERS = 32
MAX_CONSUMPTIONS = 2
MAX_TAINTS = 16

_SPEC = FieldPath("spec")
_PLACES = ("nodeName", "nodeSelector", "allNodes")
_LISTS = ("bools", "ints", "strings", "versions")
_VALUES = ("bool", "int", "string", "version", *_LISTS)


def create_slice(slice_: Value) -> Problems:
    """Validates a new ResourceSlice."""
    yield from _check_slice(slice_, None)


def update_slice(new: Value, old: Value) -> Problems:
    """Validates a changed ResourceSlice: its driver, pool and node do not change."""
    spec, before = child(new, "spec"), child(old, "spec")
    yield from _check_slice(new, old)
    pools = child(spec, "pool").get("name"), child(before, "pool").get("name")
    yield from check_unchanged(*pools, _SPEC / "pool" / "name")
    for field in ("driver", "nodeName"):
        yield from check_unchanged(spec.get(field), before.get(field), _SPEC / field)


def _check_slice(slice_: Value, old: Value | None) -> Problems:
    spec = child(slice_, "spec")
    before = {text(one, "name"): one for one in objects(child(old or {}, "spec"), "devices")}
    yield from device_names.check_driver(text(spec, "driver"), _SPEC / "driver")
    yield from _check_pool(child(spec, "pool"), _SPEC / "pool")
    yield from _check_place(spec, _SPEC, (*_PLACES, "perDeviceNodeSelection"))
    if len(items(child(spec, "nodeSelector"), "nodeSelectorTerms")) > 1:
        terms = _SPEC / "nodeSelector" / "nodeSelectorTerms"
        yield invalid(terms, spec["nodeSelector"]["nodeSelectorTerms"], "must have exactly one node selector term")
    if items(spec, "sharedCounters") and items(spec, "devices"):
        yield invalid(_SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _check_devices(spec, before)
    yield from check_distinct(spec, _SPEC, "sharedCounters", most=MAX_COUNTER_SETS, check=_check_counters, key=key_by_name)


def _check_pool(pool: Value, path: FieldPath) -> Problems:
    yield from device_names.check_pool(text(pool, "name"), path / "name")
    if (pool.get("resourceSliceCount") or 0) <= 0:
        yield invalid(path / "resourceSliceCount", pool.get("resourceSliceCount") or 0, "must be greater than zero")
    if (pool.get("generation") or 0) < 0:
        yield invalid(path / "generation", pool["generation"], "must be greater than or equal to zero")


def _check_place(parent: Value, path: FieldPath, fields: Collection[str]) -> Problems:
    """Validates that exactly one of the fields says where devices are."""
    given = [field for field in fields if parent.get(field) not in (None, False, "")]
    for field in fields:
        if parent.get(field) in (False, ""):
            yield invalid(path / field, parent[field], "must be either unset, or name a node or be true")
    if text(parent, "nodeName"):
        yield from check_rule(text(parent, "nodeName"), path / "nodeName", names.validate_dns_subdomain)
    if parent.get("nodeSelector") is not None:
        yield from check_node_selector(child(parent, "nodeSelector"), path / "nodeSelector")
    message = f"exactly one of {', '.join(f'`{one}`' for one in fields)} is required"
    if not given:
        yield required(path, message)
    elif len(given) > 1:
        yield invalid(path, given, f"{message}, but multiple fields are set")


def _check_devices(spec: Value, before: Mapping[str, Value]) -> Problems:
    is_selected_each = bool(spec.get("perDeviceNodeSelection"))

    def check(device: Value | None, path: FieldPath) -> Problems:
        device = device or {}
        yield from _check_device(device, before.get(text(device, "name")), path)
        if is_selected_each:
            yield from _check_place(device, path, _PLACES)
        elif any(device.get(field) is not None for field in _PLACES):
            yield invalid(path, None, "only devices of slices with `perDeviceNodeSelection` can say where they are")

    most = MAX_ELABORATE_DEVICES if any(map(_is_elaborate, objects(spec, "devices"))) else MAX_DEVICES
    yield from check_distinct(spec, _SPEC, "devices", most=most, check=check, key=key_by_name)


def _is_elaborate(device: Value) -> bool:
    attributes = child(device, "attributes").values()
    return bool(
        items(device, "taints")
        or items(device, "consumesCounters")
        or any((one or {}).get(field) is not None for one in attributes for field in _LISTS)
    )


def _check_device(device: Value, before: Value | None, path: FieldPath) -> Problems:
    yield from check_name(device, path, "name", rule=names.validate_dns_label)
    yield from _check_sizes(device, path)
    yield from check_entries(
        device, path, "attributes", most=len(child(device, "attributes")), name=device_names.check_attribute, check=_check_attribute
    )
    if before is None or not is_same(device.get("capacity"), before.get("capacity")):
        check = capacities.check_capacity if device.get("allowMultipleAllocations") else capacities.check_whole
        yield from check_entries(
            device, path, "capacity", most=len(child(device, "capacity")), name=device_names.check_attribute, check=check
        )
    if before is None or not is_same(device.get("taints"), before.get("taints")):
        yield from check_items(device, path, "taints", most=MAX_TAINTS, check=check_taint)
    yield from check_distinct(device, path, "consumesCounters", most=MAX_CONSUMPTIONS, check=_check_consumption, key=_counter_set)
    yield from check_conditions(device, path)


def _check_sizes(device: Value, path: FieldPath) -> Problems:
    attributes = child(device, "attributes")
    count = len(attributes) + len(child(device, "capacity"))
    if count > MAX_ENTRIES:
        yield invalid(path, count, f"the total number of attributes and capacities must not exceed {MAX_ENTRIES}")
    values = sum(sum(len(items(one or {}, field)) for field in _LISTS) or 1 for one in attributes.values())
    if values > MAX_VALUES:
        yield invalid(path, values, f"the total number of attribute values must not exceed {MAX_VALUES}")


def _check_attribute(attribute: Value, path: FieldPath) -> Problems:
    given = [field for field in _VALUES if attribute.get(field) is not None]
    if len(given) != 1:
        yield invalid(path, attribute, "exactly one value must be specified")
    for field in given:
        if field in _LISTS and not attribute[field]:
            yield invalid(path / field, attribute[field], "must not be empty if specified")
    for field in ("string", "version"):
        if attribute.get(field) is not None:
            yield from _check_value(text(attribute, field), path / field, is_version=field == "version")
        for index, value in enumerate(texts(attribute, f"{field}s")):
            yield from _check_value(value, path / f"{field}s" / index, is_version=field == "version")


def _check_value(value: str, path: FieldPath, *, is_version: bool) -> Problems:
    if is_version and semantic_versions.parse(value) is None:
        yield invalid(path, value, "must be a version as in semver.org spec 2.0.0")
    if len(value.encode(errors="replace")) > MAX_VALUE:
        yield too_long(path, MAX_VALUE)


def _check_counters(set_: Value | None, path: FieldPath) -> Problems:
    yield from device_names.check_label(text(set_ or {}, "name"), path / "name")
    yield from _check_entries(set_ or {}, path)


def _check_consumption(consumption: Value | None, path: FieldPath) -> Problems:
    yield from device_names.check_label(text(consumption or {}, "counterSet"), path / "counterSet")
    yield from _check_entries(consumption or {}, path)


def _counter_set(consumption: Value | None) -> str:
    return text(consumption or {}, "counterSet")


def _check_entries(parent: Value, path: FieldPath) -> Problems:
    if not child(parent, "counters"):
        yield required(path / "counters")
    yield from check_entries(parent, path, "counters", most=MAX_COUNTERS, name=device_names.check_label, check=_any_counter)


def _any_counter(_: Value, __: FieldPath) -> Problems:
    """Accepts any amount of a counter."""
    yield from ()
