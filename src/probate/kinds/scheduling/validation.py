"""Validates PriorityClasses, PodDisruptionBudgets and RuntimeClasses."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid
from probate.kinds.core.pods.validation.container_resources import check_amounts
from probate.kinds.core.pods.validation.placement import check_scheduling
from probate.kinds.shared import system_priority_classes
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_at_most_all,
    check_choice,
    check_count_or_percent,
    check_rule,
    check_unchanged,
    child,
    each,
    is_same,
    text,
)
from probate.kinds.shared.selector_validation import check_label_selector

HIGHEST_USER_PRIORITY = 1_000_000_000

_SPEC = FieldPath("spec")
_SYSTEM_PREFIX = "system-"


def check_priority_class(class_: Value) -> Problems:
    """Validates a PriorityClass: the highest values and the names that begin with `system-` are reserved."""
    name, value = text(child(class_, "metadata"), "name"), class_.get("value") or 0
    if name.startswith(_SYSTEM_PREFIX):
        if system_priority_classes.VALUES.get(name) != value or class_.get("globalDefault"):
            yield forbidden(
                FieldPath("metadata") / "name", "priority class names with 'system-' prefix are reserved for system use only"
            )
    elif value > HIGHEST_USER_PRIORITY:
        yield forbidden(FieldPath("value"), f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}")
    yield from check_choice(class_, FieldPath(), "preemptionPolicy", supported=("PreemptLowerPriority", "Never"))


def check_disruption_budget(budget: Value) -> Problems:
    """Validates a PodDisruptionBudget."""
    spec = child(budget, "spec")
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield invalid(_SPEC, spec, "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if spec.get(field) is not None:
            yield from check_count_or_percent(spec[field], _SPEC / field)
            yield from check_at_most_all(spec[field], _SPEC / field)
    yield from check_label_selector(spec.get("selector"), _SPEC / "selector")
    yield from check_choice(spec, _SPEC, "unhealthyPodEvictionPolicy", supported=("IfHealthyBudget", "AlwaysAllow"))


def check_runtime_class(class_: Value) -> Problems:
    """Validates a RuntimeClass."""
    yield from check_rule(text(class_, "handler"), FieldPath("handler"), names.validate_dns_label)
    yield from check_amounts(child(child(class_, "overhead"), "podFixed"), FieldPath("overhead") / "podFixed")
    scheduling = child(class_, "scheduling")
    placed = {field: scheduling.get(field) for field in ("nodeSelector", "tolerations")}
    yield from check_scheduling(placed, FieldPath("scheduling"))
    yield from _check_tolerated_once(scheduling)


def _check_tolerated_once(scheduling: Value) -> Problems:
    seen: set[tuple[Any, ...]] = set()
    for toleration, at in each(scheduling, FieldPath("scheduling"), "tolerations"):
        meant = tuple(toleration.get(field) or "" for field in ("key", "operator", "value", "effect", "tolerationSeconds"))
        if meant in seen:
            yield duplicate(at, toleration)
        seen.add(meant)


def update_priority_class(new: Value, old: Value) -> Problems:
    """Validates that the value and the preemption policy of a class do not change, because Pods use them."""
    if (new.get("value") or 0) != (old.get("value") or 0):
        yield forbidden(FieldPath("value"), "may not be changed in an update.")
    policies = [text(one, "preemptionPolicy") or "PreemptLowerPriority" for one in (new, old)]
    if not is_same(*policies):
        yield invalid(FieldPath("preemptionPolicy"), policies[0], "field is immutable")


def update_runtime_class(new: Value, old: Value) -> Problems:
    """Validates that the handler does not change."""
    yield from check_unchanged(new.get("handler"), old.get("handler"), FieldPath("handler"))
