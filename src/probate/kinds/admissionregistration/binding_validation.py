"""Validates the bindings of admission policies."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_supported, required
from probate.kinds.admissionregistration.policy_validation import SPEC, check_match
from probate.kinds.shared.field_checks import Problems, Value, check_choice, check_name, check_rule, child, text, texts
from probate.kinds.shared.selector_validation import check_label_selector

_ACTIONS = ("Deny", "Warn", "Audit")


def check_validating_binding(binding: Value) -> Problems:
    """Validates a ValidatingAdmissionPolicyBinding."""
    spec = child(binding, "spec")
    yield from _check_binding(spec)
    actions = texts(spec, "validationActions")
    if not actions:
        yield required(SPEC / "validationActions", "at least one validation action is required")
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(SPEC / "validationActions" / index, action, _ACTIONS)
        if action in seen:
            yield duplicate(SPEC / "validationActions" / index, action)
        seen.add(action)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(SPEC / "validationActions", actions, "must not contain both Deny and Warn")


def check_mutating_binding(binding: Value) -> Problems:
    """Validates a MutatingAdmissionPolicyBinding."""
    yield from _check_binding(child(binding, "spec"))


def _check_binding(spec: Value) -> Problems:
    yield from check_name(spec, SPEC, "policyName", rule=names.validate_dns_subdomain)
    ref, path = spec.get("paramRef"), SPEC / "paramRef"
    if isinstance(ref, dict):
        yield from _check_ref(ref, path)
    if spec.get("matchResources") is not None:
        yield from check_match(child(spec, "matchResources"), SPEC / "matchResources", needs_rules=False)


def _check_ref(ref: Value, path: FieldPath) -> Problems:
    name, selector = text(ref, "name"), ref.get("selector")
    if name and selector is not None:
        yield from (forbidden(path / field, "name and selector are mutually exclusive") for field in ("name", "selector"))
    elif name:
        yield from check_rule(name, path / "name", names.validate_path_segment)
    elif selector is None:
        yield required(path, "one of name or selector must be specified")
    else:
        yield from check_label_selector(selector, path / "selector")
    yield from check_choice(ref, path, "parameterNotFoundAction", supported=("Allow", "Deny"), is_required=True)
