"""Validates the expressions of a policy, and type-checks them against the kinds that the policy matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, invalid
from probate.api.objects import Object
from probate.api.policies.compiled_policy import CompiledPolicy, Expression, compile_policy
from probate.lib.cel.errors import CompileError
from probate.lib.cel.syntax.tree import Node, Struct, children
from probate.lib.cel.types import BOOL, NULL, STRING, Type, is_assignable

SPEC = FieldPath("spec")


def validate_expressions(policy: Object) -> Iterator[FieldError]:
    """Validates that the expressions compile and return values of the right type."""
    compiled_policy = compile_policy(policy)
    for path, expression, result_types, message in _typed_expressions(compiled_policy):
        if not expression.source.strip():
            continue  # another validation reports that it is required
        if isinstance(expression.program, CompileError):
            yield invalid(path, expression.source, f"compilation failed: {expression.program}")
        elif result_types and not any(is_assignable(result_type, expression.type, {}) for result_type in result_types):
            yield invalid(path, expression.source, message)
    for index, mutation in enumerate(compiled_policy.mutations):
        yield from _validate_mutation(mutation.expression, SPEC / "mutations" / index, is_json_patch=mutation.is_json_patch)


def _typed_expressions(policy: CompiledPolicy) -> Iterator[tuple[FieldPath, Expression, tuple[Type, ...], str]]:
    for index, expression in enumerate(policy.variables):
        yield SPEC / "variables" / index / "expression", expression, (), ""
    for index, expression in enumerate(policy.conditions):
        yield SPEC / "matchConditions" / index / "expression", expression, (BOOL,), "must evaluate to bool"
    for index, validation in enumerate(policy.validations):
        path = SPEC / "validations" / index
        yield path / "expression", validation.expression, (BOOL,), "must evaluate to bool"
        if validation.message is not None:
            yield path / "messageExpression", validation.message, (STRING,), "must evaluate to string"
    for index, expression in enumerate(policy.annotations):
        path = SPEC / "auditAnnotations" / index / "valueExpression"
        yield path, expression, (STRING, NULL), "must evaluate to string or null_type"


def _validate_mutation(expression: Expression, path: FieldPath, *, is_json_patch: bool) -> Iterator[FieldError]:
    expression_path = path / ("jsonPatch" if is_json_patch else "applyConfiguration") / "expression"
    if not expression.source.strip():
        return
    if isinstance(expression.program, CompileError):
        yield invalid(expression_path, expression.source, f"compilation failed: {expression.program}")
        return
    result_type = expression.type
    if is_json_patch and not (
        result_type.name == "dyn" or (result_type.name == "list" and result_type.params[0].name in ("JSONPatch", "dyn"))
    ):
        yield invalid(expression_path, expression.source, f"must evaluate to list(JSONPatch) but got {result_type!r}")
    elif not is_json_patch and result_type.name not in ("dyn", "Object"):
        yield invalid(expression_path, expression.source, f"must evaluate to Object but got {result_type!r}")
    yield from (invalid(expression_path, expression.source, message) for message in _type_name_errors(expression.program.tree))


def _type_name_errors(node: Node) -> Iterator[str]:
    """Yields wrong type names. A name follows from the path: the field `template` of `Object.spec` is an `Object.spec.template`."""
    if isinstance(node, Struct) and node.name.startswith("Object"):
        for field, value in node.fields:
            expected = f"{node.name}.{field}"
            if isinstance(value, Struct) and value.name != expected:
                yield f'unexpected type name "{value.name}", expected "{expected}", which matches the path from the root Object'
    for child in children(node):
        yield from _type_name_errors(child)


def type_warnings(policy: Object, kinds: dict[str, Type]) -> list[dict[str, Any]]:
    """Returns type errors by kind in Kubernetes' spelling (`apps/v1, Kind=Deployment`), as `typeChecking.expressionWarnings`."""
    warnings: dict[str, list[str]] = {}
    for kind, declared in kinds.items():
        for path, expression, _, _ in _typed_expressions(compile_policy(policy, object_type=declared)):
            if isinstance(expression.program, CompileError):
                warnings.setdefault(str(path), []).append(f"{kind}: {expression.program}")
    return [{"fieldRef": path, "warning": "\n".join(messages)} for path, messages in warnings.items()]
