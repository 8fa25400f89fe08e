"""CEL functions: signatures, implementations and costs.

    @library.function("string::contains(string) -> bool", cost=...)     a method of strings
    @library.function("size(list<A>) -> int", "size(map<A, B>) -> int") one implementation for two signatures

An implementation receives the meter and values that match its signature; the caller has checked their types. `cost` computes the
cost of a call from the sizes of the arguments (default: 1), and `grows` computes the maximum size of the result. The cost estimate
uses both too, with the maximum sizes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeVar

from probate.lib.cel.errors import NoOverload
from probate.lib.cel.types import SIMPLE, Type
from probate.lib.cel.values import type_name

Formula: TypeAlias = Callable[..., int]
Implementation: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Implementation)

_SIGNATURE = re.compile(r"(?:(?P<target>[\w.<>, ]+)::)?(?P<name>[\w.@?\[\]<>=!+\-*/%]+)\((?P<params>.*)\) -> (?P<result>.+)")
_OPAQUE = {
    "optional": "optional_type",
    "Quantity": "kubernetes.Quantity",
    "URL": "kubernetes.URL",
    "IP": "net.IP",
    "CIDR": "net.CIDR",
    "Semver": "kubernetes.Semver",
    "Format": "kubernetes.NamedFormat",
    "Authorizer": "kubernetes.authorization.Authorizer",
    "PathCheck": "kubernetes.authorization.PathCheck",
    "GroupCheck": "kubernetes.authorization.GroupCheck",
    "ResourceCheck": "kubernetes.authorization.ResourceCheck",
    "Decision": "kubernetes.authorization.Decision",
}


class Overload(NamedTuple):
    """One signature of a function with its implementation, cost and growth."""

    params: tuple[Type, ...]
    result: Type
    is_member: bool
    run: Implementation
    cost: Formula | None
    grows: Formula | None


class Function:
    """All overloads of one function name."""

    __slots__ = ("name", "overloads")

    def __init__(self, name: str) -> None:
        self.name = name
        self.overloads: list[Overload] = []

    def taking(self, args: tuple[Any, ...], *, is_member: bool) -> Overload:
        """Returns the overload for these values. Raises `NoOverload` if there is none."""
        for one in self.overloads:
            if one.is_member == is_member and len(one.params) == len(args) and all(map(_accepts, one.params, args)):
                return one
        raise NoOverload(self.name)


def _accepts(param: Type, value: Any) -> bool:
    return param.is_param or param.name == "dyn" or param.name == type_name(value)


class Library:
    """A set of functions by name."""

    def __init__(self, *others: Library) -> None:
        self.functions: dict[str, Function] = {}
        for function in (one for other in others for one in other):
            self._get_or_create(function.name).overloads.extend(function.overloads)

    def __iter__(self) -> Iterator[Function]:
        return iter(self.functions.values())

    def function(self, *signatures: str, cost: Formula | None = None, grows: Formula | None = None) -> Callable[[F], F]:
        """Registers the decorated function as the implementation of these signatures."""

        def add(run: F) -> F:
            for text in signatures:
                name, params, result, is_member = _signature(text)
                self._get_or_create(name).overloads.append(Overload(params, result, is_member, run, cost, grows))
            return run

        return add

    def _get_or_create(self, name: str) -> Function:
        return self.functions.setdefault(name, Function(name))


def _signature(text: str) -> tuple[str, tuple[Type, ...], Type, bool]:
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    params = [*([match["target"]] if match["target"] else []), *_split(match["params"])]
    return match["name"], tuple(map(read_type, params)), read_type(match["result"]), match["target"] is not None


def read_type(text: str) -> Type:
    """Parses a type in the notation of signatures: `list<int>`."""
    name, _, inner = text.strip().partition("<")
    name = _OPAQUE.get(name, name)
    if inner:
        return Type(name, tuple(map(read_type, _split(inner.removesuffix(">")))))
    return SIMPLE.get(name) or Type(name)


def _split(text: str) -> Iterable[str]:
    """Splits at the commas outside of angle brackets."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if char == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text.strip():
        yield text[start:]


def tenth(*sizes: int) -> int:
    """Cost of reading this many characters."""
    return (sum(sizes) + 9) // 10


def first(size: int, *_: int) -> int:
    """Size of the first argument."""
    return size


def total(*sizes: int) -> int:
    """Total size of all arguments."""
    return sum(sizes)


def traversal(size: int, *_: int) -> int:
    """Cost of reading each character of the first argument."""
    return tenth(size)


def product(*sizes: int) -> int:
    """Cost of comparing each item of one argument with each item of the others."""
    found = 1
    for one in sizes:
        found *= max(one, 1)
    return found
