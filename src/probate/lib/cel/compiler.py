"""A checked tree as Python functions: each node becomes one that is given the run and gives the value.

What a part costs whatever happens is added up here and charged once: for the whole expression, for each round of a macro, for each
side of a choice. Only what depends on values is charged as it is met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from probate.lib.cel import comprehensions, field_access
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, NoOverload
from probate.lib.cel.evaluation import Run
from probate.lib.cel.functions import Function, Overload
from probate.lib.cel.syntax.identifier_escapes import meant
from probate.lib.cel.syntax.tree import Bind, Call, Choice, Fold, Ident, ListOf, Literal, Logic, MapOf, Node, Select, Struct
from probate.lib.cel.values import NONE, Optional, TypeValue, key, size

Code: TypeAlias = Callable[[Run], Any]

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40


def compiled(node: Node, environment: Environment) -> tuple[Code, int]:
    """The function, and what it costs whatever happens."""
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
            case Choice():
                return self._choice(node)
            case Fold():
                return self._fold(node)
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

    def charged(self, node: Node) -> Code:
        """The function, charging its own cost."""
        code, cost = self.compile(node)
        return _charging(code, cost) if cost else code

    def _select(self, node: Select) -> tuple[Code, int]:
        if node.type.name == "type" and node.operand.type.name == "dyn" and not _has_slot(node):
            return _constant(TypeValue(_dotted(node))), 1
        operand, cost = self.compile(node.operand)
        holder = node.operand.type.params[0] if node.operand.type.name == "optional_type" else node.operand.type
        field = meant(node.field) if holder.fields is not None else node.field
        if node.is_test:
            return field_access.tested(operand, field), cost + 1
        if node.is_optional or holder is not node.operand.type:
            return field_access.optional(operand, field), cost + 1
        return field_access.selected(operand, field), cost + 1

    def _call(self, node: Call) -> tuple[Code, int]:
        parts = [self.compile(one) for one in node.args]
        codes, cost = [code for code, _ in parts], sum(one for _, one in parts) + 1
        if node.name in ("or", "orValue") and node.is_member:
            code, _ = parts[0]
            return _otherwise(code, self.charged(node.args[1]), is_value=node.name == "orValue"), parts[0][1] + 1
        function = self._environment.library.functions[node.name]
        return _calls(function, codes, is_member=node.is_member), cost

    def _logic(self, node: Logic) -> tuple[Code, int]:
        first, cost = self.compile(node.terms[0])
        return _logic([first, *map(self.charged, node.terms[1:])], not node.is_and), cost

    def _choice(self, node: Choice) -> tuple[Code, int]:
        test, cost = self.compile(node.test)
        yes, no = self.charged(node.yes), self.charged(node.no)

        def run(run: Run) -> Any:
            chosen = test(run)
            if chosen is True:
                return yes(run)
            if chosen is False:
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

    def _fold(self, node: Fold) -> tuple[Code, int]:
        range_, cost = self.compile(node.range)
        parts = [self.compile(one) for one in node.parts]
        return comprehensions.folded(node.kind, range_, node.slots, parts), cost + 1

    def _list(self, node: ListOf) -> tuple[Code, int]:
        parts = [self.compile(one) for one in node.items]
        codes, cost = [code for code, _ in parts], LIST_COST + sum(one for _, one in parts)
        if not node.optional:
            return (lambda run: [code(run) for code in codes]), cost
        return (lambda run: [one for index, code in enumerate(codes) for one in _held(code(run), index in node.optional)]), cost

    def _map(self, node: MapOf) -> tuple[Code, int]:
        keys = [self.compile(one) for one, _ in node.entries]
        values = [self.compile(one) for _, one in node.entries]
        cost = MAP_COST + sum(one for _, one in (*keys, *values))

        def run(run: Run) -> Any:
            made: dict[Any, Any] = {}
            for index, ((name, _), (value, _)) in enumerate(zip(keys, values, strict=True)):
                place = key(name(run))
                for one in _held(value(run), index in node.optional):
                    if place in made:
                        raise CelError("Failed with repeated key")
                    made[place] = one
            return made

        return run, cost

    def _struct(self, node: Struct) -> tuple[Code, int]:
        parts = [(name, *self.compile(one)) for name, one in node.fields]
        made_of = [(name, code, index in node.optional) for index, (name, code, _) in enumerate(parts)]
        cost = STRUCT_COST + sum(one for _, _, one in parts)

        def run(run: Run) -> Any:
            return {name: one for name, code, is_optional in made_of for one in _held(code(run), is_optional)}

        return run, cost


def _constant(value: Any) -> Code:
    return lambda _: value


def _variable(slot: int) -> Code:
    return lambda run: run.slots[slot]


def _charging(code: Code, cost: int) -> Code:
    def run(run: Run) -> Any:
        run.meter.charge(cost)
        return code(run)

    return run


def _held(value: Any, is_optional: bool) -> tuple[Any, ...]:
    """The value; or what the optional holds, if anything."""
    if not is_optional:
        return (value,)
    if not isinstance(value, Optional):
        raise NoOverload("optional entry")
    return () if value is NONE else (value.value,)


def _otherwise(code: Code, other: Code, *, is_value: bool) -> Code:
    """`or` and `orValue`: the alternative is looked at only if there is nothing else."""

    def run(run: Run) -> Any:
        found = code(run)
        if not isinstance(found, Optional):
            raise NoOverload("orValue" if is_value else "or")
        if found is NONE:
            return other(run)
        return found.value if is_value else found

    return run


def _logic(codes: list[Code], decisive: bool) -> Code:
    """&& and ||: what decides, decides, whatever else may go wrong."""

    def run(run: Run) -> Any:
        error: CelError | None = None
        for code in codes:
            try:
                found = code(run)
            except CelError as raised:
                error = error or raised
                continue
            if found is decisive:
                return decisive
            if found is not (not decisive):
                error = error or NoOverload("_||_" if decisive else "_&&_")
        if error is not None:
            raise error
        return not decisive

    return run


def _calls(function: Function, codes: list[Code], *, is_member: bool) -> Code:
    known: dict[tuple[type, ...], Overload] = {}

    def found(args: tuple[Any, ...], kinds: tuple[type, ...]) -> Overload:
        known[kinds] = overload = function.taking(args, is_member=is_member)
        return overload

    def run_any(run: Run) -> Any:
        args = tuple([code(run) for code in codes])
        kinds = tuple(map(type, args))
        overload = known.get(kinds) or found(args, kinds)
        if overload.cost is not None:
            run.meter.charge(overload.cost(*map(size, args)) - 1)
        return overload.run(run.meter, *args)

    if len(codes) != 2:
        return run_any
    first, second = codes

    def run_two(run: Run) -> Any:
        a, b = first(run), second(run)
        kinds = (type(a), type(b))
        overload = known.get(kinds) or found((a, b), kinds)
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
