"""The type checker: infers the type of each node and reports type errors.

The checker also resolves names: a variable gets the number of the slot that holds it, `optional.of(1)` becomes a function call, and
`int` becomes a type value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.core import work_limits
from probate.lib.cel import types
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError, Issue
from probate.lib.cel.numbers import Uint
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
from probate.lib.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    TYPE,
    UINT,
    Type,
    is_assignable,
    list_of,
    map_of,
    optional_of,
)
from probate.lib.cel.values import TypeValue

TYPE_NAMES = frozenset(
    {
        *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration", "kubernetes.Quantity", "kubernetes.URL", "net.IP", "net.CIDR"),
    }
)
_LITERALS: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    TypeValue: TYPE,
}


def check(node: Node, source: str, environment: Environment) -> int:
    """Annotates each node with its type and returns the number of slots that variables need. Raises `CompileError`."""
    checker = _Checker(environment)
    checker.check(node)
    if checker.issues:
        raise CompileError(source, checker.issues)
    return checker.slots


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._scope: dict[str, tuple[int, Type]] = {
            name: (slot, kind) for slot, (name, kind) in enumerate(environment.variables.items())
        }
        self._next = self.slots = len(self._scope)
        self.issues: list[Issue] = []
        self._checks: dict[type, Callable[[Any], Type]] = {
            Literal: self._literal,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListOf: self._list,
            MapOf: self._map,
            Struct: self._struct,
            Logic: self._logic,
            Conditional: self._conditional,
            Comprehension: self._comprehension,
            Bind: self._bind,
        }

    def check(self, node: Node) -> Type:
        work_limits.spend(4)
        node.type = found = self._checks[type(node)](node)
        return found

    def _error(self, node: Node, message: str) -> Type:
        self.issues.append(Issue(node.at, message))
        return DYN

    def _literal(self, node: Literal) -> Type:
        kind = _LITERALS[type(node.value)]
        return kind.sized(len(node.value)) if kind in (STRING, BYTES) else kind

    def _ident(self, node: Ident) -> Type:
        name = node.name.removeprefix(".")
        found = self._scope.get(name)
        if found is not None:
            node.slot = found[0]
            return found[1]
        if name in TYPE_NAMES:
            node.name = name
            return TYPE
        return self._error(node, f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Select) -> Type:
        path = _path(node)
        if path in TYPE_NAMES and path.split(".")[0] not in self._scope:
            return TYPE
        operand = self.check(node.operand)
        is_wrapped = operand.name == "optional_type"
        found = self._field(node, operand.params[0] if is_wrapped else operand)
        if node.is_test:
            return BOOL
        return optional_of(found) if is_wrapped or node.is_optional else found

    def _field(self, node: Select, operand: Type) -> Type:
        if operand.fields is not None:
            found = operand.fields(node.field)
            return found if found is not None else self._error(node, f"undefined field '{node.field}'")
        if operand.name == "map":
            return operand.params[1]
        if operand.name == "dyn":
            return DYN
        return self._error(node, f"type '{operand!r}' does not support field selection")

    def _call(self, node: Call) -> Type:
        if node.is_member and (name := self._qualified_function(node)) is not None:
            node.name, node.args, node.is_member = name, node.args[1:], False
        given = [self._argument(node, one) for one in node.args]
        function = self._environment.library.functions.get(node.name)
        if function is None:
            return self._error(node, f"undeclared reference to '{node.name}' (in container '')")
        results = []
        for overload in function.overloads:
            bound: dict[str, Type] = {}
            fitting = overload.is_member == node.is_member and len(overload.params) == len(given)
            if fitting and all(is_assignable(expected, one, bound) for expected, one in zip(overload.params, given, strict=True)):
                results.append(types.substitute(overload.result, bound))
        if results:
            return results[0] if all(one == results[0] for one in results) else DYN
        return self._error(node, _no_overload(node, given))

    def _argument(self, node: Call, argument: Node) -> Type:
        if node.name == "format" and isinstance(argument, ListOf):
            for index, one in enumerate(argument.items):
                self._element(one, is_optional=index in argument.optional)
            argument.type = list_of(DYN, len(argument.items))
            return argument.type
        return self.check(argument)

    def _qualified_function(self, node: Call) -> str | None:
        """Returns the qualified function name, if the call target is the namespace of a function and not a value."""
        path = _path(node.args[0])
        if not path or path.split(".")[0] in self._scope:
            return None
        name = f"{path.removeprefix('.')}.{node.name}"
        return name if name in self._environment.library.functions else None

    def _list(self, node: ListOf) -> Type:
        """Infers a list type. Items of mixed types are an error, as in Kubernetes, except in arguments of `format`."""
        items = [self._element(one, is_optional=index in node.optional) for index, one in enumerate(node.items)]
        return list_of(self._common(node.items, items), len(items))

    def _map(self, node: MapOf) -> Type:
        keys = [self.check(key) for key, _ in node.entries]
        values = [self._element(one, is_optional=index in node.optional) for index, (_, one) in enumerate(node.entries)]
        key = self._common([one for one, _ in node.entries], keys)
        return map_of(key, self._common([one for _, one in node.entries], values), len(keys))

    def _element(self, node: Node, *, is_optional: bool) -> Type:
        found = self.check(node)
        if not is_optional or found.name == "dyn":
            return found
        if found.name != "optional_type":
            return self._error(node, f"expected type 'optional_type(dyn)' but found '{found!r}'")
        return found.params[0]

    def _common(self, nodes: list[Node], given: list[Type]) -> Type:
        """Returns the common type of the nodes. Literals of mixed types are an error, as in Kubernetes."""
        common: Type | None = None
        for node, one in zip(nodes, given, strict=True):
            joined_type = types.join_types(common, one)
            if joined_type is None:
                return self._error(node, f"expected type '{common!r}' but found '{one!r}'")
            common = joined_type
        return common if common is not None else DYN

    def _struct(self, node: Struct) -> Type:
        kind = self._environment.structs.get(node.name.removeprefix("."))
        if kind is None or kind.fields is None:
            return self._error(node, f"undeclared reference to '{node.name}' (in container '')")
        for index, (name, value) in enumerate(node.fields):
            given, expected = self._element(value, is_optional=index in node.optional), kind.fields(name)
            if expected is None:
                self._error(value, f"undefined field '{name}'")
            elif not is_assignable(expected, given, {}):
                self._error(value, f"expected type of field '{name}' is '{expected!r}' but provided type is '{given!r}'")
        return kind

    def _logic(self, node: Logic) -> Type:
        for term in node.terms:
            found = self.check(term)
            if not is_assignable(BOOL, found, {}):
                name = "_&&_" if node.is_and else "_||_"
                self._error(term, f"expected type 'bool' but found '{found!r}' in '{name}'")
        return BOOL

    def _conditional(self, node: Conditional) -> Type:
        test, yes, no = self.check(node.test), self.check(node.yes), self.check(node.no)
        joined_type = types.join_types(yes, no)
        if not is_assignable(BOOL, test, {}) or joined_type is None:
            return self._error(node, f"found no matching overload for '_?_:_' applied to '({test!r}, {yes!r}, {no!r})'")
        return joined_type

    def _bind(self, node: Bind) -> Type:
        value = self.check(node.value)
        before = self._declare(node.name, value)
        node.slot = self._scope[node.name][0]
        found = self.check(node.body)
        self._restore_scope({node.name: before})
        return found

    def _comprehension(self, node: Comprehension) -> Type:
        kinds = self._variables(node, self.check(node.range))
        before = {name: self._declare(name, kind) for name, kind in zip(node.names, kinds, strict=True)}
        node.slots = [self._scope[name][0] for name in node.names]
        parts = [self.check(one) for one in node.parts]
        self._restore_scope(before)
        return self._comprehension_result(node, parts)

    def _variables(self, node: Comprehension, given: Type) -> list[Type]:
        if node.kind.startswith("opt"):
            if given.name not in ("optional_type", "dyn"):
                self._error(node, f"found no matching overload for '{node.kind}' applied to '{given!r}'")
            return [given.params[0] if given.params else DYN]
        if given.name == "list":
            return [given.params[0]] if len(node.names) == 1 else [INT, given.params[0]]
        if given.name == "map":
            return list(given.params[: len(node.names)])
        if given.name != "dyn":
            self._error(
                node.range, f"expression of type '{given!r}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
        return [DYN] * len(node.names)

    def _comprehension_result(self, node: Comprehension, parts: list[Type]) -> Type:
        is_test = node.kind in ("all", "exists", "existsOne", "filter") or len(parts) == 2
        if is_test and not is_assignable(BOOL, parts[0], {}):
            self._error(node.parts[0], f"expected type 'bool' but found '{parts[0]!r}'")
        match node.kind:
            case "all" | "exists" | "existsOne":
                return BOOL
            case "filter":
                return list_of(_item(node), node.range.type.size)
            case "map" | "transformList":
                return list_of(parts[-1], node.range.type.size)
            case "transformMap":
                return map_of(_key(node), parts[-1], node.range.type.size)
            case "transformMapEntry":
                return (
                    parts[-1]
                    if parts[-1].name == "map"
                    else self._error(node.parts[-1], f"expected type 'map' but found '{parts[-1]!r}'")
                )
            case "optMap":
                return optional_of(parts[-1])
            case _:
                return parts[-1]

    def _declare(self, name: str, kind: Type) -> tuple[int, Type] | None:
        before = self._scope.get(name)
        self._scope[name] = (self._next, kind)
        self._next += 1
        self.slots = max(self.slots, self._next)
        return before

    def _restore_scope(self, before: dict[str, tuple[int, Type] | None]) -> None:
        for name, one in before.items():
            self._next -= 1
            if one is None:
                del self._scope[name]
            else:
                self._scope[name] = one


def _path(node: Node) -> str:
    """Returns the dotted path if the node consists of nothing but names, as in `a.b.c`; otherwise an empty string."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_test and not node.is_optional and (path := _path(node.operand)):
        return f"{path}.{node.field}"
    return ""


def _item(node: Comprehension) -> Type:
    given = node.range.type
    return given.params[0] if given.name in ("list", "map") else DYN


def _key(node: Comprehension) -> Type:
    given = node.range.type
    return INT if given.name == "list" else given.params[0] if given.name == "map" else DYN


def _no_overload(node: Call, given: list[Type]) -> str:
    shown = f"{given[0]!r}.({', '.join(map(repr, given[1:]))})" if node.is_member else f"({', '.join(map(repr, given))})"
    return f"found no matching overload for '{node.name}' applied to '{shown}'"
