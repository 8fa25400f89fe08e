"""Validates changes of a Pod.

Through the Pod itself may change: images, `activeDeadlineSeconds` (decrease), tolerations (additions), scheduling gates (removals),
and, while the Pod is gated, its placement (`scheduling_gates`). Through subresources: ephemeral containers (additions) and
resources (`resize`).
"""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.kinds.core.pods.validation import annotations as validation_annotations
from probate.kinds.core.pods.validation import scheduling_gates
from probate.kinds.core.pods.validation import spec as pods
from probate.kinds.shared.field_checks import MAX_INT32, Problems, Value, child, each, is_same, items, objects, text, without

_LISTS = ("containers", "initContainers")
_MUTABLE = (*_LISTS, "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_update(new: Value, old: Value) -> Problems:
    """Validates a Pod that replaces another."""
    path = FieldPath("spec")
    spec, before = child(new, "spec"), child(old, "spec")
    yield from validation_annotations.check_changes(new, old)
    for name in _LISTS:
        if len(items(spec, name)) != len(items(before, name)):
            yield forbidden(path / name, "pod updates may not add or remove containers")
            return
        yield from (required(at / "image") for container, at in each(spec, path, name) if not text(container, "image"))
    late = list(_check_deadline(spec, before, path / "activeDeadlineSeconds"))
    yield from late
    if late and spec.get("activeDeadlineSeconds") is not None:
        return
    yield from _check_tolerations(spec, before, path / "tolerations")
    yield from _check_gates(spec, before, path / "schedulingGates")
    yield from scheduling_gates.check_placement(spec, before, path)
    if not is_same(_fixed(spec, before), _fixed(before, before)) or not _is_grace_kept(spec, before):
        yield forbidden(path, _MAY_CHANGE)


def check_ephemeral_containers(new: Value, old: Value) -> Problems:
    """Validates a Pod written through `ephemeralcontainers`: they may be added, and existing ones do not change.

    The Pod is validated as a whole: an invalid Pod could never be changed again.
    """
    if validation_annotations.MIRROR in child(child(old, "metadata"), "annotations"):
        yield forbidden(FieldPath(), "static pods do not support ephemeral containers")
        return
    yield from pods.check_pod(new)
    path = FieldPath("spec") / "ephemeralContainers"
    added = {text(one, "name"): one for one in objects(child(new, "spec"), "ephemeralContainers")}
    for container in objects(child(old, "spec"), "ephemeralContainers"):
        name = text(container, "name")
        if name not in added:
            yield forbidden(path, f"existing ephemeral containers {name!r} may not be removed")
        elif not is_same(added[name], container):
            yield forbidden(path, f"existing ephemeral containers {name!r} may not be changed")


def _check_deadline(spec: Value, before: Value, path: FieldPath) -> Problems:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is not None and not 0 <= new <= MAX_INT32:
        yield invalid(path, new, f"must be between 0 and {MAX_INT32}, inclusive")
    elif new is not None and old is not None and new > old:
        yield invalid(path, new, "must be less than or equal to previous value")
    elif new is None and old is not None:
        yield invalid(path, None, "must not update from a positive integer to nil value")


def _check_tolerations(spec: Value, before: Value, path: FieldPath) -> Problems:
    kept = [without(one, "tolerationSeconds") for one in objects(spec, "tolerations")]
    if any(not _holds(kept, without(one, "tolerationSeconds")) for one in objects(before, "tolerations")):
        yield forbidden(path, "existing toleration can not be modified except its tolerationSeconds")


def _holds(many: list[Value], one: Value) -> bool:
    return any(is_same(candidate, one) for candidate in many)


def _check_gates(spec: Value, before: Value, path: FieldPath) -> Problems:
    known = {text(gate, "name") for gate in objects(before, "schedulingGates")}
    for index, gate in enumerate(objects(spec, "schedulingGates")):
        name = text(gate, "name")
        if name not in known:
            yield forbidden(path / index / "name", f"only deletion is allowed, but found new scheduling gate '{name}'")


def _is_grace_kept(spec: Value, before: Value) -> bool:
    new, old = spec.get("terminationGracePeriodSeconds"), before.get("terminationGracePeriodSeconds")
    return bool(new == old or (new == 1 and (old or 0) < 0))


def _fixed(spec: Value, before: Value) -> Value:
    """Returns the part of a spec that may not change."""
    lists: dict[str, Any] = {name: [without(one, "image") for one in objects(spec, name)] for name in _LISTS}
    fixed = {**without(spec, *_MUTABLE), **lists}
    return scheduling_gates.without_placement(fixed) if items(before, "schedulingGates") else fixed
