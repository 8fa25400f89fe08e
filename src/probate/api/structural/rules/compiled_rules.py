"""Compiles the rules of a schema, level by level.

The rules of a schema are compiled when the first object is validated, and cached by schema: a changed CustomResourceDefinition has
a new schema. A rule that no longer compiles (the server checks rules on write) rejects every object that it applies to.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from probate.api.cel.library import STANDARD
from probate.api.cel.schema_types import Adapter, Adapters, Declarations
from probate.api.schema.node import Schema
from probate.core import work_limits
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError
from probate.lib.cel.programs import Program, compile_expression
from probate.lib.cel.types import Type, optional_of

MAX_MESSAGE = 5 * 1024
"""Maximum size in bytes of a message from a messageExpression."""


class Rule(NamedTuple):
    """One rule. If it does not compile, `program` is the error."""

    written: dict[str, Any]
    program: Program | CompileError
    message: Program | None
    uses_old: bool
    takes_optional: bool

    @property
    def text(self) -> str:
        """The source of the rule as messages contain it."""
        return str(self.written.get("rule") or "").strip()

    @property
    def failure_message(self) -> str:
        """The message of a failure, unless messageExpression provides one."""
        message = str(self.written.get("message") or "").strip()
        return message or f"failed rule: {self.text}"


class Level:
    """One schema node: its own rules, and the levels below it that have rules."""

    __slots__ = ("has_rules", "items", "properties", "rules", "schema", "values")

    def __init__(self, schema: Schema, types: Declarations, *, is_root: bool = False) -> None:
        work_limits.spend(5)
        self.schema = schema
        self.rules = _rules(schema, types, is_root=is_root) if schema.validation_rules else ()
        below = {name: Level(one, types) for name, one in schema.properties.items()}
        self.properties = {name: one for name, one in below.items() if one.has_rules}
        self.items = _level_with_rules(schema.items, types)
        self.values = _level_with_rules(schema.values, types)
        self.has_rules: bool = bool(self.rules or self.properties or self.items or self.values)


class Rules(NamedTuple):
    """All rules of a schema, and the adapter that converts values for its expressions."""

    root: Level
    adapt: Adapter | None


def _level_with_rules(schema: Schema | None, types: Declarations) -> Level | None:
    level = Level(schema, types) if schema is not None else None
    return level if level is not None and level.has_rules else None


def _rules(schema: Schema, types: Declarations, *, is_root: bool) -> tuple[Rule, ...]:
    kind = types.of(schema, is_root=is_root)
    return () if kind is None else tuple(compile_rule(one, kind) for one in schema.validation_rules)


def compile_rule(written: dict[str, Any], kind: Type) -> Rule:
    """Compiles a rule for values of this type."""
    takes_optional = written.get("optionalOldSelf") is True
    environment = Environment({"self": kind, "oldSelf": optional_of(kind) if takes_optional else kind}, STANDARD)
    program = try_compile(str(written.get("rule") or ""), environment)
    message = try_compile(str(written.get("messageExpression") or ""), environment) if written.get("messageExpression") else None
    uses_old = isinstance(program, Program) and program.uses("oldSelf")
    return Rule(written, program, message if isinstance(message, Program) else None, uses_old, takes_optional)


def try_compile(source: str, environment: Environment) -> Program | CompileError:
    """Compiles an expression; returns the error instead of raising it."""
    try:
        return compile_expression(source, environment)
    except CompileError as error:
        return error


def compile_rules(schema: Schema, *, is_root: bool = True) -> Rules | None:
    """Returns the compiled rules of a schema; None without rules. `is_root`: the schema describes a root object."""
    return _compiled(_Identity(schema), is_root)


class _Identity:
    """A cache key that compares a schema by identity and keeps it alive, so that no other schema can get its id."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.schema is self.schema


@lru_cache(maxsize=1024)
def _compiled(key: _Identity, is_root: bool) -> Rules | None:
    level = Level(key.schema, Declarations(), is_root=is_root)
    return Rules(level, Adapters().of(key.schema)) if level.has_rules else None
