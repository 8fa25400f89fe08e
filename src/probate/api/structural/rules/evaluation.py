"""What is wrong with an object by the rules of its schema.

On an update, each part is compared with what it was: fields and entries by their names, items of a list only where keys tell them
apart. A rule that speaks of `oldSelf` is asked only of what was there before (unless it takes an optional); one that does not is
not held against a part that did not change. Every rule has a cost limit, and so have all of them together: whatever an object and
its rules are like, this ends.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from probate.api.field_errors import (
    MAX_PROBLEMS,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    Path,
    Problem,
    duplicate,
    forbidden,
    invalid,
    required,
)
from probate.api.schema.node import UNSET, Schema
from probate.api.structural.rules.compiled_rules import MAX_MESSAGE, Level, Rule, compiled
from probate.api.structural.rules.field_path import place
from probate.api.structural.validate import NO_PATH
from probate.lib.cel.cost_meter import PER_CALL, PER_OBJECT, Meter
from probate.lib.cel.errors import CelError, CompileError, NoOverload, OutOfBudget
from probate.lib.cel.programs import Program
from probate.lib.cel.values import NONE, Optional, identity

BLOCKING = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
"""Problems of other kinds after which rules are not asked: what they are about may not be what they take it for."""
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class _Before(NamedTuple):
    """What stood there before. `old` is UNSET if nothing did, or nobody can tell; `is_same`: it did not change, it or what it is
    in."""

    old: Any = UNSET
    is_same: bool = False

    @property
    def is_absent(self) -> bool:
        return self.old is UNSET or self.old is None


class _Stop(Exception):
    """No further rules are run."""


def broken_rules(value: Any, schema: Schema, old: Any = None, *, is_root: bool = True) -> list[Problem]:
    """Everything that is wrong with the object, or with a part of one, by its rules."""
    rules = compiled(schema, is_root=is_root)
    if rules is None:
        return []
    adapt = rules.adapt or (lambda one: one)
    before = _Before() if old is None else _before(adapt(old), adapt(value), is_same=False)
    walk = _Walk()
    with suppress(_Stop):
        walk.visit(rules.root, adapt(value), before, Path())
    return walk.found


def judged(found: list[Problem], value: Any, schema: Schema, old: Any = None) -> list[Problem]:
    """What was found already, and what is wrong by the rules; which are not asked if what was found makes that pointless."""
    if any(one.reason in BLOCKING for one in found):
        return [*found, invalid(Path(NO_PATH), None, NOT_CHECKED)]
    return found + broken_rules(value, schema, old)


def has_rules(schema: Schema) -> bool:
    """Whether there are any."""
    return compiled(schema) is not None


def _before(old: Any, value: Any, *, is_same: bool) -> _Before:
    return _Before(old, is_same or (old is not UNSET and bool(old == value)))


class _Walk:
    def __init__(self) -> None:
        self.found: list[Problem] = []
        self._budget = PER_OBJECT

    def visit(self, level: Level, value: Any, before: _Before, path: Path) -> None:
        """Ask the rules of this value, and of all below it."""
        if value is None:
            return
        for rule in level.rules:
            self._ask(rule, level.schema, value, before, path)
        if isinstance(value, dict):
            self._fields(level, value, before, path)
        elif isinstance(value, list) and level.items is not None:
            self._items(level, level.items, value, before, path)

    def _fields(self, level: Level, value: dict[str, Any], before: _Before, path: Path) -> None:
        olds = before.old if isinstance(before.old, dict) else {}
        if level.values is not None:
            for name, one in value.items():
                self.visit(level.values, one, _before(olds.get(name, UNSET), one, is_same=before.is_same), path @ name)
        for name, below in level.properties.items():
            if name in value:
                self.visit(below, value[name], _before(olds.get(name, UNSET), value[name], is_same=before.is_same), path / name)

    def _items(self, level: Level, items: Level, value: list[Any], before: _Before, path: Path) -> None:
        keys = level.schema.map_keys
        is_keyed = level.schema.list_type == "map" and isinstance(before.old, list)
        olds = {identity(one, keys): one for one in before.old} if is_keyed else {}
        for index, one in enumerate(value):
            old = olds.get(identity(one, keys), UNSET) if olds else UNSET
            self.visit(items, one, _before(old, one, is_same=before.is_same), path / index)

    def _ask(self, rule: Rule, schema: Schema, value: Any, before: _Before, path: Path) -> None:
        if isinstance(rule.program, CompileError):
            self._add(invalid(path, schema.type, f"rule compile error: {rule.program}"))
            return
        if rule.uses_old and before.is_absent and not rule.takes_optional:
            return
        variables = [value, _old(rule, before)]
        try:
            holds = self._evaluated(rule.program, variables)
        except OutOfBudget as error:
            self._give_up(error, rule, schema, path)
        except CelError as error:
            self._add(_failed(error, rule, schema, path))
        else:
            if holds is not True and (rule.uses_old or not before.is_same):
                self._add(self._problem(rule, schema, variables, path))

    def _evaluated(self, program: Program, variables: list[Any]) -> Any:
        limit = min(PER_CALL, self._budget)
        meter = Meter(limit)
        try:
            return program.evaluate(variables, meter)
        finally:
            self._budget -= limit - max(meter.remaining, 0)

    def _give_up(self, error: OutOfBudget, rule: Rule, schema: Schema, path: Path) -> None:
        detail = OUT_OF_BUDGET
        if self._budget > 0:
            detail = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"
        self._add(invalid(path, schema.type, detail))
        raise _Stop

    def _problem(self, rule: Rule, schema: Schema, variables: list[Any], path: Path) -> Problem:
        told = self._message(rule, variables) or rule.told
        field = rule.written.get("fieldPath")
        here = place(path, field, schema) if isinstance(field, str) and field.strip() else path
        match rule.written.get("reason"):
            case "FieldValueRequired":
                return required(here, told)
            case "FieldValueForbidden":
                return forbidden(here, told)
            case "FieldValueDuplicate":
                return duplicate(here, schema.type)
            case _:
                return invalid(here, schema.type, told)

    def _message(self, rule: Rule, variables: list[Any]) -> str:
        """What the message expression says; empty if it says nothing that can be told."""
        if rule.message is None:
            return ""
        try:
            told = self._evaluated(rule.message, variables)
        except (CelError, OutOfBudget):
            return ""
        text = told.strip() if isinstance(told, str) else ""
        return text if "\n" not in text and len(text.encode(errors="replace")) <= MAX_MESSAGE else ""

    def _add(self, problem: Problem) -> None:
        self.found.append(problem if problem.field else problem._replace(field=NO_PATH))
        if len(self.found) >= MAX_PROBLEMS:
            raise _Stop


def _old(rule: Rule, before: _Before) -> Any:
    if not rule.takes_optional:
        return before.old
    return NONE if before.is_absent else Optional(before.old)


def _failed(error: CelError, rule: Rule, schema: Schema, path: Path) -> Problem:
    if isinstance(error, NoOverload):
        detail = f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule.text}"
        return invalid(path, schema.type, detail)
    return invalid(path, schema.type, f"{error} evaluating rule: {rule.text}")
