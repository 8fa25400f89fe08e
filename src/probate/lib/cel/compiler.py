"""Compiles a checked tree into Python functions. Each node becomes a function from the evaluation (`Run`) to the value.

Costs that do not depend on values are summed at compile time and charged once: for the whole expression, for each iteration of a
comprehension, and for each branch of a conditional. Only costs that depend on values are charged during evaluation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from probate.lib.cel import comprehensions, field_access
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.functions import Function, Overload
from probate.lib.cel.syntax.identifier_escapes import unescape
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
from probate.lib.cel.values import NONE, Optional, TypeValue, key, size

Code: TypeAlias = Callable[[Run], Any]

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40


def compile_node(node: Node, environment: Environment) -> tuple[Code, int]:
    """Compiles a node. Returns the function and its fixed cost."""
    return _Compiler(environment).compile(node)


class _Compiler:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def compile(self, node: Node) -> tuple[Code, int]:  # noqa: C901 one case a kind of node
        match node:
            case Literal():
                return _constant(node.value), 0
            case Ident():
                return (_variable(node.slot), 1) if node.slot >= 0 else (_constant(TypeValue(node.name)), 1)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case Logic():
                return self._logic(node)
            case Conditional():
                return self._conditional(node)
            case Comprehension():
                return self._comprehension(node)
            case Bind():
                return self._bind(node)
            case ListOf():
                return self._list(node)
            case MapOf():
                return self._map(node)
            case Struct():
                return self._struct(node)
            case _:
                raise TypeError(type(node))

    def compile_charged(self, node: Node) -> Code:
        """Compiles a node into a function that charges its own fixed cost."""
        code, cost = self.compile(node)
        return _with_charge(code, cost) if cost else code

    def _select(self, node: Select) -> tuple[Code, int]:
        if node.type.name == "type" and node.operand.type.name == "dyn" and not _has_slot(node):
            return _constant(TypeValue(_dotted(node))), 1
        operand, cost = self.compile(node.operand)
        holder = node.operand.type.params[0] if node.operand.type.name == "optional_type" else node.operand.type
        field = unescape(node.field) if holder.fields is not None else node.field
        if node.is_test:
            return field_access.compile_has(operand, field), cost + 1
        if node.is_optional or holder is not node.operand.type:
            return field_access.compile_optional_select(operand, field), cost + 1
        return field_access.compile_select(operand, field), cost + 1

    def _call(self, node: Call) -> tuple[Code, int]:
        parts = [self.compile(one) for one in node.args]
        codes, cost = [code for code, _ in parts], sum(one for _, one in parts) + 1
        if node.name in ("or", "orValue") and node.is_member:
            code, _ = parts[0]
            return _compile_or(code, self.compile_charged(node.args[1]), is_value=node.name == "orValue"), parts[0][1] + 1
        function = self._environment.library.functions[node.name]
        return _compile_call(function, codes, is_member=node.is_member), cost

    def _logic(self, node: Logic) -> tuple[Code, int]:
        first, cost = self.compile(node.terms[0])
        return _logic([first, *map(self.compile_charged, node.terms[1:])], not node.is_and), cost

    def _conditional(self, node: Conditional) -> tuple[Code, int]:
        test, cost = self.compile(node.test)
        yes, no = self.compile_charged(node.yes), self.compile_charged(node.no)

        def run(run: Run) -> Any:
            condition = test(run)
            if condition is True:
                return yes(run)
            if condition is False:
                return no(run)
            raise NoOverload("_?_:_")

        return run, cost

    def _bind(self, node: Bind) -> tuple[Code, int]:
        value, first = self.compile(node.value)
        body, second = self.compile(node.body)
        slot = node.slot

        def run(run: Run) -> Any:
            run.slots[slot] = value(run)
            return body(run)

        return run, first + second

    def _comprehension(self, node: Comprehension) -> tuple[Code, int]:
        range_, cost = self.compile(node.range)
        parts = [self.compile(one) for one in node.parts]
        return comprehensions.compile_comprehension(node.kind, range_, node.slots, parts=parts), cost + 1

    def _list(self, node: ListOf) -> tuple[Code, int]:
        parts = [self.compile(one) for one in node.items]
        codes, cost = [code for code, _ in parts], LIST_COST + sum(one for _, one in parts)
        if not node.optional:
            return (lambda run: [code(run) for code in codes]), cost
        return (lambda run: [one for index, code in enumerate(codes) for one in _present(code(run), index in node.optional)]), cost

    def _map(self, node: MapOf) -> tuple[Code, int]:
        keys = [self.compile(one) for one, _ in node.entries]
        values = [self.compile(one) for _, one in node.entries]
        cost = MAP_COST + sum(one for _, one in (*keys, *values))

        def run(run: Run) -> Any:
            entries: dict[Any, Any] = {}
            for index, ((name, _), (value, _)) in enumerate(zip(keys, values, strict=True)):
                entry_key = key(name(run))
                for one in _present(value(run), index in node.optional):
                    if entry_key in entries:
                        raise CelError("Failed with repeated key")
                    entries[entry_key] = one
            return entries

        return run, cost

    def _struct(self, node: Struct) -> tuple[Code, int]:
        parts = [(name, *self.compile(one)) for name, one in node.fields]
        fields = [(name, code, index in node.optional) for index, (name, code, _) in enumerate(parts)]
        cost = STRUCT_COST + sum(one for _, _, one in parts)

        def run(run: Run) -> Any:
            return {name: one for name, code, is_optional in fields for one in _present(code(run), is_optional)}

        return run, cost


def _constant(value: Any) -> Code:
    return lambda _: value


def _variable(slot: int) -> Code:
    return lambda run: run.slots[slot]


def _with_charge(code: Code, cost: int) -> Code:
    def run(run: Run) -> Any:
        run.meter.charge(cost)
        return code(run)

    return run


def _present(value: Any, is_optional: bool) -> tuple[Any, ...]:
    """Returns the value; for an optional entry, the value that the optional contains, if any."""
    if not is_optional:
        return (value,)
    if not isinstance(value, Optional):
        raise NoOverload("optional entry")
    return () if value is NONE else (value.value,)


def _compile_or(code: Code, other: Code, *, is_value: bool) -> Code:
    """Compiles `or` and `orValue`. The alternative is evaluated only if the optional is empty."""

    def run(run: Run) -> Any:
        result = code(run)
        if not isinstance(result, Optional):
            raise NoOverload("orValue" if is_value else "or")
        if result is NONE:
            return other(run)
        return result.value if is_value else result

    return run


def _logic(codes: list[Code], decisive: bool) -> Code:
    """Compiles && and ||. A decisive operand determines the result, even if other operands fail."""

    def run(run: Run) -> Any:
        error: CelError | None = None
        for code in codes:
            try:
                result = code(run)
            except CelError as raised:
                error = error or raised
                continue
            if result is decisive:
                return decisive
            if result is not (not decisive):
                error = error or NoOverload("_||_" if decisive else "_&&_")
        if error is not None:
            raise error
        return not decisive

    return run


def _compile_call(function: Function, codes: list[Code], *, is_member: bool) -> Code:
    overloads: dict[tuple[type, ...], Overload] = {}

    def resolve(args: tuple[Any, ...], kinds: tuple[type, ...]) -> Overload:
        overloads[kinds] = overload = function.taking(args, is_member=is_member)
        return overload

    def run_any(run: Run) -> Any:
        args = tuple([code(run) for code in codes])
        kinds = tuple(map(type, args))
        overload = overloads.get(kinds) or resolve(args, kinds)
        if overload.cost is not None:
            run.meter.charge(overload.cost(*map(size, args)) - 1)
        return overload.run(run.meter, *args)

    if len(codes) != 2:
        return run_any
    first, second = codes

    def run_two(run: Run) -> Any:
        a, b = first(run), second(run)
        kinds = (type(a), type(b))
        overload = overloads.get(kinds) or resolve((a, b), kinds)
        if overload.cost is not None:
            run.meter.charge(overload.cost(size(a), size(b)) - 1)
        return overload.run(run.meter, a, b)

    return run_two


def _has_slot(node: Select) -> bool:
    operand: Node = node
    while isinstance(operand, Select):
        operand = operand.operand
    return not isinstance(operand, Ident) or operand.slot >= 0


def _dotted(node: Node) -> str:
    return f"{_dotted(node.operand)}.{node.field}" if isinstance(node, Select) else getattr(node, "name", "")
