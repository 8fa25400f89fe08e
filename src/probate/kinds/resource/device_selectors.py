"""Validates CEL expressions that select devices by driver, attributes and capacities.

An attribute may have any type, so its type is unknown at compile time, and only its maximum size is known. The same expressions
recur with every claim created from a template, so the results for recent ones are cached.
"""

from __future__ import annotations

import functools
from typing import Any

from probate.api.cel.library import STANDARD
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, required, too_long
from probate.kinds.resource.bounded_lists import check_items
from probate.kinds.resource.device_names import MAX_DRIVER, MAX_IDENTIFIER
from probate.kinds.shared.field_checks import Problems, Value, text
from probate.lib.cel import cost_estimate
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, CompileError
from probate.lib.cel.functions import Library
from probate.lib.cel.programs import compile_expression
from probate.lib.cel.types import BOOL, DYN, STRING, Type, is_assignable, map_of

MAX_SELECTORS = 32
MAX_EXPRESSION = 10 * 1024
MAX_COST = 1_000_000
MAX_ENTRIES = 32
MAX_VALUES = 48
"""The maximum number of values of one list attribute."""
MAX_VALUE = 64
MAX_REMEMBERED = 200

LIBRARY = Library()


@LIBRARY.function("dyn::includes(dyn) -> bool", cost=lambda *_: MAX_VALUES)
@LIBRARY.function("dyn::asList() -> list<dyn>", grows=lambda *_: MAX_VALUE)
def _of_several_values(_: Meter, *__: Any) -> Any:
    """Placeholder of a CEL function: expressions are only compiled, because the server does not allocate devices."""
    raise CelError("this server does not allocate devices")


def _by_domain(value: Type) -> Type:
    return map_of(STRING.sized(MAX_DRIVER), map_of(STRING.sized(MAX_IDENTIFIER), value, MAX_ENTRIES), MAX_ENTRIES)


DEVICE = {
    "driver": STRING.sized(MAX_DRIVER),
    "allowMultipleAllocations": BOOL,
    "attributes": _by_domain(DYN.sized(MAX_VALUE)),
    "capacity": _by_domain(Type("kubernetes.Quantity")),
}
ENVIRONMENT = Environment({"device": Type("object", fields=DEVICE.get)}, Library(STANDARD, LIBRARY))


def check_selectors(parent: Value, path: FieldPath, *, are_new: bool = True) -> Problems:
    """Validates the selectors of a request or a class. Existing expressions are not checked again."""

    def check(selector: Value | None, at: FieldPath) -> Problems:
        if (selector or {}).get("cel") is None:
            yield required(at / "cel")
        elif are_new:
            yield from _check_expression(text((selector or {})["cel"], "expression"), at / "cel" / "expression")

    yield from check_items(parent, path, "selectors", most=MAX_SELECTORS, check=check)


def _check_expression(source: str, path: FieldPath) -> Problems:
    if len(source.encode(errors="replace")) > MAX_EXPRESSION:
        yield too_long(path, MAX_EXPRESSION)
    elif (problem := _problem(source, path.text)) is not None:
        yield problem


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _problem(source: str, path: str) -> FieldError | None:
    try:
        program = compile_expression(source, ENVIRONMENT)
    except CompileError as error:
        return invalid(FieldPath(path), source, f"compilation failed: {error}")
    if not is_assignable(BOOL, program.type, {}):
        return invalid(FieldPath(path), source, f"must evaluate to bool or the unknown type, not {program.type!r}")
    if cost_estimate.cost(program.tree, ENVIRONMENT.library) > MAX_COST:
        return forbidden(FieldPath(path), "too complex, exceeds cost limit")
    return None
