"""Expressions that select devices, by what their driver, attributes and capacities are.

An attribute may be of any type, so all that is known of it is how long it can be. Expressions come again with every claim that is
made from a template: what was found out about the last ones is remembered.
"""

from __future__ import annotations

import functools
from typing import Any

from probate.api.cel.library import STANDARD
from probate.api.field_errors import Path, Problem, forbidden, invalid, required, too_long
from probate.kinds.resource.bounded_lists import check_items
from probate.kinds.resource.device_names import MAX_DRIVER, MAX_IDENTIFIER
from probate.kinds.shared.field_checks import Problems, Value, text
from probate.lib.cel import cost_estimate
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, CompileError
from probate.lib.cel.functions import Library
from probate.lib.cel.programs import compile_expression
from probate.lib.cel.types import BOOL, DYN, STRING, Type, fits, map_of

MAX_SELECTORS = 32
MAX_EXPRESSION = 10 * 1024
MAX_COST = 1_000_000
MAX_ENTRIES = 32
MAX_VALUES = 48
"""Of one attribute that has several."""
MAX_VALUE = 64
MAX_REMEMBERED = 200

LIBRARY = Library()


@LIBRARY.function("dyn::includes(dyn) -> bool", cost=lambda *_: MAX_VALUES)
@LIBRARY.function("dyn::asList() -> list<dyn>", grows=lambda *_: MAX_VALUE)
def _of_several_values(_: Meter, *__: Any) -> Any:
    """Expressions are read here, and never evaluated: nobody allocates devices."""
    raise CelError("devices are not allocated here")


def _by_domain(value: Type) -> Type:
    return map_of(STRING.sized(MAX_DRIVER), map_of(STRING.sized(MAX_IDENTIFIER), value, MAX_ENTRIES), MAX_ENTRIES)


DEVICE = {
    "driver": STRING.sized(MAX_DRIVER),
    "allowMultipleAllocations": BOOL,
    "attributes": _by_domain(DYN.sized(MAX_VALUE)),
    "capacity": _by_domain(Type("kubernetes.Quantity")),
}
ENVIRONMENT = Environment({"device": Type("object", fields=DEVICE.get)}, Library(STANDARD, LIBRARY))


def check_selectors(parent: Value, path: Path, *, are_new: bool = True) -> Problems:
    """The selectors of a request or a class. Expressions that are there already are left alone."""

    def check(selector: Value | None, at: Path) -> Problems:
        if (selector or {}).get("cel") is None:
            yield required(at / "cel")
        elif are_new:
            yield from _check_expression(text((selector or {})["cel"], "expression"), at / "cel" / "expression")

    yield from check_items(parent, path, "selectors", MAX_SELECTORS, check)


def _check_expression(source: str, path: Path) -> Problems:
    if len(source.encode(errors="replace")) > MAX_EXPRESSION:
        yield too_long(path, MAX_EXPRESSION)
    elif (problem := _problem(source, path.text)) is not None:
        yield problem


@functools.lru_cache(maxsize=MAX_REMEMBERED)
def _problem(source: str, path: str) -> Problem | None:
    try:
        program = compile_expression(source, ENVIRONMENT)
    except CompileError as error:
        return invalid(Path(path), source, f"compilation failed: {error}")
    if not fits(BOOL, program.type, {}):
        return invalid(Path(path), source, f"must evaluate to bool or the unknown type, not {program.type!r}")
    if cost_estimate.cost(program.tree, ENVIRONMENT.library) > MAX_COST:
        return forbidden(Path(path), "too complex, exceeds cost limit")
    return None
