"""The rules of one level of a schema, ready to be evaluated.

A schema's rules are compiled when the first object is held against them, and kept with the schema: a definition that changes
brings a schema of its own. A rule that does not compile any more (definitions are checked when they are written) fails what it
should judge.
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
"""Bytes of a message that an expression makes."""


class Rule(NamedTuple):
    """One rule. `program` is why it does not compile, if it does not."""

    written: dict[str, Any]
    program: Program | CompileError
    message: Program | None
    uses_old: bool
    takes_optional: bool

    @property
    def text(self) -> str:
        """The rule as messages show it."""
        return str(self.written.get("rule") or "").strip()

    @property
    def told(self) -> str:
        """What is said when it fails, if no expression says it."""
        message = str(self.written.get("message") or "").strip()
        return message or f"failed rule: {self.text}"


class Level:
    """One node of a schema: its own rules, and whether there are any below."""

    __slots__ = ("has_rules", "items", "properties", "rules", "schema", "values")

    def __init__(self, schema: Schema, types: Declarations, *, is_root: bool = False) -> None:
        work_limits.spend(5)
        self.schema = schema
        self.rules = _rules(schema, types, is_root=is_root) if schema.rules else ()
        below = {name: Level(one, types) for name, one in schema.properties.items()}
        self.properties = {name: one for name, one in below.items() if one.has_rules}
        self.items = _if_ruled(schema.items, types)
        self.values = _if_ruled(schema.values, types)
        self.has_rules: bool = bool(self.rules or self.properties or self.items or self.values)


class Rules(NamedTuple):
    """All rules of one schema, and what makes values as its expressions see them."""

    root: Level
    adapt: Adapter | None


def _if_ruled(schema: Schema | None, types: Declarations) -> Level | None:
    level = Level(schema, types) if schema is not None else None
    return level if level is not None and level.has_rules else None


def _rules(schema: Schema, types: Declarations, *, is_root: bool) -> tuple[Rule, ...]:
    kind = types.of(schema, is_root=is_root)
    return () if kind is None else tuple(made(one, kind) for one in schema.rules)


def made(written: dict[str, Any], kind: Type) -> Rule:
    """The rule, compiled for values of the type."""
    takes_optional = written.get("optionalOldSelf") is True
    environment = Environment({"self": kind, "oldSelf": optional_of(kind) if takes_optional else kind}, STANDARD)
    program = attempt(str(written.get("rule") or ""), environment)
    message = attempt(str(written.get("messageExpression") or ""), environment) if written.get("messageExpression") else None
    uses_old = isinstance(program, Program) and program.uses("oldSelf")
    return Rule(written, program, message if isinstance(message, Program) else None, uses_old, takes_optional)


def attempt(source: str, environment: Environment) -> Program | CompileError:
    """The program, or what is wrong with its source."""
    try:
        return compile_expression(source, environment)
    except CompileError as error:
        return error


def compiled(schema: Schema, *, is_root: bool = True) -> Rules | None:
    """The rules of a schema, of a whole object's if it `is_root`; None if it has none."""
    return _compiled(_Identity(schema), is_root)


class _Identity:
    """A schema as a key: the very same one, and kept alive, so that nothing else gets its identity."""

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
