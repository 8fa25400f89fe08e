"""What an expression can cost at most, judging by how large the schema lets values become.

    cost(program.tree, STANDARD)

The estimate follows the same table of costs as the meter: each macro goes through as many items as there can be, each function sees
the largest arguments there can be, of a choice the dearer side is taken.
"""

from __future__ import annotations

from probate.api.cel.schema_types import MAX_REQUEST
from probate.lib.cel.compiler import LIST_COST, MAP_COST, STRUCT_COST
from probate.lib.cel.comprehensions import ROUND_COST, TAKEN_COST
from probate.lib.cel.functions import Library, Overload
from probate.lib.cel.syntax.tree import (
    Bind,
    Call,
    Choice,
    Fold,
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
from probate.lib.cel.types import Type, fits

MOST = 1 << 64
"""Nothing is reckoned to cost more: it is far beyond all limits."""


def cost(node: Node, library: Library) -> int:
    """The highest cost."""
    return _Estimator(library).look(node)[0]


class _Estimator:
    """Each look gives cost and size."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def look(self, node: Node) -> tuple[int, int]:
        match node:
            case Literal():
                return 0, size_of(node.type)
            case Ident():
                return 1, size_of(node.type)
            case Select():
                return self.look(node.operand)[0] + 1, size_of(node.type)
            case Call():
                return self._call(node)
            case Choice():
                yes, no = self.look(node.yes), self.look(node.no)
                return self.look(node.test)[0] + max(yes[0], no[0]), max(yes[1], no[1])
            case Fold():
                return self._fold(node)
            case Bind():
                value, body = self.look(node.value), self.look(node.body)
                return value[0] + body[0], body[1]
            case _:
                return self._parts(node)

    def _parts(self, node: Node) -> tuple[int, int]:
        base = {ListOf: LIST_COST, MapOf: MAP_COST, Struct: STRUCT_COST, Logic: 0}[type(node)]
        return min(base + sum(self.look(one)[0] for one in children(node)), MOST), len(children(node))

    def _call(self, node: Call) -> tuple[int, int]:
        looked = [self.look(one) for one in node.args]
        sizes = [size for _, size in looked]
        fitting = [one for one in self._library.functions[node.name].overloads if _is_fitting(one, node)]
        own = max((max(one.cost(*sizes), 1) if one.cost is not None else 1 for one in fitting), default=1)
        if node.name == "@in":
            own = sizes[1] if node.args[1].type.name != "map" else 1
        grown = max((one.grows(*sizes) for one in fitting if one.grows is not None), default=size_of(node.type))
        return min(sum(one for one, _ in looked) + own, MOST), min(grown, MAX_REQUEST)

    def _fold(self, node: Fold) -> tuple[int, int]:
        before, rounds = self.look(node.range)
        looked = [self.look(one) for one in node.parts]
        if node.kind.startswith("opt"):
            return before + looked[-1][0] + 1, looked[-1][1]
        each = sum(one for one, _ in looked) + ROUND_COST[node.kind] + TAKEN_COST.get(node.kind, 0)
        return min(before + 1 + rounds * each, MOST), rounds


def _is_fitting(overload: Overload, node: Call) -> bool:
    bound: dict[str, Type] = {}
    if overload.is_member != node.is_member or len(overload.params) != len(node.args):
        return False
    return all(fits(wanted, one.type, bound) for wanted, one in zip(overload.params, node.args, strict=True))


def size_of(kind: Type) -> int:
    """How large such a value can be."""
    if kind.size is not None:
        return kind.size
    return MAX_REQUEST if kind.name in ("string", "bytes", "list", "map", "dyn") else 1
