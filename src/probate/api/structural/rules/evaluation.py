"""Evaluates the validation rules of a schema for an object.

On update, each part is correlated with its old value: fields and entries by name, list items only if keys identify them. A rule
that uses `oldSelf` runs only if an old value exists (unless it takes an optional); other rules do not run on unchanged parts. Each
rule has a cost limit, and so have all rules together, so evaluation terminates for every object and every rule.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from probate.api.field_errors import (
    MAX_FIELD_ERRORS,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    FieldError,
    FieldPath,
    duplicate,
    forbidden,
    invalid,
    required,
)
from probate.api.schema.node import UNSET, Schema
from probate.api.structural.rules.compiled_rules import MAX_MESSAGE, Level, Rule, compile_rules
from probate.api.structural.rules.field_path import resolve_field_path
from probate.api.structural.validate import NO_PATH
from probate.lib.cel.cost_meter import PER_CALL, PER_OBJECT, Meter
from probate.lib.cel.errors import CelError, CompileError, NoOverload, OutOfBudget
from probate.lib.cel.programs import Program
from probate.lib.cel.values import NONE, Optional, identity

BLOCKING = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
"""Reasons of problems that suppress the rules: after such a problem, values may not have the types that the rules expect."""
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class _OldValue(NamedTuple):
    """The old value of a part.

    `old` is UNSET without an old value or without correlation; `is_same`: the part or one of its ancestors did not change.
    """

    old: Any = UNSET
    is_same: bool = False

    @property
    def is_absent(self) -> bool:
        return self.old is UNSET or self.old is None


class _Stop(Exception):
    """Stops the evaluation of further rules."""


def broken_rules(value: Any, schema: Schema, old: Any = None, *, is_root: bool = True) -> list[FieldError]:
    """Returns all rule violations of an object or of a part of one."""
    rules = compile_rules(schema, is_root=is_root)
    if rules is None:
        return []
    adapt = rules.adapt or (lambda one: one)
    before = _OldValue() if old is None else _before(adapt(old), adapt(value), is_same=False)
    walk = _Walk()
    with suppress(_Stop):
        walk.visit(rules.root, adapt(value), before, path=FieldPath())
    return walk.found


def add_broken_rules(found: list[FieldError], value: Any, schema: Schema, *, old: Any = None) -> list[FieldError]:
    """Returns `found` plus the rule violations. Skips the rules if the problems in `found` make them pointless."""
    if any(one.reason in BLOCKING for one in found):
        return [*found, invalid(FieldPath(NO_PATH), None, NOT_CHECKED)]
    return found + broken_rules(value, schema, old)


def has_rules(schema: Schema) -> bool:
    """Returns whether the schema has any rules."""
    return compile_rules(schema) is not None


def _before(old: Any, value: Any, *, is_same: bool) -> _OldValue:
    return _OldValue(old, is_same or (old is not UNSET and bool(old == value)))


class _Walk:
    def __init__(self) -> None:
        self.found: list[FieldError] = []
        self._budget = PER_OBJECT

    def visit(self, level: Level, value: Any, before: _OldValue, *, path: FieldPath) -> None:
        """Evaluates the rules of this value and of its descendants."""
        if value is None:
            return
        for rule in level.rules:
            self._evaluate_rule(rule, level.schema, value, before=before, path=path)
        if isinstance(value, dict):
            self._fields(level, value, before, path=path)
        elif isinstance(value, list) and level.items is not None:
            self._items(level, level.items, value, before=before, path=path)

    def _fields(self, level: Level, value: dict[str, Any], before: _OldValue, *, path: FieldPath) -> None:
        old_values = before.old if isinstance(before.old, dict) else {}
        if level.values is not None:
            for name, one in value.items():
                self.visit(level.values, one, _before(old_values.get(name, UNSET), one, is_same=before.is_same), path=path @ name)
        for name, below in level.properties.items():
            if name in value:
                self.visit(
                    below, value[name], _before(old_values.get(name, UNSET), value[name], is_same=before.is_same), path=path / name
                )

    def _items(self, level: Level, items: Level, value: list[Any], *, before: _OldValue, path: FieldPath) -> None:
        keys = level.schema.map_keys
        is_keyed = level.schema.list_type == "map" and isinstance(before.old, list)
        old_values = {identity(one, keys): one for one in before.old} if is_keyed else {}
        for index, one in enumerate(value):
            old = old_values.get(identity(one, keys), UNSET) if old_values else UNSET
            self.visit(items, one, _before(old, one, is_same=before.is_same), path=path / index)

    def _evaluate_rule(self, rule: Rule, schema: Schema, value: Any, *, before: _OldValue, path: FieldPath) -> None:
        if isinstance(rule.program, CompileError):
            self._add(invalid(path, schema.type, f"rule compile error: {rule.program}"))
            return
        if rule.uses_old and before.is_absent and not rule.takes_optional:
            return
        variables = [value, _old(rule, before)]
        try:
            holds = self._run_program(rule.program, variables)
        except OutOfBudget as error:
            self._stop_over_budget(error, rule, schema, path=path)
        except CelError as error:
            self._add(_failed(error, rule, schema, path=path))
        else:
            if holds is not True and (rule.uses_old or not before.is_same):
                self._add(self._problem(rule, schema, variables, path=path))

    def _run_program(self, program: Program, variables: list[Any]) -> Any:
        limit = min(PER_CALL, self._budget)
        meter = Meter(limit)
        try:
            return program.evaluate(variables, meter)
        finally:
            self._budget -= limit - max(meter.remaining, 0)

    def _stop_over_budget(self, error: OutOfBudget, rule: Rule, schema: Schema, *, path: FieldPath) -> None:
        detail = OUT_OF_BUDGET
        if self._budget > 0:
            detail = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"
        self._add(invalid(path, schema.type, detail))
        raise _Stop

    def _problem(self, rule: Rule, schema: Schema, variables: list[Any], *, path: FieldPath) -> FieldError:
        message_text = self._message(rule, variables) or rule.failure_message
        field = rule.written.get("fieldPath")
        here = resolve_field_path(path, field, schema) if isinstance(field, str) and field.strip() else path
        match rule.written.get("reason"):
            case "FieldValueRequired":
                return required(here, message_text)
            case "FieldValueForbidden":
                return forbidden(here, message_text)
            case "FieldValueDuplicate":
                return duplicate(here, schema.type)
            case _:
                return invalid(here, schema.type, message_text)

    def _message(self, rule: Rule, variables: list[Any]) -> str:
        """Returns the result of messageExpression; empty if it is not a usable message."""
        if rule.message is None:
            return ""
        try:
            message_text = self._run_program(rule.message, variables)
        except (CelError, OutOfBudget):
            return ""
        text = message_text.strip() if isinstance(message_text, str) else ""
        return text if "\n" not in text and len(text.encode(errors="replace")) <= MAX_MESSAGE else ""

    def _add(self, problem: FieldError) -> None:
        self.found.append(problem if problem.field else problem._replace(field=NO_PATH))
        if len(self.found) >= MAX_FIELD_ERRORS:
            raise _Stop


def _old(rule: Rule, before: _OldValue) -> Any:
    if not rule.takes_optional:
        return before.old
    return NONE if before.is_absent else Optional(before.old)


def _failed(error: CelError, rule: Rule, schema: Schema, *, path: FieldPath) -> FieldError:
    if isinstance(error, NoOverload):
        detail = f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule.text}"
        return invalid(path, schema.type, detail)
    return invalid(path, schema.type, f"{error} evaluating rule: {rule.text}")
