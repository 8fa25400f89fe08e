"""Comprehension macros over lists and maps, compiled into Python loops.

The cost of each iteration, in addition to its parts, is the cost that Kubernetes counts for the same macro, which cel-go expands
into a comprehension of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.values import NONE, Optional, key, of_key

Code: TypeAlias = Callable[[Run], Any]
CodeWithCost: TypeAlias = tuple[Code, int]

ROUND_COST = {
    "all": 3,
    "exists": 4,
    "existsOne": 1,
    "filter": 1,
    "map": 12,
    "transformList": 12,
    "transformMap": 12,
    "transformMapEntry": 12,
}
"""Cost of each iteration, in addition to the costs of its parts."""
TAKEN_COST = {"existsOne": 1, "filter": 12}
"""Additional cost of each iteration that selects its item."""


def compile_comprehension(kind: str, range_code: Code, slots: list[int], *, parts: list[CodeWithCost]) -> Code:
    """Compiles the comprehension macro with this name."""
    if kind.startswith("opt"):
        return _optional(range_code, slots[0], parts[0], is_flat=kind == "optFlatMap")
    return _FOLDS[kind](range_code, slots, parts)


def _iterate(value: Any, run: Run, slots: list[int], *, cost: int) -> Iterator[Any]:
    """Iterates over a list or map; charges each iteration and sets its variables. Yields each item, or key and value."""
    slots_of, charge = run.slots, run.meter.charge
    if len(slots) == 1:
        slot = slots[0]
        for one in _items(value):
            charge(cost)
            slots_of[slot] = one
            yield one
        return
    first, second = slots
    for name, one in _pairs(value):
        charge(cost)
        slots_of[first], slots_of[second] = name, one
        yield name, one


def _items(value: Any) -> Any:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return map(of_key, value)
    raise NoOverload("comprehension range")


def _pairs(value: Any) -> Any:
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return ((of_key(name), one) for name, one in value.items())
    raise NoOverload("comprehension range")


def _all(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    return _quantifier(range_code, slots, parts[0], decisive=False, cost=ROUND_COST["all"])


def _exists(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    return _quantifier(range_code, slots, parts[0], decisive=True, cost=ROUND_COST["exists"])


def _quantifier(range_code: Code, slots: list[int], part: CodeWithCost, *, decisive: bool, cost: int) -> Code:
    """Compiles `all` and `exists`. One decisive item determines the result, even if others fail."""
    test, step_cost = part[0], part[1] + cost

    def run(run: Run) -> bool:
        error: CelError | None = None
        for _ in _iterate(range_code(run), run, slots, cost=step_cost):
            try:
                results = test(run)
            except CelError as raised:
                error = error or raised
                continue
            if results is decisive:
                return bool(decisive)
            if results is not (not decisive):
                error = error or NoOverload("_||_" if decisive else "_&&_")
        if error is not None:
            raise error
        return not decisive

    return run


def _exists_one(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    test, step_cost = parts[0][0], parts[0][1] + ROUND_COST["existsOne"]

    def run(run: Run) -> bool:
        count = 0
        for _ in _iterate(range_code(run), run, slots, cost=step_cost):
            if _is_true(test(run)):
                run.meter.charge(TAKEN_COST["existsOne"])
                count += 1
        return count == 1

    return run


def _filter(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    test, step_cost = parts[0][0], parts[0][1] + ROUND_COST["filter"]

    def run(run: Run) -> list[Any]:
        results: list[Any] = []
        for one in _iterate(range_code(run), run, slots, cost=step_cost):
            if _is_true(test(run)):
                run.meter.charge(TAKEN_COST["filter"])
                results.append(one)
        return results

    return run


def _transformed(run: Run, parts: list[CodeWithCost]) -> Iterator[Any]:
    """Yields the result of the last part in this iteration, unless the filter in the first part is false."""
    if len(parts) == 1 or _is_true(parts[0][0](run)):
        if len(parts) > 1:
            run.meter.charge(parts[1][1])
        yield parts[-1][0](run)


def _map(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    step_cost = parts[0][1] + ROUND_COST["map"]

    def run(run: Run) -> list[Any]:
        return [result for _ in _iterate(range_code(run), run, slots, cost=step_cost) for result in _transformed(run, parts)]

    return run


def _transform_map(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    step_cost = parts[0][1] + ROUND_COST["transformMap"]

    def run(run: Run) -> dict[Any, Any]:
        return {
            key(name): result
            for name, _ in _iterate(range_code(run), run, slots, cost=step_cost)
            for result in _transformed(run, parts)
        }

    return run


def _transform_entries(range_code: Code, slots: list[int], parts: list[CodeWithCost]) -> Code:
    step_cost = parts[0][1] + ROUND_COST["transformMapEntry"]

    def run(run: Run) -> dict[Any, Any]:
        results: dict[Any, Any] = {}
        for _ in _iterate(range_code(run), run, slots, cost=step_cost):
            for result in _transformed(run, parts):
                _add_entries(results, result, run)
        return results

    return run


def _add_entries(results: dict[Any, Any], result: Any, run: Run) -> None:
    if not isinstance(result, dict):
        raise NoOverload("transformMapEntry")
    run.meter.charge(len(result))
    for name, one in result.items():
        if name in results:
            raise CelError(f"insert failed: key {of_key(name)} already exists")
        results[name] = one


def _optional(range_code: Code, slot: int, part: CodeWithCost, *, is_flat: bool) -> Code:
    code, step_cost = part

    def run(run: Run) -> Any:
        optional = range_code(run)
        if not isinstance(optional, Optional):
            raise NoOverload("optMap")
        if optional is NONE:
            return NONE
        run.meter.charge(step_cost)
        run.slots[slot] = optional.value
        return code(run) if is_flat else Optional(code(run))

    return run


def _is_true(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise NoOverload("_?_:_")


_FOLDS: dict[str, Callable[[Code, list[int], list[CodeWithCost]], Code]] = {
    "all": _all,
    "exists": _exists,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
}
