"""Validates device taints, their tolerations, and the binding conditions of devices."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, invalid, too_many
from probate.kinds.resource import device_names
from probate.kinds.resource.bounded_lists import check_items
from probate.kinds.shared.field_checks import Problems, Value, check_choice, check_rule, child, each, items, text, texts

EFFECTS = ("NoSchedule", "NoExecute", "None")
MAX_CONDITIONS = 4
MAX_STATUS_CONDITIONS = 8
_SPEC = FieldPath("spec")


def check_taint(taint: Value | None, path: FieldPath) -> Problems:
    """Validates a taint of a device."""
    yield from _check_taint(taint or {}, path)
    yield from check_choice(taint or {}, path, "effect", supported=EFFECTS, is_required=True)


def check_tolerations(parent: Value, path: FieldPath) -> Problems:
    """Validates the tolerations of a request, or those recorded in its allocation."""
    for toleration, at in each(parent, path, "tolerations"):
        value = text(toleration, "value")
        if text(toleration, "key"):
            yield from device_names.check_key(text(toleration, "key"), at / "key")
        if text(toleration, "operator") == "Exists" and value:
            yield invalid(at / "value", value, "must be empty for operator `Exists`")
        elif text(toleration, "operator") == "Equal":
            yield from check_rule(value, at / "value", names.validate_label_value)
        yield from check_choice(toleration, at, "operator", supported=("Equal", "Exists"), is_required=True)
        yield from check_choice(toleration, at, "effect", supported=EFFECTS)


def check_conditions(device: Value, path: FieldPath) -> Problems:
    """Validates binding conditions and binding failure conditions: both or neither are set, and no condition is in both."""
    ready, failed = texts(device, "bindingConditions"), texts(device, "bindingFailureConditions")
    for field in ("bindingConditions", "bindingFailureConditions"):
        yield from check_items(device, path, field, most=MAX_CONDITIONS, check=device_names.check_key)
        yield from _check_repeated(texts(device, field)[: MAX_CONDITIONS + 1], path / field)
    for index, condition in enumerate(failed if max(len(ready), len(failed)) <= MAX_CONDITIONS else ()):
        if condition in ready:
            yield invalid(path / "bindingFailureConditions" / index, condition, "must not be among bindingConditions")
    if failed and not ready:
        yield invalid(path / "bindingConditions", ready, "are required to use bindingFailureConditions")
    if ready and not failed:
        yield invalid(path / "bindingFailureConditions", failed, "are required to use bindingConditions")


def check_rule_of_taints(rule: Value) -> Problems:
    """Validates a DeviceTaintRule."""
    yield from _check_selected(rule)
    yield from check_taint(child(child(rule, "spec"), "taint"), _SPEC / "taint")


def update_rule_of_taints(new: Value, old: Value) -> Problems:
    """Validates a changed DeviceTaintRule: an unchanged effect stays valid."""
    taint = child(child(new, "spec"), "taint")
    is_same = text(taint, "effect") == text(child(child(old, "spec"), "taint"), "effect")
    yield from _check_selected(new)
    yield from (_check_taint if is_same else check_taint)(taint, _SPEC / "taint")


def check_rule_status(new: Value, _: Value) -> Problems:
    """Validates the status of a DeviceTaintRule."""
    count = len(items(child(new, "status"), "conditions"))
    if count > MAX_STATUS_CONDITIONS:
        yield too_many(FieldPath("status") / "conditions", count, MAX_STATUS_CONDITIONS)


def _check_taint(taint: Value, path: FieldPath) -> Problems:
    yield from device_names.check_key(text(taint, "key"), path / "key")
    yield from check_rule(text(taint, "value"), path / "value", names.validate_label_value)


def _check_selected(rule: Value) -> Problems:
    selector, path = child(child(rule, "spec"), "deviceSelector"), _SPEC / "deviceSelector"
    if selector.get("driver") is not None:
        yield from device_names.check_driver(text(selector, "driver"), path / "driver")
    if selector.get("pool") is not None:
        yield from device_names.check_pool(text(selector, "pool"), path / "pool")
    if selector.get("device") is not None:
        yield from check_rule(text(selector, "device"), path / "device", names.validate_dns_label)


def _check_repeated(conditions: list[str], path: FieldPath) -> Problems:
    for index, condition in enumerate(conditions):
        if condition in conditions[:index]:
            yield duplicate(path / index, condition)
