"""Checks the rules of a CustomResourceDefinition.

Each rule must compile against the types that its schema declares, return a bool (its messageExpression a string), and stay within
the cost limit of a rule when every list and string has its maximum size. All rules together have a limit as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.cel.library import STANDARD
from probate.api.cel.schema_types import MAX_REQUEST, Declarations, least_bytes, most_items
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid
from probate.api.schema.node import Schema
from probate.api.structural.rules.compiled_rules import try_compile
from probate.api.structural.rules.field_path import InvalidFieldPath, resolve_field_path
from probate.core import work_limits
from probate.lib.cel import cost_estimate
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError
from probate.lib.cel.programs import Program
from probate.lib.cel.types import BOOL, STRING, Type, is_assignable, optional_of

RULE_LIMIT = 10_000_000
"""Limit of the estimated cost of one rule, as in Kubernetes."""
SCHEMA_LIMIT = 100_000_000
"""Limit of the estimated cost of all rules of a schema, as in Kubernetes."""
WORD = "x-kubernetes-validations"
ADVICE = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
MAX_RULES = 500
"""Maximum number of rules in a schema. Kubernetes has no such limit, but each rule is compiled before the response is sent."""


class _Position(NamedTuple):
    """The position of a schema node.

    `max_count` is the maximum number of values at this position; `uncorrelated` is the ancestor list or map below which values have
    no correlated old value.
    """

    path: FieldPath
    max_count: int | None = 1  # None: limited only by the request size
    uncorrelated: FieldPath | None = None


def rule_problems(schema: Schema, path: FieldPath) -> list[FieldError]:
    """Returns all problems of the rules in the structural schema of a root object."""
    if _count(schema) > MAX_RULES:
        return [forbidden(path, f"must have at most {MAX_RULES} x-kubernetes-validations")]
    checker = _Checker()
    found = list(checker.check(schema, _Position(path), is_root=True))
    if checker.total > SCHEMA_LIMIT:
        found += checker.most_expensive()
        factor = _factor(checker.total, SCHEMA_LIMIT)
        found.append(
            forbidden(path, f"{WORD} estimated rule cost total for entire OpenAPIv3 schema exceeds budget by {factor} {ADVICE}")
        )
    return found


def _count(schema: Schema) -> int:
    below = [*schema.properties.values(), *(one for one in (schema.items, schema.values) if one is not None)]
    return len(schema.validation_rules) + sum(map(_count, below))


class _Checker:
    def __init__(self) -> None:
        self._types = Declarations()
        self._costs: list[tuple[int, FieldPath]] = []
        self.total = 0

    def check(self, schema: Schema, at: _Position, *, is_root: bool = False) -> Iterator[FieldError]:
        work_limits.spend(1)
        kind = self._types.of(schema, is_root=is_root)
        for index, rule in enumerate(schema.validation_rules):
            here = at._replace(path=at.path / WORD / index)
            if kind is None:
                yield invalid(here.path / "rule", rule, "rules are not supported on values without a type")
            else:
                yield from self._rule(rule, schema, kind, at=here)
        uncorrelated = at.uncorrelated or (at.path if schema.map_type == "atomic" else None)
        for name, one in schema.properties.items():
            yield from self.check(one, at._replace(path=at.path / "properties" @ name, uncorrelated=uncorrelated))
        if schema.items is not None:
            yield from self.check(schema.items, self._item_position(schema, at, "items"))
        if schema.values is not None:
            yield from self.check(schema.values, self._item_position(schema, at, "additionalProperties"))

    def _item_position(self, schema: Schema, at: _Position, word: str) -> _Position:
        limit = schema.value_validations.get("maxItems" if word == "items" else "maxProperties")
        count = None if at.max_count is None or not isinstance(limit, int) else at.max_count * most_items(schema)
        is_whole = schema.list_type != "map" if word == "items" else schema.map_type == "atomic"
        return _Position(at.path / word, count, at.uncorrelated or (at.path if is_whole else None))

    def _rule(self, rule: dict[str, Any], schema: Schema, kind: Type, *, at: _Position) -> Iterator[FieldError]:
        old = optional_of(kind) if rule.get("optionalOldSelf") is True else kind
        environment = Environment({"self": kind, "oldSelf": old}, STANDARD)
        if source := str(rule.get("rule") or "").strip():
            yield from self._check_program(rule, try_compile(source, environment), BOOL, schema=schema, at=at)
        if source := str(rule.get("messageExpression") or "").strip():
            yield from self._message(rule, try_compile(source, environment), schema, at=at)
        if isinstance(rule.get("fieldPath"), str) and rule["fieldPath"].strip():
            yield from _field_path(rule["fieldPath"], schema, at.path)

    def _check_program(
        self, rule: dict[str, Any], program: Program | CompileError, expected: Type, *, schema: Schema, at: _Position
    ) -> Iterator[FieldError]:
        path = at.path / "rule"
        if isinstance(program, CompileError):
            yield invalid(path, rule, f"compilation failed: {program}")
            return
        if not is_assignable(expected, program.type, {}):
            yield invalid(path, rule, "cel expression must evaluate to a bool")
            return
        uses_old = program.uses("oldSelf")
        if uses_old and at.uncorrelated is not None:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {at.uncorrelated}"
            yield invalid(path, rule, detail)
        if not uses_old and rule.get("optionalOldSelf") is not None:
            yield invalid(at.path / "optionalOldSelf", rule["optionalOldSelf"], "may not be set if oldSelf is not used in rule")
        yield from self._check_cost(program, schema, at, path=path, what="estimated rule cost")

    def _message(
        self, rule: dict[str, Any], program: Program | CompileError, schema: Schema, *, at: _Position
    ) -> Iterator[FieldError]:
        path = at.path / "messageExpression"
        if isinstance(program, CompileError):
            yield invalid(path, rule, f"messageExpression compilation failed: {program}")
        elif not is_assignable(STRING, program.type, {}):
            yield invalid(path, rule, "messageExpression must evaluate to a string")
        else:
            yield from self._check_cost(program, schema, at, path=path, what="estimated messageExpression cost")

    def _check_cost(self, program: Program, schema: Schema, at: _Position, *, path: FieldPath, what: str) -> Iterator[FieldError]:
        count = at.max_count if at.max_count is not None else MAX_REQUEST // (least_bytes(schema) + 1)
        cost = cost_estimate.cost(program.tree, STANDARD) * count
        self.total += cost
        self._costs.append((cost, path))
        if cost > RULE_LIMIT:
            yield forbidden(path, f"{what} exceeds budget by {_factor(cost, RULE_LIMIT)} {ADVICE}")

    def most_expensive(self) -> list[FieldError]:
        """Returns problems for the rules that contribute most to the total cost."""
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        costs = sorted(self._costs, key=lambda one: -one[0])[:10]
        return [forbidden(path, detail) for cost, path in costs if cost * 100 > SCHEMA_LIMIT]


def _field_path(written: str, schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    try:
        resolve_field_path(FieldPath(), written, schema)
    except InvalidFieldPath as error:
        yield invalid(path / "fieldPath", written, f"fieldPath must be a valid path: {error}")


def _factor(cost: int, limit: int) -> str:
    factor = cost / limit
    return "factor of more than 100x" if factor > 100 else f"factor of {factor:.1f}x"
