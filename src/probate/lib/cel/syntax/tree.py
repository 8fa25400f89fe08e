"""The syntax tree. `at` is the offset of a node in the source; `type` is the type that the checker inferred.

Macros have their own nodes (`Comprehension`, `Bind`), so they run as fast as the loops that they denote. A chain of && or || is a
single node, whatever its length.
"""

from __future__ import annotations

from typing import Any

from probate.lib.cel.types import DYN, Type


class Node:
    """A node of the syntax tree."""

    __slots__ = ("at", "type")

    def __init__(self, at: int) -> None:
        self.at = at
        self.type: Type = DYN


class Literal(Node):
    """A literal value."""

    __slots__ = ("value",)

    def __init__(self, at: int, value: Any) -> None:
        super().__init__(at)
        self.value = value


class Ident(Node):
    """A variable or type name."""

    __slots__ = ("name", "slot")

    def __init__(self, at: int, name: str) -> None:
        super().__init__(at)
        self.name = name
        self.slot = -1


class Select(Node):
    """`operand.field`; with `is_test`, whether the field exists (`has`); with `is_optional`, the field as an optional (`?.`)."""

    __slots__ = ("field", "is_optional", "is_test", "operand")

    def __init__(self, at: int, operand: Node, field: str, *, is_test: bool = False, is_optional: bool = False) -> None:
        super().__init__(at)
        self.operand = operand
        self.field = field
        self.is_test = is_test
        self.is_optional = is_optional


class Call(Node):
    """A call of a function or operator. The first argument of a method call is its target."""

    __slots__ = ("args", "is_member", "name")

    def __init__(self, at: int, name: str, args: list[Node], *, is_member: bool = False) -> None:
        super().__init__(at)
        self.name = name
        self.args = args
        self.is_member = is_member


class ListOf(Node):
    """`[a, ?b]`"""

    __slots__ = ("items", "optional")

    def __init__(self, at: int, items: list[Node], optional: frozenset[int]) -> None:
        super().__init__(at)
        self.items = items
        self.optional = optional


class MapOf(Node):
    """`{a: b, ?c: d}`"""

    __slots__ = ("entries", "optional")

    def __init__(self, at: int, entries: list[tuple[Node, Node]], optional: frozenset[int]) -> None:
        super().__init__(at)
        self.entries = entries
        self.optional = optional


class Struct(Node):
    """`Object.spec{replicas: 1}`"""

    __slots__ = ("fields", "name", "optional")

    def __init__(self, at: int, name: str, fields: list[tuple[str, Node]], *, optional: frozenset[int]) -> None:
        super().__init__(at)
        self.name = name
        self.fields = fields
        self.optional = optional


class Logic(Node):
    """`a && b && c`, or the same with ||."""

    __slots__ = ("is_and", "terms")

    def __init__(self, at: int, terms: list[Node], *, is_and: bool) -> None:
        super().__init__(at)
        self.terms = terms
        self.is_and = is_and


class Conditional(Node):
    """`test ? yes : no`"""

    __slots__ = ("no", "test", "yes")

    def __init__(self, at: int, test: Node, *, yes: Node, no: Node) -> None:
        super().__init__(at)
        self.test = test
        self.yes = yes
        self.no = no


class Comprehension(Node):
    """A comprehension macro over a list or map (or, for optMap and optFlatMap, over the content of an optional).

    `kind` is its name, `names` are its one or two variables, `parts` the expressions evaluated in each iteration.
    """

    __slots__ = ("kind", "names", "parts", "range", "slots")

    def __init__(self, at: int, kind: str, range_: Node, *, names: list[str], parts: list[Node]) -> None:
        super().__init__(at)
        self.kind = kind
        self.range = range_
        self.names = names
        self.parts = parts
        self.slots: list[int] = []


class Bind(Node):
    """`cel.bind(name, value, body)`"""

    __slots__ = ("body", "name", "slot", "value")

    def __init__(self, at: int, name: str, value: Node, *, body: Node) -> None:
        super().__init__(at)
        self.name = name
        self.value = value
        self.body = body
        self.slot = -1


def children(node: Node) -> list[Node]:
    """Returns the child nodes."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return node.args
        case ListOf():
            return node.items
        case MapOf():
            return [one for entry in node.entries for one in entry]
        case Struct():
            return [one for _, one in node.fields]
        case Logic():
            return node.terms
        case Conditional():
            return [node.test, node.yes, node.no]
        case Comprehension():
            return [node.range, *node.parts]
        case Bind():
            return [node.value, node.body]
        case _:
            return []


def depth(node: Node, limit: int) -> int:
    """Returns the depth of the tree, counting up to one more than `limit`."""
    level, count = [node], 0
    while level and count <= limit:
        level = [child for one in level for child in children(one)]
        count += 1
    return count


def names(node: Node) -> set[str]:
    """Returns the free names of the tree: all names except the variables of its own macros."""
    match node:
        case Ident():
            return {node.name}
        case Comprehension():
            return names(node.range) | (set().union(*map(names, node.parts)) - set(node.names))
        case Bind():
            return names(node.value) | (names(node.body) - {node.name})
        case _:
            return set().union(*map(names, children(node)))
