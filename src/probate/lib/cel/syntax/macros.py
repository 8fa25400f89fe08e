"""Macros: calls that the parser expands, such as `has(a.b)`, `list.all(x, ...)` and `cel.bind(x, ..., ...)`."""

from __future__ import annotations

from probate.lib.cel.syntax.tree import Bind, Comprehension, Ident, Node, Select

ONE_VARIABLE = {"all": (1,), "exists": (1,), "exists_one": (1,), "existsOne": (1,), "map": (1, 2), "filter": (1,)}
TWO_VARIABLES = {
    "all": (1,),
    "exists": (1,),
    "exists_one": (1,),
    "existsOne": (1,),
    "transformList": (1, 2),
    "transformMap": (1, 2),
    "transformMapEntry": (1, 2),
}
OPTIONAL = {"optMap": (1,), "optFlatMap": (1,)}
MAX_PARTS = 3


class BadMacro(ValueError):
    """The arguments of a macro are invalid."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def expand(name: str, target: Node | None, args: list[Node], *, at: int) -> Node | None:
    """Expands a macro call; None if the call is an ordinary function call."""
    if target is None:
        return _has(args, at) if name == "has" and len(args) == 1 else None
    if name == "bind" and isinstance(target, Ident) and target.name == "cel" and len(args) == 3:
        return Bind(at, _variable(args[0]), args[1], body=args[2])
    count = len(args)
    if (name in OPTIONAL and count == 2) or count - 1 in ONE_VARIABLE.get(name, ()):
        return Comprehension(at, _KINDS.get(name, name), target, names=[_variable(args[0])], parts=args[1:])
    if count - 2 in TWO_VARIABLES.get(name, ()):
        return Comprehension(at, _KINDS.get(name, name), target, names=_two_variables(args), parts=args[2:])
    return None


_KINDS = {"exists_one": "existsOne"}


def _has(args: list[Node], at: int) -> Node:
    operand = args[0]
    if not isinstance(operand, Select) or operand.is_optional:
        raise BadMacro(operand.at, "invalid argument to has() macro")
    return Select(at, operand.operand, operand.field, is_test=True)


def _two_variables(args: list[Node]) -> list[str]:
    first, second = _variable(args[0]), _variable(args[1])
    if first == second:
        raise BadMacro(args[1].at, f"duplicate variable name: {second}")
    return [first, second]


def _variable(node: Node) -> str:
    if not isinstance(node, Ident) or node.name.startswith("."):
        raise BadMacro(node.at, "argument must be a simple name")
    return node.name
