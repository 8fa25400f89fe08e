"""Converts a tree back to source. Parsing the result yields the same tree."""

from __future__ import annotations

import json
import math
from typing import Any

from probate.lib.cel.numbers import Uint
from probate.lib.cel.syntax.parser import RANKS
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
)

_UNARY = {"!_": "!", "-_": "-"}


def unparse(node: Node) -> str:  # noqa: C901 one case a kind of node
    """Returns the source. Adds parentheses wherever precedence could matter."""
    match node:
        case Literal():
            return _literal(node.value)
        case Ident():
            return node.name
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListOf():
            return f"[{', '.join(_mark(index, node.optional) + unparse(one) for index, one in enumerate(node.items))}]"
        case MapOf():
            return f"{{{_entries([(unparse(key), value) for key, value in node.entries], node.optional)}}}"
        case Struct():
            return f"{node.name}{{{_entries([(_name(key), value) for key, value in node.fields], node.optional)}}}"
        case Logic():
            return (" && " if node.is_and else " || ").join(_parenthesize(one) for one in node.terms)
        case Conditional():
            return f"{_parenthesize(node.test)} ? {_parenthesize(node.yes)} : {_parenthesize(node.no)}"
        case Comprehension():
            return f"{_parenthesize(node.range)}.{node.kind}({', '.join([*node.names, *map(unparse, node.parts)])})"
        case Bind():
            return f"cel.bind({node.name}, {unparse(node.value)}, {unparse(node.body)})"
        case _:
            raise TypeError(type(node))


def _parenthesize(node: Node) -> str:
    is_plain = isinstance(node, Ident | ListOf | MapOf | Struct | Comprehension | Bind | Select)
    return unparse(node) if is_plain else f"({unparse(node)})"


def _select(node: Select) -> str:
    path = f"{_parenthesize(node.operand)}.{'?' if node.is_optional else ''}{_name(node.field)}"
    return f"has({path})" if node.is_test else path


def _call(node: Call) -> str:
    args = [_parenthesize(one) for one in node.args]
    if node.name in _UNARY:
        return f"{_UNARY[node.name]}{args[0]}"
    if node.name in ("_[_]", "_[?_]"):
        return f"{args[0]}[{'?' if '?' in node.name else ''}{args[1]}]"
    operator = "in" if node.name == "@in" else node.name.strip("_")
    if operator in RANKS and (node.name == "@in" or node.name.startswith("_")):
        return f"{args[0]} {operator} {args[1]}"
    if node.is_member:
        return f"{args[0]}.{node.name}({', '.join(args[1:])})"
    return f"{node.name}({', '.join(args)})"


def _entries(entries: list[tuple[str, Node]], optional: frozenset[int]) -> str:
    return ", ".join(f"{_mark(index, optional)}{key}: {unparse(value)}" for index, (key, value) in enumerate(entries))


def _mark(index: int, optional: frozenset[int]) -> str:
    return "?" if index in optional else ""


def _name(field: str) -> str:
    return field if field.isidentifier() and field.isascii() else f"`{field}`"


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\x{one:02x}" for one in value) + '"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"{'-' if value < 0 else ''}1e999"
    return f"{int(value)}u" if isinstance(value, Uint) else repr(value)
