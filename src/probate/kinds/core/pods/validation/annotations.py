"""Validates annotations of Pods and templates that Kubernetes interprets: mirror pods, the pod deletion cost, AppArmor."""

from __future__ import annotations

import re

from probate.api.field_errors import FieldPath, forbidden, invalid
from probate.kinds.shared.field_checks import Problems, Value, child, objects, text

MIRROR = "kubernetes.io/config.mirror"

_COST = "controller.kubernetes.io/pod-deletion-cost"
_PROFILE = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = ("", "runtime/default", "unconfined")
_INTEGER = re.compile(r"0|-?[0-9]{1,40}")
_LISTS = ("containers", "initContainers", "ephemeralContainers")
_PATH = FieldPath("metadata") / "annotations"


def check_annotations(annotations: Value, spec: Value, path: FieldPath, *, is_cost_checked: bool = True) -> Problems:
    """Validates the annotations of a Pod with this spec, or of a template."""
    if MIRROR in annotations and not text(spec, "nodeName"):
        yield invalid(path @ MIRROR, annotations[MIRROR], "must set spec.nodeName if mirror pod annotation is set")
    if is_cost_checked and not _is_cost(annotations):
        yield invalid(path @ _COST, annotations[_COST], "must be a 32bit integer")
    profiles = {key: value for key, value in annotations.items() if key.startswith(_PROFILE)}
    known = {text(one, "name") for name in _LISTS for one in objects(spec, name)} if profiles else set()
    for key, profile in profiles.items():
        if key.removeprefix(_PROFILE) not in known:
            yield invalid(path @ key, key.removeprefix(_PROFILE), "container not found")
        if profile not in _PROFILES and not profile.startswith("localhost/"):
            yield invalid(path @ key, profile, "must be a valid AppArmor profile")


def check_changes(new: Value, old: Value) -> Problems:
    """Validates the changes of a Pod's annotations. A deletion cost that was invalid before may stay."""
    now, before = (child(child(pod, "metadata"), "annotations") for pod in (new, old))
    if now == before:
        return
    for key in (*before, *(key for key in now if key not in before)):
        if now.get(key) != before.get(key) and (key == MIRROR or key.startswith(_PROFILE)):
            yield forbidden(_PATH @ key, "may not be added, removed or changed")
    yield from check_annotations(now, child(new, "spec"), _PATH, is_cost_checked=_is_cost(before))


def _is_cost(annotations: Value) -> bool:
    """Reports whether the deletion cost, if set, is a number as Go writes it: no plus sign, no leading zeros."""
    cost = annotations.get(_COST)
    if cost is None:
        return True
    if _INTEGER.fullmatch(cost) is None or (cost.startswith("0") and cost != "0"):
        return False
    return -(2**31) <= int(cost) < 2**31
