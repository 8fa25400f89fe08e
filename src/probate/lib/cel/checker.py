"""What type each part of an expression has, and where types do not fit.

Names get their places here too: a variable becomes the number of the slot that holds it, `optional.of(1)` turns out to be a
function and `int` a type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.core import work_limits
from probate.lib.cel import types
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CompileError, Issue
from probate.lib.cel.numbers import Uint
from probate.lib.cel.syntax.tree import Bind, Call, Choice, Fold, Ident, ListOf, Literal, Logic, MapOf, Node, Select, Struct
from probate.lib.cel.types import BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, TYPE, UINT, Type, fits, list_of, map_of, optional_of
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
    """Note the type of each part. The number of slots that variables take. Raises `CompileError`."""
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
            Choice: self._choice,
            Fold: self._fold,
            Bind: self._bind,
        }

    def check(self, node: Node) -> Type:
        work_limits.spend(4)
        node.type = found = self._checks[type(node)](node)
        return found

    def _wrong(self, node: Node, message: str) -> Type:
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
        return self._wrong(node, f"undeclared reference to '{name}' (in container '')")

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
            return found if found is not None else self._wrong(node, f"undefined field '{node.field}'")
        if operand.name == "map":
            return operand.params[1]
        if operand.name == "dyn":
            return DYN
        return self._wrong(node, f"type '{operand!r}' does not support field selection")

    def _call(self, node: Call) -> Type:
        if node.is_member and (name := self._namespaced(node)) is not None:
            node.name, node.args, node.is_member = name, node.args[1:], False
        given = [self._argument(node, one) for one in node.args]
        function = self._environment.library.functions.get(node.name)
        if function is None:
            return self._wrong(node, f"undeclared reference to '{node.name}' (in container '')")
        results = []
        for overload in function.overloads:
            bound: dict[str, Type] = {}
            fitting = overload.is_member == node.is_member and len(overload.params) == len(given)
            if fitting and all(fits(wanted, one, bound) for wanted, one in zip(overload.params, given, strict=True)):
                results.append(types.substituted(overload.result, bound))
        if results:
            return results[0] if all(one == results[0] for one in results) else DYN
        return self._wrong(node, _no_overload(node, given))

    def _argument(self, node: Call, argument: Node) -> Type:
        if node.name == "format" and isinstance(argument, ListOf):
            for index, one in enumerate(argument.items):
                self._element(one, is_optional=index in argument.optional)
            argument.type = list_of(DYN, len(argument.items))
            return argument.type
        return self.check(argument)

    def _namespaced(self, node: Call) -> str | None:
        """The function's whole name, if what looks like a target is part of it."""
        path = _path(node.args[0])
        if not path or path.split(".")[0] in self._scope:
            return None
        name = f"{path.removeprefix('.')}.{node.name}"
        return name if name in self._environment.library.functions else None

    def _list(self, node: ListOf) -> Type:
        """Items of mixed types are a mistake, as Kubernetes has it; but not where they are formatted."""
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
            return self._wrong(node, f"expected type 'optional_type(dyn)' but found '{found!r}'")
        return found.params[0]

    def _common(self, nodes: list[Node], given: list[Type]) -> Type:
        """The one type that all have. Literals of mixed types are a mistake, as Kubernetes has it."""
        common: Type | None = None
        for node, one in zip(nodes, given, strict=True):
            together = types.joined(common, one)
            if together is None:
                return self._wrong(node, f"expected type '{common!r}' but found '{one!r}'")
            common = together
        return common if common is not None else DYN

    def _struct(self, node: Struct) -> Type:
        kind = self._environment.structs.get(node.name.removeprefix("."))
        if kind is None or kind.fields is None:
            return self._wrong(node, f"undeclared reference to '{node.name}' (in container '')")
        for index, (name, value) in enumerate(node.fields):
            given, wanted = self._element(value, is_optional=index in node.optional), kind.fields(name)
            if wanted is None:
                self._wrong(value, f"undefined field '{name}'")
            elif not fits(wanted, given, {}):
                self._wrong(value, f"expected type of field '{name}' is '{wanted!r}' but provided type is '{given!r}'")
        return kind

    def _logic(self, node: Logic) -> Type:
        for term in node.terms:
            found = self.check(term)
            if not fits(BOOL, found, {}):
                name = "_&&_" if node.is_and else "_||_"
                self._wrong(term, f"expected type 'bool' but found '{found!r}' in '{name}'")
        return BOOL

    def _choice(self, node: Choice) -> Type:
        test, yes, no = self.check(node.test), self.check(node.yes), self.check(node.no)
        together = types.joined(yes, no)
        if not fits(BOOL, test, {}) or together is None:
            return self._wrong(node, f"found no matching overload for '_?_:_' applied to '({test!r}, {yes!r}, {no!r})'")
        return together

    def _bind(self, node: Bind) -> Type:
        value = self.check(node.value)
        before = self._declare(node.name, value)
        node.slot = self._scope[node.name][0]
        found = self.check(node.body)
        self._forget({node.name: before})
        return found

    def _fold(self, node: Fold) -> Type:
        kinds = self._variables(node, self.check(node.range))
        before = {name: self._declare(name, kind) for name, kind in zip(node.names, kinds, strict=True)}
        node.slots = [self._scope[name][0] for name in node.names]
        parts = [self.check(one) for one in node.parts]
        self._forget(before)
        return self._folded(node, parts)

    def _variables(self, node: Fold, given: Type) -> list[Type]:
        if node.kind.startswith("opt"):
            if given.name not in ("optional_type", "dyn"):
                self._wrong(node, f"found no matching overload for '{node.kind}' applied to '{given!r}'")
            return [given.params[0] if given.params else DYN]
        if given.name == "list":
            return [given.params[0]] if len(node.names) == 1 else [INT, given.params[0]]
        if given.name == "map":
            return list(given.params[: len(node.names)])
        if given.name != "dyn":
            self._wrong(
                node.range, f"expression of type '{given!r}' cannot be range of a comprehension (must be list, map, or dynamic)"
            )
        return [DYN] * len(node.names)

    def _folded(self, node: Fold, parts: list[Type]) -> Type:
        is_test = node.kind in ("all", "exists", "existsOne", "filter") or len(parts) == 2
        if is_test and not fits(BOOL, parts[0], {}):
            self._wrong(node.parts[0], f"expected type 'bool' but found '{parts[0]!r}'")
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
                    else self._wrong(node.parts[-1], f"expected type 'map' but found '{parts[-1]!r}'")
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

    def _forget(self, before: dict[str, tuple[int, Type] | None]) -> None:
        for name, one in before.items():
            self._next -= 1
            if one is None:
                del self._scope[name]
            else:
                self._scope[name] = one


def _path(node: Node) -> str:
    """`a.b.c`, if that is all it is."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_test and not node.is_optional and (path := _path(node.operand)):
        return f"{path}.{node.field}"
    return ""


def _item(node: Fold) -> Type:
    given = node.range.type
    return given.params[0] if given.name in ("list", "map") else DYN


def _key(node: Fold) -> Type:
    given = node.range.type
    return INT if given.name == "list" else given.params[0] if given.name == "map" else DYN


def _no_overload(node: Call, given: list[Type]) -> str:
    shown = f"{given[0]!r}.({', '.join(map(repr, given[1:]))})" if node.is_member else f"({', '.join(map(repr, given))})"
    return f"found no matching overload for '{node.name}' applied to '{shown}'"
