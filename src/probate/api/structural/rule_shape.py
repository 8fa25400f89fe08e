"""Checks the form of x-kubernetes-validations: whether each rule is complete. Module `rules` checks whether its CEL compiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, invalid, not_supported, required
from probate.api.structural.parse import array, text
from probate.api.structural.structure import RawSchema

REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
WORD = "x-kubernetes-validations"

_LINE_BREAK = re.compile(r"[\n\r]")


def rule_problems(written: RawSchema, path: FieldPath) -> Iterator[FieldError]:
    """Yields the problems in the form of one node's rules."""
    for index, rule in enumerate(array(written, WORD)):
        if isinstance(rule, dict):
            yield from _check_rule(rule, path / WORD / index)


def _check_rule(rule: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    yield from _check_message(text(rule, "rule").strip(), text(rule, "message"), path)
    if text(rule, "messageExpression") and not text(rule, "messageExpression").strip():
        yield required(path / "messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        yield not_supported(path / "reason", reason, REASONS)
    field = text(rule, "fieldPath")
    if field and not field.strip():
        yield invalid(path / "fieldPath", field, "fieldPath must be non-empty if specified")
    if _LINE_BREAK.search(field):
        yield invalid(path / "fieldPath", field, "fieldPath must not contain line breaks")


def _check_message(rule: str, message: str, path: FieldPath) -> Iterator[FieldError]:
    if not rule:
        yield required(path / "rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(path / "message", message, "message must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(path / "message", message, "message must not contain line breaks")
    elif _LINE_BREAK.search(rule) and not message:
        yield required(path / "message", "message must be specified if rule contains line breaks")
