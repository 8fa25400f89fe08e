"""Compiles the expressions of a policy.

A variable may use the variables before it. An expression that does not compile (a policy is validated when it is written) has an
error instead of a program: evaluating the policy reports it as the policy's failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.policies.environment import OptionalVariables, environment
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError
from probate.lib.cel.programs import Program, compile_expression
from probate.lib.cel.types import DYN, Type


class Expression(NamedTuple):
    """A compiled expression, or the error of its compilation."""

    source: str
    program: Program | CompileError
    name: str = ""

    @property
    def type(self) -> Type:
        return self.program.type if isinstance(self.program, Program) else DYN


class Validation(NamedTuple):
    """One validation of a policy. `spec` is the validation in the policy."""

    expression: Expression
    message: Expression | None
    spec: Object


class Mutation(NamedTuple):
    """One mutation of a policy."""

    is_json_patch: bool
    expression: Expression


class CompiledPolicy(NamedTuple):
    """A compiled ValidatingAdmissionPolicy or MutatingAdmissionPolicy."""

    name: str
    spec: Object
    conditions: tuple[Expression, ...]
    variables: tuple[Expression, ...]
    validations: tuple[Validation, ...] = ()
    annotations: tuple[Expression, ...] = ()
    mutations: tuple[Mutation, ...] = ()

    @property
    def fails_closed(self) -> bool:
        """Whether an evaluation error denies the write."""
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def is_reinvoked(self) -> bool:
        return self.spec.get("reinvocationPolicy") == "IfNeeded"


def compile_conditions(conditions: Sequence[Object], optional: OptionalVariables) -> tuple[Expression, ...]:
    """Compiles match conditions, which cannot use the policy's variables."""
    expression_environment = environment(optional, None)
    return tuple(
        expression(text_field(condition, "expression"), expression_environment, text_field(condition, "name"))
        for condition in conditions
    )


def compile_policy(policy: Object, *, object_type: Type = DYN, params_type: Type = DYN) -> CompiledPolicy:
    """Compiles all expressions of a policy."""
    spec = policy.get("spec") or {}
    optional = OptionalVariables(params_type if spec.get("paramKind") else None, object=object_type)
    variables = compile_variables(spec, optional)
    types = {variable.name: variable.type for variable in variables}
    full, without_authorizer = environment(optional, types), environment(optional._replace(has_authorizer=False), types)
    mutating = environment(optional, types, mutates=True)
    return CompiledPolicy(
        name=str((policy.get("metadata") or {}).get("name") or ""),
        spec=spec,
        conditions=compile_conditions(spec.get("matchConditions") or (), optional),
        variables=variables,
        validations=tuple(_validation(item, full, without_authorizer) for item in spec.get("validations") or ()),
        annotations=tuple(
            expression(text_field(item, "valueExpression"), full, text_field(item, "key"))
            for item in spec.get("auditAnnotations") or ()
        ),
        mutations=tuple(_mutation(item, mutating) for item in spec.get("mutations") or ()),
    )


def compile_variables(spec: Object, optional: OptionalVariables) -> tuple[Expression, ...]:
    """Compiles the variables, each of which can use those before it."""
    variables: list[Expression] = []
    for variable in spec.get("variables") or ():
        expression_environment = environment(optional, {earlier.name: earlier.type for earlier in variables})
        variables.append(expression(text_field(variable, "expression"), expression_environment, text_field(variable, "name")))
    return tuple(variables)


def _validation(spec: Object, full: Environment, without_authorizer: Environment) -> Validation:
    message = text_field(spec, "messageExpression")
    return Validation(
        expression(text_field(spec, "expression"), full), expression(message, without_authorizer) if message else None, spec
    )


def _mutation(spec: Object, mutating: Environment) -> Mutation:
    is_json_patch = spec.get("patchType") == "JSONPatch"
    part = spec.get("jsonPatch" if is_json_patch else "applyConfiguration") or {}
    return Mutation(is_json_patch, expression(text_field(part, "expression"), mutating))


def expression(source: str, expression_environment: Environment, name: str = "") -> Expression:
    """Compiles an expression, or returns it with its compile error."""
    try:
        return Expression(source, compile_expression(source, expression_environment), name)
    except CompileError as error:
        return Expression(source, error, name)


def text_field(spec: Object, field: str) -> str:
    """Returns a string field; empty if it is missing or of another type."""
    value = spec.get(field)
    return value if isinstance(value, str) else ""
