"""The expressions of a policy, ready to be evaluated.

A variable may speak of those before it. An expression that does not compile (policies are checked when they are written) has an
error instead of a program: it is told when the policy is asked, and counts as the policy's failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from probate.api.policies.environment import Speaks, environment
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError
from probate.lib.cel.programs import Program, compile_expression
from probate.lib.cel.types import DYN, Type

Object = dict[str, Any]


class Expression(NamedTuple):
    """An expression, or why it is none."""

    source: str
    program: Program | CompileError
    name: str = ""

    @property
    def type(self) -> Type:
        return self.program.type if isinstance(self.program, Program) else DYN


class Validation(NamedTuple):
    """One thing that a policy asks for."""

    expression: Expression
    message: Expression | None
    written: Object


class Mutation(NamedTuple):
    """One change that a policy makes."""

    is_json_patch: bool
    expression: Expression


class Policy(NamedTuple):
    """A policy of either kind."""

    name: str
    spec: Object
    conditions: tuple[Expression, ...]
    variables: tuple[Expression, ...]
    validations: tuple[Validation, ...] = ()
    annotations: tuple[Expression, ...] = ()
    mutations: tuple[Mutation, ...] = ()

    @property
    def fails_closed(self) -> bool:
        """Whether what cannot be evaluated refuses the write."""
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def is_asked_again(self) -> bool:
        return self.spec.get("reinvocationPolicy") == "IfNeeded"


def compiled_conditions(conditions: Sequence[Object], speaks: Speaks) -> tuple[Expression, ...]:
    """Match conditions: they know no variables of the policy."""
    made = environment(speaks, None)
    return tuple(expression(text(one, "expression"), made, text(one, "name")) for one in conditions)


def compiled(policy: Object, *, object_type: Type = DYN, params_type: Type = DYN) -> Policy:
    """The policy, with all its expressions."""
    spec = policy.get("spec") or {}
    speaks = Speaks(params_type if spec.get("paramKind") else None, object=object_type)
    variables = compiled_variables(spec, speaks)
    types = {one.name: one.type for one in variables}
    whole, silent = environment(speaks, types), environment(speaks._replace(has_authorizer=False), types)
    changing = environment(speaks, types, mutates=True)
    return Policy(
        name=str((policy.get("metadata") or {}).get("name") or ""),
        spec=spec,
        conditions=compiled_conditions(spec.get("matchConditions") or (), speaks),
        variables=variables,
        validations=tuple(_validation(one, whole, silent) for one in spec.get("validations") or ()),
        annotations=tuple(
            expression(text(one, "valueExpression"), whole, text(one, "key")) for one in spec.get("auditAnnotations") or ()
        ),
        mutations=tuple(_mutation(one, changing) for one in spec.get("mutations") or ()),
    )


def compiled_variables(spec: Object, speaks: Speaks) -> tuple[Expression, ...]:
    """The variables, each of which knows those before it."""
    found: list[Expression] = []
    for one in spec.get("variables") or ():
        made = environment(speaks, {known.name: known.type for known in found})
        found.append(expression(text(one, "expression"), made, text(one, "name")))
    return tuple(found)


def _validation(written: Object, whole: Environment, silent: Environment) -> Validation:
    message = text(written, "messageExpression")
    return Validation(expression(text(written, "expression"), whole), expression(message, silent) if message else None, written)


def _mutation(written: Object, changing: Environment) -> Mutation:
    is_json_patch = written.get("patchType") == "JSONPatch"
    part = written.get("jsonPatch" if is_json_patch else "applyConfiguration") or {}
    return Mutation(is_json_patch, expression(text(part, "expression"), changing))


def expression(source: str, made: Environment, name: str = "") -> Expression:
    """The expression, compiled as far as it can be."""
    try:
        return Expression(source, compile_expression(source, made), name)
    except CompileError as error:
        return Expression(source, error, name)


def text(written: Object, field: str) -> str:
    """The text of a field; empty if there is none."""
    found = written.get(field)
    return found if isinstance(found, str) else ""
