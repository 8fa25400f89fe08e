"""Validates conditions in a status: the common form, which all newer kinds have, and the forms of particular kinds."""

from __future__ import annotations

import re
from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, invalid, not_supported, required, too_long
from probate.kinds.shared.field_checks import Problems, Value, check_nonnegative, check_rule, child, each, text

STATUSES = ("False", "True", "Unknown")

_STATUS = FieldPath("status")
_REASON = re.compile(r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_MAX_REASON = 1024
_MAX_MESSAGE = 32 * 1024


def check_conditions(status: Value, path: FieldPath) -> Problems:
    """Validates conditions of the common form: unique types, and no field absent but the message and the observed generation."""
    seen: set[Any] = set()
    for condition, at in each(status, path, "conditions"):
        yield from _check_once(condition, at, seen)
        yield from check_rule(text(condition, "type"), at / "type", names.validate_qualified_name)
        yield from check_status(condition, at)
        yield from check_nonnegative(condition, at, "observedGeneration")
        if not condition.get("lastTransitionTime"):
            yield required(at / "lastTransitionTime", "must be set")
        yield from _check_reason(text(condition, "reason"), at / "reason")
        if len(text(condition, "message").encode()) > _MAX_MESSAGE:
            yield too_long(at / "message", _MAX_MESSAGE)


def check_status(condition: Value, path: FieldPath) -> Problems:
    """Validates that the status of a condition is True, False or Unknown."""
    if text(condition, "status") not in STATUSES:
        yield not_supported(path / "status", text(condition, "status"), STATUSES)


def check_flow_status(new: Value, old: Value) -> Problems:
    """Validates the status of a FlowSchema or a PriorityLevelConfiguration: each condition has a type, and types are unique."""
    seen: set[Any] = set()
    for condition, at in each(child(new, "status"), _STATUS, "conditions"):
        yield from _check_once(condition, at, seen)
        if not text(condition, "type"):
            yield required(at / "type", "must not be empty")


def check_api_service_status(new: Value, old: Value) -> Problems:
    """Validates the status of an APIService."""
    for condition, at in each(child(new, "status"), _STATUS, "conditions"):
        yield from check_status(condition, at)


def check_policy_status(new: Value, old: Value) -> Problems:
    """Validates the status of a ValidatingAdmissionPolicy: its conditions and its expression warnings."""
    status = child(new, "status")
    warnings = _STATUS / "typeChecking"
    for warning, at in each(child(status, "typeChecking"), warnings, "expressionWarnings"):
        yield from (required(at / field) for field in ("fieldRef", "warning") if not text(warning, field))
    yield from check_conditions(status, _STATUS)


def _check_once(condition: Value, path: FieldPath, seen: set[Any]) -> Problems:
    type_ = text(condition, "type")
    if type_ in seen:
        yield duplicate(path / "type", type_)
    seen.add(type_)


def _check_reason(reason: str, path: FieldPath) -> Problems:
    if not reason:
        yield required(path, "must be set")
        return
    if len(reason) > _MAX_REASON:
        yield too_long(path, _MAX_REASON)
    if _REASON.fullmatch(reason[: _MAX_REASON + 1]) is None:
        yield invalid(path, reason, "must begin with a letter and consist of letters, digits, '_', ',' and ':'")
