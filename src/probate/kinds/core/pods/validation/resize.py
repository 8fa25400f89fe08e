"""Validates a Pod written through `resize`.

CPU and memory of running containers may change; the QoS class may not.
"""

from __future__ import annotations

from probate.api.field_errors import FieldPath, forbidden, invalid
from probate.kinds.core.pods import qos_class
from probate.kinds.core.pods.validation import annotations as validation_annotations
from probate.kinds.core.pods.validation import spec as pods
from probate.kinds.shared.field_checks import Problems, Value, child, is_same, objects, text, without

_SPEC = FieldPath("spec")
_LISTS = ("containers", "initContainers")
_ONLY = "only cpu and memory resources are mutable"


def check_resize(new: Value, old: Value) -> Problems:
    """Validates the changes of a Pod's resources."""
    spec, before = child(new, "spec"), child(old, "spec")
    if validation_annotations.MIRROR in child(child(old, "metadata"), "annotations"):
        yield forbidden(FieldPath(), "static pods cannot be resized")
        return
    if text(child(before, "os"), "name") == "windows":
        yield forbidden(FieldPath(), "windows pods cannot be resized")
        return
    yield from pods.check_pod(new)
    if not is_same(_fixed(spec), _fixed(before)):
        yield forbidden(_SPEC, _ONLY)
        return
    yield from _check_containers(spec, before)
    yield from _check_amounts(child(spec, "resources"), child(before, "resources"), _SPEC / "resources")
    given = text(child(old, "status"), "qosClass") or qos_class.qos_class(before)
    if qos_class.qos_class(spec) != given:
        yield invalid(_SPEC, given, "Pod QOS Class may not change as a result of resizing")


def _check_containers(spec: Value, before: Value) -> Problems:
    for name in _LISTS:
        for index, (container, had) in enumerate(zip(objects(spec, name), objects(before, name), strict=True)):
            at = _SPEC / name / index / "resources"
            if name == "containers" or text(container, "restartPolicy") == "Always":
                yield from _check_amounts(child(container, "resources"), child(had, "resources"), at)
            elif not is_same(container, had):
                yield forbidden(_SPEC, "resources for non-sidecar init containers are immutable")


def _check_amounts(resources: Value, had: Value, path: FieldPath) -> Problems:
    for field in ("requests", "limits"):
        now, before = child(resources, field), child(had, field)
        if before.keys() - now.keys():
            yield forbidden(path / field, f"resource {field} cannot be removed")
    if not is_same(_other(resources), _other(had)):
        yield forbidden(_SPEC, _ONLY)


def _other(resources: Value) -> Value:
    """Returns the resources without those that may change. Resources that are removed altogether are reported separately."""
    return {**resources, **{field: without(child(resources, field), "cpu", "memory") for field in ("requests", "limits")}}


def _fixed(spec: Value) -> Value:
    """Returns a spec without all fields that a resize may change."""
    lists = {name: [without(one, "resources", "resizePolicy") for one in objects(spec, name)] for name in _LISTS}
    return {**without(spec, "resources"), **lists}
