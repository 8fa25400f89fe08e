"""Validates when a container restarts: its own restart policy, rules by exit code, and resize policies."""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath, duplicate, invalid, not_supported, required, too_many
from probate.kinds.shared.field_checks import Problems, Value, check_choice, each, items, text

_POLICIES = ("Always", "OnFailure", "Never")
_ACTIONS = ("Restart", "RestartAllContainers")
_RESIZED = ("cpu", "memory")
_RESIZES = ("NotRequired", "RestartContainer")
_MAX_RULES = 20
_MAX_CODES = 255


def check_restarts(container: Value, path: FieldPath) -> Problems:
    """Validates a container's own restart policy and restart rules."""
    yield from check_choice(container, path, "restartPolicy", supported=_POLICIES)
    rules = items(container, "restartPolicyRules")
    if rules and not text(container, "restartPolicy"):
        yield required(path / "restartPolicy", "must specify restartPolicy when restart rules are used")
    if len(rules) > _MAX_RULES:
        yield too_many(path / "restartPolicyRules", len(rules), _MAX_RULES)
    for rule, at in each(container, path, "restartPolicyRules"):
        yield from check_choice(rule, at, "action", supported=_ACTIONS, is_required=True)
        if rule.get("exitCodes") is None:
            yield required(at / "exitCodes", "must be specified")
        else:
            yield from _check_codes(rule["exitCodes"], at / "exitCodes")


def check_resizes(container: Value, path: FieldPath, policy: str) -> Problems:
    """Validates the resize policy of a container in a Pod with this restart policy.

    Kubernetes reports the path of the list, not the item.
    """
    seen: set[Any] = set()
    for resize, at in each(container, path, "resizePolicy"):
        resource, restart = text(resize, "resourceName"), text(resize, "restartPolicy")
        if resource in seen:
            yield duplicate(at, resource)
        seen.add(resource)
        yield from _check_one_of(resource, path / "resizePolicy", _RESIZED)
        yield from _check_one_of(restart, path / "resizePolicy", _RESIZES)
        if policy == "Never" and restart != "NotRequired":
            yield invalid(path / "resizePolicy", restart, "must be 'NotRequired' when `restartPolicy` is 'Never'")


def _check_codes(codes: Value, path: FieldPath) -> Problems:
    yield from check_choice(codes, path, "operator", supported=("In", "NotIn"), is_required=True)
    if len(items(codes, "values")) > _MAX_CODES:
        yield too_many(path / "values", len(codes["values"]), _MAX_CODES)


def _check_one_of(value: str, path: FieldPath, supported: tuple[str, ...]) -> Problems:
    if not value:
        yield required(path)
    elif value not in supported:
        yield not_supported(path, value, supported)
