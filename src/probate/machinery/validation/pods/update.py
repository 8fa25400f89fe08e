"""What of a Pod may change once it is there.

Through the Pod itself: images, `activeDeadlineSeconds` (shorter), tolerations (more), scheduling gates (fewer), and while it is
gated its node selector and affinity. Through its subresources: ephemeral containers (more) and resources.
"""

from __future__ import annotations

from typing import Any

from probate.machinery.preparation import qos
from probate.machinery.problems import Path, forbidden, invalid, required
from probate.machinery.validation.fields import MAX_INT32, Problems, Value, child, each, is_same, items, objects, text, without
from probate.machinery.validation.pods import spec as pods

_LISTS = ("containers", "initContainers")
_MUTABLE = (*_LISTS, "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
_WHILE_GATED = ("nodeSelector", "affinity")
_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_update(new: Value, old: Value) -> Problems:
    """A Pod that replaces another."""
    path = Path("spec")
    spec, before = child(new, "spec"), child(old, "spec")
    moved = [name for name in _LISTS if len(items(spec, name)) != len(items(before, name))]
    if moved:
        yield from (forbidden(path / name, "pod updates may not add or remove containers") for name in moved)
        return
    for container, at in (*each(spec, path, "containers"), *each(spec, path, "initContainers")):
        if not text(container, "image"):
            yield required(at / "image")
    yield from _check_deadline(spec, before, path / "activeDeadlineSeconds")
    yield from _check_tolerations(spec, before, path / "tolerations")
    yield from _check_gates(spec, before, path / "schedulingGates")
    if not is_same(_fixed(spec, before), _fixed(before, before)) or not _is_grace_kept(spec, before):
        yield forbidden(path, _MAY_CHANGE)


def check_ephemeral_containers(new: Value, old: Value) -> Problems:
    """A Pod sent to its `ephemeralcontainers`: they may be added, and stay as they are.

    The Pod is checked as a whole: one that is wrong could never be changed again.
    """
    yield from pods.check_pod(new)
    path = Path("spec") / "ephemeralContainers"
    added = {text(one, "name"): one for one in objects(child(new, "spec"), "ephemeralContainers")}
    for container in objects(child(old, "spec"), "ephemeralContainers"):
        name = text(container, "name")
        if name not in added:
            yield forbidden(path, f"existing ephemeral containers {name!r} may not be removed")
        elif not is_same(added[name], container):
            yield forbidden(path, f"existing ephemeral containers {name!r} may not be changed")


def check_resize(new: Value, old: Value) -> Problems:
    """A Pod sent to its `resize`: only resources of containers may differ, and its class of service is for life."""
    yield from pods.check_pod(new)
    spec, before = child(new, "spec"), child(old, "spec")
    if not is_same(_without_resources(spec), _without_resources(before)):
        yield forbidden(Path("spec"), "only cpu and memory resources are mutable")
    given = text(child(old, "status"), "qosClass") or qos.qos_class(before)
    if qos.qos_class(spec) != given:
        yield invalid(Path("metadata"), given, "Pod QOS Class may not change as a result of resizing")


def _without_resources(spec: Value) -> Value:
    lists = {name: [without(one, "resources", "resizePolicy") for one in objects(spec, name)] for name in _LISTS}
    return {**without(spec, "resources"), **lists}


def _check_deadline(spec: Value, before: Value, path: Path) -> Problems:
    new, old = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is not None and not 0 <= new <= MAX_INT32:
        yield invalid(path, new, f"must be between 0 and {MAX_INT32}, inclusive")
    elif new is not None and old is not None and new > old:
        yield invalid(path, new, "must be less than or equal to previous value")
    elif new is None and old is not None:
        yield invalid(path, None, "must not update from a positive integer to nil value")


def _check_tolerations(spec: Value, before: Value, path: Path) -> Problems:
    kept = [without(one, "tolerationSeconds") for one in objects(spec, "tolerations")]
    if any(not _holds(kept, without(one, "tolerationSeconds")) for one in objects(before, "tolerations")):
        yield forbidden(path, "existing toleration can not be modified except its tolerationSeconds")


def _holds(many: list[Value], one: Value) -> bool:
    return any(is_same(candidate, one) for candidate in many)


def _check_gates(spec: Value, before: Value, path: Path) -> Problems:
    known = {text(gate, "name") for gate in objects(before, "schedulingGates")}
    for gate in objects(spec, "schedulingGates"):
        name = text(gate, "name")
        if name not in known:
            yield forbidden(path, f"only deletion is allowed, but found new scheduling gate '{name}'")


def _is_grace_kept(spec: Value, before: Value) -> bool:
    new, old = spec.get("terminationGracePeriodSeconds"), before.get("terminationGracePeriodSeconds")
    return bool(new == old or (new == 1 and (old or 0) < 0))


def _fixed(spec: Value, before: Value) -> Value:
    """The part of a spec that may not change."""
    is_gated = bool(items(before, "schedulingGates"))
    lists: dict[str, Any] = {name: [without(one, "image") for one in objects(spec, name)] for name in _LISTS}
    return {**without(spec, *_MUTABLE, *(_WHILE_GATED if is_gated else ())), **lists}
