"""Applies the mutations of a MutatingAdmissionPolicy to an object."""

from __future__ import annotations

from typing import Any

from probate.api.apply import apply_merge
from probate.api.apply.schema_shapes import DEDUCED, Shape
from probate.api.objects import Object
from probate.api.policies.compiled_policy import Mutation
from probate.api.policies.policy_evaluation import EvaluationError, Evaluator
from probate.core import errors
from probate.lib import jsonpatch
from probate.lib.cel.numbers import Uint
from probate.lib.cel.timestamps import Duration, Timestamp
from probate.lib.cel.values import of_key

_FIXED_FIELDS = ("apiVersion", "kind")
_FIXED_METADATA = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generateName", "managedFields", "deletionTimestamp"}
)


def mutate(mutation: Mutation, object_: Object, evaluator: Evaluator, *, shape: Shape) -> Object:
    """Returns the object after one mutation. Raises `EvaluationError`."""
    result = evaluator.evaluate(mutation.expression)
    if mutation.is_json_patch:
        return _apply_json_patch(object_, result, mutation.expression.source)
    if not isinstance(result, dict):
        raise EvaluationError(f"unsupported return type from ApplyConfiguration expression: {type(result).__name__}")
    document = _to_json(result)
    _check_fixed_fields(document)
    _check_atomic_values(document, object_, shape, path="")
    return apply_merge.merge_document(object_, document, shape)


def _apply_json_patch(object_: Object, result: Any, source: str) -> Object:
    if not isinstance(result, list) or not all(isinstance(operation, dict) for operation in result):
        raise EvaluationError(f"type mismatch: JSONPatchType.expression '{source}' must evaluate to a list of JSONPatch")
    patch = [{name: _to_json(value) for name, value in operation.items()} for operation in result]
    try:
        return jsonpatch.apply(object_, patch)
    except (errors.BadRequest, errors.Invalid, errors.TooLarge) as error:
        raise EvaluationError(f"JSON Patch: {error}") from None


def _to_json(value: Any) -> Any:
    """Converts the value of an expression to JSON."""
    if isinstance(value, dict):
        return {str(of_key(name)): _to_json(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_to_json(child) for child in value]
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, Uint):
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise EvaluationError(f"a value of the type {getattr(value, 'cel_type', type(value).__name__)} cannot be part of an object")


def _check_fixed_fields(document: Object) -> None:
    meta = document.get("metadata")
    forbidden = [name for name in _FIXED_FIELDS if name in document]
    forbidden += [f"metadata.{name}" for name in meta if name in _FIXED_METADATA] if isinstance(meta, dict) else []
    if forbidden:
        raise EvaluationError(f"error applying patch: invalid ApplyConfiguration: {', '.join(forbidden)} may not be set")


def _check_atomic_values(document: Any, live: Any, shape: Shape, *, path: str) -> None:
    """Raises `EvaluationError` if the document sets part of an atomic value: the rest of it would be lost."""
    if isinstance(document, list) and shape.list_type == "atomic":
        raise EvaluationError(
            f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}"
        )
    if not isinstance(document, dict):
        return
    if shape.is_atomic and path and shape.type == "object":
        raise EvaluationError(
            f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}"
        )
    for name, child in document.items():
        inner = shape.child(name)
        if inner is not None and inner is not DEDUCED:
            _check_atomic_values(child, None, inner, path=f"{path}.{name}")
