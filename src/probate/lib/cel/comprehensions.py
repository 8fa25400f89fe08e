"""Macros that go through lists and maps, as loops.

What each round costs besides the parts is what Kubernetes counts for the same macro, which it writes out as a loop in the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.values import NONE, Optional, key, of_key

Code: TypeAlias = Callable[[Run], Any]
Priced: TypeAlias = tuple[Code, int]

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
"""Of each round, besides what its parts cost."""
TAKEN_COST = {"existsOne": 1, "filter": 12}
"""Besides, of each round whose item is taken."""


def folded(kind: str, range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    """The macro of that name."""
    if kind.startswith("opt"):
        return _optional(range_, slots[0], parts[0], is_flat=kind == "optFlatMap")
    return _FOLDS[kind](range_, slots, parts)


def _rounds(value: Any, run: Run, slots: list[int], cost: int) -> Iterator[Any]:
    """Go through the value, each round paid for and its variables set. Gives each item, or key and value."""
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


def _all(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    return _quantified(range_, slots, parts[0], decisive=False, cost=ROUND_COST["all"])


def _exists(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    return _quantified(range_, slots, parts[0], decisive=True, cost=ROUND_COST["exists"])


def _quantified(range_: Code, slots: list[int], part: Priced, *, decisive: bool, cost: int) -> Code:
    """One item that decides is enough, whatever may be wrong with others."""
    test, price = part[0], part[1] + cost

    def run(run: Run) -> bool:
        error: CelError | None = None
        for _ in _rounds(range_(run), run, slots, price):
            try:
                found = test(run)
            except CelError as raised:
                error = error or raised
                continue
            if found is decisive:
                return bool(decisive)
            if found is not (not decisive):
                error = error or NoOverload("_||_" if decisive else "_&&_")
        if error is not None:
            raise error
        return not decisive

    return run


def _exists_one(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    test, price = parts[0][0], parts[0][1] + ROUND_COST["existsOne"]

    def run(run: Run) -> bool:
        count = 0
        for _ in _rounds(range_(run), run, slots, price):
            if _is_true(test(run)):
                run.meter.charge(TAKEN_COST["existsOne"])
                count += 1
        return count == 1

    return run


def _filter(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    test, price = parts[0][0], parts[0][1] + ROUND_COST["filter"]

    def run(run: Run) -> list[Any]:
        found: list[Any] = []
        for one in _rounds(range_(run), run, slots, price):
            if _is_true(test(run)):
                run.meter.charge(TAKEN_COST["filter"])
                found.append(one)
        return found

    return run


def _made(run: Run, parts: list[Priced]) -> Iterator[Any]:
    """What the last part makes in this round, unless the first one is false."""
    if len(parts) == 1 or _is_true(parts[0][0](run)):
        if len(parts) > 1:
            run.meter.charge(parts[1][1])
        yield parts[-1][0](run)


def _map(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    price = parts[0][1] + ROUND_COST["map"]

    def run(run: Run) -> list[Any]:
        return [made for _ in _rounds(range_(run), run, slots, price) for made in _made(run, parts)]

    return run


def _transform_map(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    price = parts[0][1] + ROUND_COST["transformMap"]

    def run(run: Run) -> dict[Any, Any]:
        return {key(name): made for name, _ in _rounds(range_(run), run, slots, price) for made in _made(run, parts)}

    return run


def _transform_entries(range_: Code, slots: list[int], parts: list[Priced]) -> Code:
    price = parts[0][1] + ROUND_COST["transformMapEntry"]

    def run(run: Run) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in _rounds(range_(run), run, slots, price):
            for made in _made(run, parts):
                _add_entries(found, made, run)
        return found

    return run


def _add_entries(found: dict[Any, Any], made: Any, run: Run) -> None:
    if not isinstance(made, dict):
        raise NoOverload("transformMapEntry")
    run.meter.charge(len(made))
    for name, one in made.items():
        if name in found:
            raise CelError(f"insert failed: key {of_key(name)} already exists")
        found[name] = one


def _optional(range_: Code, slot: int, part: Priced, *, is_flat: bool) -> Code:
    code, price = part

    def run(run: Run) -> Any:
        given = range_(run)
        if not isinstance(given, Optional):
            raise NoOverload("optMap")
        if given is NONE:
            return NONE
        run.meter.charge(price)
        run.slots[slot] = given.value
        return code(run) if is_flat else Optional(code(run))

    return run


def _is_true(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise NoOverload("_?_:_")


_FOLDS: dict[str, Callable[[Code, list[int], list[Priced]], Code]] = {
    "all": _all,
    "exists": _exists,
    "existsOne": _exists_one,
    "filter": _filter,
    "map": _map,
    "transformList": _map,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entries,
}
