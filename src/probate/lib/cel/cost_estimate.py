"""Estimates the maximum cost of an expression from the value sizes that the schema allows.

    cost(program.tree, STANDARD)

The estimate uses the cost table of the meter. Each comprehension iterates over the maximum number of items, each function receives
arguments of the maximum size, and a conditional counts its more expensive branch.
"""

from __future__ import annotations

from probate.lib.cel.compiler import LIST_COST, MAP_COST, STRUCT_COST
from probate.lib.cel.comprehensions import ROUND_COST, TAKEN_COST
from probate.lib.cel.functions import Library, Overload
from probate.lib.cel.syntax.tree import (
    Bind,
    Call,
    Comprehension,
    Conditional,
    Ident,
    ListOf,
    Literal,
    Logic,
    MapOf,
    Node,
    Select,
    Struct,
    children,
)
from probate.lib.cel.types import Type, is_assignable

MAX_COST = 1 << 64
"""Upper bound of all estimates; far beyond every limit."""
MAX_VALUE_SIZE = 3 * 1024 * 1024
"""Size assumed for a value whose size is unknown: Kubernetes' maximum size of a request, in bytes."""


def cost(node: Node, library: Library) -> int:
    """Returns the maximum cost."""
    return _Estimator(library).estimate(node)[0]


class _Estimator:
    """Computes the maximum cost and the maximum size of each node."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def estimate(self, node: Node) -> tuple[int, int]:
        match node:
            case Literal():
                return 0, size_of(node.type)
            case Ident():
                return 1, size_of(node.type)
            case Select():
                return self.estimate(node.operand)[0] + 1, size_of(node.type)
            case Call():
                return self._call(node)
            case Conditional():
                yes, no = self.estimate(node.yes), self.estimate(node.no)
                return self.estimate(node.test)[0] + max(yes[0], no[0]), max(yes[1], no[1])
            case Comprehension():
                return self._comprehension(node)
            case Bind():
                value, body = self.estimate(node.value), self.estimate(node.body)
                return value[0] + body[0], body[1]
            case _:
                return self._parts(node)

    def _parts(self, node: Node) -> tuple[int, int]:
        base = {ListOf: LIST_COST, MapOf: MAP_COST, Struct: STRUCT_COST, Logic: 0}[type(node)]
        return min(base + sum(self.estimate(one)[0] for one in children(node)), MAX_COST), len(children(node))

    def _call(self, node: Call) -> tuple[int, int]:
        estimates = [self.estimate(one) for one in node.args]
        sizes = [size for _, size in estimates]
        overloads = [one for one in self._library.functions[node.name].overloads if _is_fitting(one, node)]
        call_cost = max((max(one.cost(*sizes), 1) if one.cost is not None else 1 for one in overloads), default=1)
        if node.name == "@in":
            call_cost = sizes[1] if node.args[1].type.name != "map" else 1
        result_size = max((one.grows(*sizes) for one in overloads if one.grows is not None), default=size_of(node.type))
        return min(sum(one for one, _ in estimates) + call_cost, MAX_COST), min(result_size, MAX_VALUE_SIZE)

    def _comprehension(self, node: Comprehension) -> tuple[int, int]:
        range_cost, iterations = self.estimate(node.range)
        estimates = [self.estimate(one) for one in node.parts]
        if node.kind.startswith("opt"):
            return range_cost + estimates[-1][0] + 1, estimates[-1][1]
        cost_per_iteration = sum(one for one, _ in estimates) + ROUND_COST[node.kind] + TAKEN_COST.get(node.kind, 0)
        return min(range_cost + 1 + iterations * cost_per_iteration, MAX_COST), iterations


def _is_fitting(overload: Overload, node: Call) -> bool:
    bound: dict[str, Type] = {}
    if overload.is_member != node.is_member or len(overload.params) != len(node.args):
        return False
    return all(is_assignable(expected, one.type, bound) for expected, one in zip(overload.params, node.args, strict=True))


def size_of(kind: Type) -> int:
    """Returns the maximum size of a value of this type."""
    if kind.size is not None:
        return kind.size
    return MAX_VALUE_SIZE if kind.name in ("string", "bytes", "list", "map", "dyn") else 1
