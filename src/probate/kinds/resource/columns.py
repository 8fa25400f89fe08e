"""Table columns of dynamic resource allocation: claims, templates, classes, slices and taint rules."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text


def _named(object_: Object, now: float) -> list[Any]:
    return [object_fields.name(object_), ages.object_age(object_, now)]


def _resource_claim(claim: Object, now: float) -> list[Any]:
    return [object_fields.name(claim), ",".join(_states(claim)), ages.object_age(claim, now)]


def _states(claim: Object) -> list[str]:
    states = ["deleted"] if object_fields.is_deleting(claim) else []
    if not isinstance(object_fields.at(claim, "status", "allocation"), dict):
        return states or ["pending"]
    states.append("allocated")
    if object_fields.count(claim, "status", "reservedFor"):
        states.append("reserved")
    return states


def _resource_slice(slice_: Object, now: float) -> list[Any]:
    return [
        object_fields.name(slice_),
        object_fields.text(slice_, "spec", "nodeName"),
        object_fields.text(slice_, "spec", "driver"),
        object_fields.text(slice_, "spec", "pool", "name"),
        ages.object_age(slice_, now),
    ]


def _device_taint_rule(rule: Object, now: float) -> list[Any]:
    taint = object_fields.mapping(rule, "spec", "taint")
    added = taint.get("timeAdded")
    return [
        object_fields.name(rule),
        *(object_fields.text(taint, one) for one in ("key", "value", "effect")),
        "" if added is None else ages.age_since(added, now),
        ages.object_age(rule, now),
    ]


_GROUP = "resource.k8s.io"

PRINTERS = {
    (_GROUP, "deviceclasses"): Printer((NAME, AGE), _named),
    (_GROUP, "resourceclaimtemplates"): Printer((NAME, AGE), _named),
    (_GROUP, "resourceclaims"): Printer(
        (NAME, text("State", "The state of the claim: pending, allocated, reserved, deleted."), AGE), _resource_claim
    ),
    (_GROUP, "resourceslices"): Printer(
        (
            NAME,
            text("Node", "The node that has the devices, if they belong to one."),
            text("Driver", "The driver of the devices."),
            text("Pool", "The pool of the slice."),
            AGE,
        ),
        _resource_slice,
    ),
    (_GROUP, "devicetaintrules"): Printer(
        (
            NAME,
            text("Key", "The taint's key."),
            text("Value", "The taint's value."),
            text("Effect", "The effect on claims that do not tolerate the taint."),
            text("TimeAdded", "How long ago the taint was added."),
            AGE,
        ),
        _device_taint_rule,
    ),
}
