"""What a mutating policy makes of an object."""

from __future__ import annotations

from typing import Any

from probate.api.apply import merge
from probate.api.apply.schema_shapes import DEDUCED, Shape
from probate.api.policies.compiled_policy import Mutation
from probate.api.policies.validation import Evaluator, Object, Trouble
from probate.core import errors
from probate.lib import jsonpatch
from probate.lib.cel.numbers import Uint
from probate.lib.cel.timestamps import Duration, Timestamp
from probate.lib.cel.values import of_key

_FIXED = ("apiVersion", "kind")
_META = frozenset(
    {"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generateName", "managedFields", "deletionTimestamp"}
)


def mutated(mutation: Mutation, object_: Object, evaluator: Evaluator, shape: Shape) -> Object:
    """The object after one mutation. Raises `Trouble`."""
    made = evaluator.evaluate(mutation.expression)
    if mutation.is_json_patch:
        return _patched(object_, made, mutation.expression.source)
    if not isinstance(made, dict):
        raise Trouble(f"unsupported return type from ApplyConfiguration expression: {type(made).__name__}")
    document = _json(made)
    _check_whole(document)
    _check_pieces(document, object_, shape, "")
    return merge.merged(object_, document, shape)


def _patched(object_: Object, made: Any, source: str) -> Object:
    if not isinstance(made, list) or not all(isinstance(one, dict) for one in made):
        raise Trouble(f"type mismatch: JSONPatchType.expression '{source}' must evaluate to a list of JSONPatch")
    patch = [{name: _json(one) for name, one in step.items()} for step in made]
    try:
        return jsonpatch.apply(object_, patch)
    except (errors.BadRequest, errors.Invalid, errors.TooLarge) as error:
        raise Trouble(f"JSON Patch: {error}") from None


def _json(value: Any) -> Any:
    """What expressions make, as objects have it."""
    if isinstance(value, dict):
        return {str(of_key(name)): _json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, Uint):
        return int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise Trouble(f"a value of the type {getattr(value, 'cel_type', type(value).__name__)} cannot be part of an object")


def _check_whole(document: Object) -> None:
    meta = document.get("metadata")
    wrong = [name for name in _FIXED if name in document]
    wrong += [f"metadata.{name}" for name in meta if name in _META] if isinstance(meta, dict) else []
    if wrong:
        raise Trouble(f"error applying patch: invalid ApplyConfiguration: {', '.join(wrong)} may not be set")


def _check_pieces(document: Any, live: Any, shape: Shape, path: str) -> None:
    """What is one piece cannot be changed in part: an expression that names some of it would lose the rest."""
    if isinstance(document, list) and shape.list_type == "atomic":
        raise Trouble(f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}")
    if not isinstance(document, dict):
        return
    if shape.is_piece and path and shape.type == "object":
        raise Trouble(f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}")
    for name, one in document.items():
        inner = shape.of(name)
        if inner is not None and inner is not DEDUCED:
            _check_pieces(one, None, inner, f"{path}.{name}")
