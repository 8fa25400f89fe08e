"""Validates the status of a ResourceClaim: its allocated devices, its consumers, and the device status."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from probate.api.field_errors import FieldPath, forbidden, invalid, too_long, too_many
from probate.kinds.resource import device_names
from probate.kinds.resource.bounded_lists import check_distinct, check_items, key_by_value
from probate.kinds.resource.device_names import Requests
from probate.kinds.resource.device_requests import check_named, devices_of
from probate.kinds.resource.device_taints import check_conditions, check_tolerations
from probate.kinds.resource.opaque_parameters import MAX_CONFIGURATIONS, check_configuration, check_parameters
from probate.kinds.shared.field_checks import (
    IMMUTABLE,
    Problems,
    Value,
    check_choice,
    check_given,
    child,
    is_same,
    items,
    objects,
    text,
)
from probate.kinds.shared.ip_addresses import check_interface
from probate.kinds.shared.selector_validation import check_node_selector

MAX_CONSUMERS = 256
MAX_RESULTS = 32
MAX_CONDITIONS = 8
MAX_ADDRESSES = 16
_MOST_CHARACTERS = {"interfaceName": 256, "hardwareAddress": 128}
_STATUS = FieldPath("status")
_ANY = 2**31
_SOURCES = ("FromClaim", "FromClass")
_ID = ("driver", "pool", "device", "shareID")


def check_status(new: Value, old: Value) -> Problems:
    """Validates the new status of a claim in comparison with the old one."""
    status, before = child(new, "status"), child(old, "status")
    requests = device_names.requests_of(devices_of(new))
    yield from check_distinct(status, _STATUS, "reservedFor", most=MAX_CONSUMERS, check=_check_consumer, key=_uid)
    yield from _check_devices(status)
    yield from _check_reserved(status, before, is_going=bool(child(new, "metadata").get("deletionTimestamp")))
    if status.get("allocation") is not None and before.get("allocation") is not None:
        if not is_same(status["allocation"], before["allocation"]):
            yield invalid(_STATUS / "allocation", status["allocation"], IMMUTABLE)
    elif status.get("allocation") is not None:
        yield from _check_allocation(status["allocation"], _STATUS / "allocation", requests)


def _check_consumer(consumer: Value | None, path: FieldPath) -> Problems:
    yield from check_given(consumer or {}, path, "resource", "name", "uid")


def _uid(consumer: Value | None) -> Hashable:
    return text(consumer or {}, "uid")


def _check_reserved(status: Value, before: Value, *, is_going: bool) -> Problems:
    reserved, path = items(status, "reservedFor"), _STATUS / "reservedFor"
    if reserved and status.get("allocation") is None:
        yield forbidden(path, "may not be specified when `allocated` is not set")
    elif is_going and any(one not in items(before, "reservedFor") for one in reserved):
        yield forbidden(path, "new entries may not be added while `deletionTimestamp` is set")


def _check_devices(status: Value) -> Problems:
    results = objects(child(child(status, "allocation"), "devices"), "results")
    allocated = {_id(one) for one in results}

    def check(device: Value | None, path: FieldPath) -> Problems:
        yield from _check_device(device or {}, path)
        if _id(device) not in allocated:
            yield invalid(path, "/".join(_id(device)), "must be an allocated device in the claim")

    yield from check_distinct(status, _STATUS, "devices", most=_ANY, check=check, key=_id)


def _id(device: Value | None) -> tuple[str, ...]:
    return tuple(text(device or {}, field) for field in _ID)


def _check_device(device: Value, path: FieldPath) -> Problems:
    yield from device_names.check_device(device, path)
    if device.get("shareID") is not None:
        yield from device_names.check_uid(text(device, "shareID"), path / "shareID")
    if len(items(device, "conditions")) > MAX_CONDITIONS:
        yield too_many(path / "conditions", len(items(device, "conditions")), MAX_CONDITIONS)
    if device.get("data") is not None:
        yield from check_parameters(device["data"], path / "data")
    network, here = child(device, "networkData"), path / "networkData"
    for field, most in _MOST_CHARACTERS.items():
        if len(text(network, field).encode(errors="replace")) > most:
            yield too_long(here / field, most)
    yield from check_distinct(network, here, "ips", most=MAX_ADDRESSES, check=_check_address, key=key_by_value)


def _check_address(address: str | None, path: FieldPath) -> Problems:
    yield from check_interface(address or "", path)


def _check_allocation(allocation: Value, path: FieldPath, requests: Requests) -> Problems:
    def result(one: Any, at: FieldPath) -> Problems:
        return _check_result(one or {}, at, requests)

    def config(one: Any, at: FieldPath) -> Problems:
        yield from check_choice(one or {}, at, "source", supported=_SOURCES, is_required=True)
        yield from check_named(one or {}, at, requests)
        yield from check_configuration(one, at)

    devices, here = child(allocation, "devices"), path / "devices"
    yield from check_items(devices, here, "results", most=MAX_RESULTS, check=result)
    yield from check_items(devices, here, "config", most=2 * MAX_CONFIGURATIONS, check=config)
    if allocation.get("nodeSelector") is not None:
        yield from check_node_selector(allocation["nodeSelector"], path / "nodeSelector")


def _check_result(result: Value, path: FieldPath, requests: Requests) -> Problems:
    yield from device_names.check_request(text(result, "request"), path / "request", requests)
    yield from device_names.check_device(result, path)
    yield from check_conditions(result, path)
    yield from check_tolerations(result, path)
    if result.get("shareID") is not None:
        yield from device_names.check_uid(text(result, "shareID"), path / "shareID")
