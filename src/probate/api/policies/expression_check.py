"""What is wrong with the expressions of a policy, and, by the kinds that it is about, where their types do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import Path, Problem, invalid
from probate.api.policies.compiled_policy import Expression, Object, Policy, compiled
from probate.lib.cel.errors import CompileError
from probate.lib.cel.syntax.tree import Node, Struct, children
from probate.lib.cel.types import BOOL, NULL, STRING, Type, fits

SPEC = Path("spec")


def expression_problems(policy: Object) -> Iterator[Problem]:
    """What does not compile, or gives a value of the wrong type."""
    made = compiled(policy)
    for path, one, wanted, told in _parts(made):
        if not one.source.strip():
            continue  # that it is required is said elsewhere
        if isinstance(one.program, CompileError):
            yield invalid(path, one.source, f"compilation failed: {one.program}")
        elif wanted and not any(fits(kind, one.type, {}) for kind in wanted):
            yield invalid(path, one.source, told)
    for index, mutation in enumerate(made.mutations):
        yield from _mutation_problems(mutation.expression, SPEC / "mutations" / index, is_json_patch=mutation.is_json_patch)


def _parts(made: Policy) -> Iterator[tuple[Path, Expression, tuple[Type, ...], str]]:
    for index, one in enumerate(made.variables):
        yield SPEC / "variables" / index / "expression", one, (), ""
    for index, one in enumerate(made.conditions):
        yield SPEC / "matchConditions" / index / "expression", one, (BOOL,), "must evaluate to bool"
    for index, validation in enumerate(made.validations):
        path = SPEC / "validations" / index
        yield path / "expression", validation.expression, (BOOL,), "must evaluate to bool"
        if validation.message is not None:
            yield path / "messageExpression", validation.message, (STRING,), "must evaluate to string"
    for index, one in enumerate(made.annotations):
        path = SPEC / "auditAnnotations" / index / "valueExpression"
        yield path, one, (STRING, NULL), "must evaluate to string or null_type"


def _mutation_problems(one: Expression, path: Path, *, is_json_patch: bool) -> Iterator[Problem]:
    here = path / ("jsonPatch" if is_json_patch else "applyConfiguration") / "expression"
    if not one.source.strip():
        return
    if isinstance(one.program, CompileError):
        yield invalid(here, one.source, f"compilation failed: {one.program}")
        return
    kind = one.type
    if is_json_patch and not (kind.name == "dyn" or (kind.name == "list" and kind.params[0].name in ("JSONPatch", "dyn"))):
        yield invalid(here, one.source, f"must evaluate to list(JSONPatch) but got {kind!r}")
    elif not is_json_patch and kind.name not in ("dyn", "Object"):
        yield invalid(here, one.source, f"must evaluate to Object but got {kind!r}")
    yield from (invalid(here, one.source, told) for told in _misnamed(one.program.tree))


def _misnamed(node: Node) -> Iterator[str]:
    """Names of objects follow where they stand: what is in `Object.spec` as `template` is `Object.spec.template`."""
    if isinstance(node, Struct) and node.name.startswith("Object"):
        for field, value in node.fields:
            wanted = f"{node.name}.{field}"
            if isinstance(value, Struct) and value.name != wanted:
                yield f'unexpected type name "{value.name}", expected "{wanted}", which matches the path from the root Object'
    for one in children(node):
        yield from _misnamed(one)


def type_warnings(policy: Object, kinds: dict[str, Type]) -> list[dict[str, Any]]:
    """By kinds as Kubernetes spells them (`apps/v1, Kind=Deployment`): where the expressions do not fit their types."""
    found: dict[str, list[str]] = {}
    for kind, declared in kinds.items():
        for path, one, _, _ in _parts(compiled(policy, object_type=declared)):
            if isinstance(one.program, CompileError):
                found.setdefault(str(path), []).append(f"{kind}: {one.program}")
    return [{"fieldRef": path, "warning": "\n".join(texts)} for path, texts in found.items()]
