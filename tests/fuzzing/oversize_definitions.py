"""Definitions of custom kinds with a part that grows: patterns, rules, properties, columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

PATTERNS = {
    "letters": "a",
    "alternatives": "a|",
    "groups": "(a)",
    "repeats": "a{9}",
    "classes": "[a-z]",
    "optional": "a?",
    "nested": "(",
    "stars": "a*",
    "unicode": "\\pL",
    "escapes": "\\d",
}
RULES = {
    "sums": "1+",
    "ands": "true&&",
    "lists": "[",
    "calls": "size(",
    "texts": "'a'+",
    "names": "self.a.",
    "ternaries": "true?1:",
    "nots": "!",
    "letters": "a",
    "digits": "1",
}


def definition(schema: Any, **version: Any) -> Any:
    """A definition whose objects have this under `spec`."""
    root = {"type": "object", "properties": {"spec": schema}}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}, **version}
    spec = {"group": "fuzz.example.com", "scope": "Namespaced", "names": {"plural": "sizes", "kind": "Size"}, "versions": [one]}
    return {"metadata": {"name": "sizes.fuzz.example.com"}, "spec": spec}


def _object(**schema: Any) -> Any:
    return definition({"type": "object", **schema})


def _text(**schema: Any) -> Any:
    return definition({"type": "string", **schema})


def _columns(*columns: dict[str, str]) -> Any:
    return definition({"type": "object"}, additionalPrinterColumns=[{"name": "c", "type": "string", **one} for one in columns])


def _pattern(unit: str, size: int) -> Any:
    return _text(pattern=unit * (size // len(unit)))


def _rule(unit: str, size: int) -> Any:
    return _text(**{"x-kubernetes-validations": [{"rule": unit * (size // len(unit))}]})


DEFINITIONS: dict[str, Callable[[int], Any]] = {
    **{f"CRD pattern: {name}": partial(_pattern, unit) for name, unit in PATTERNS.items()},
    **{f"CRD rule: {name}": partial(_rule, unit) for name, unit in RULES.items()},
    "CRD: properties": lambda size: _object(properties={f"p{n}": {"type": "string"} for n in range(size // 28)}),
    "CRD: alternatives": lambda size: _object(anyOf=[{"required": ["a"]}] * (size // 20)),
    "CRD: enumeration": lambda size: _text(enum=[f"a{n}" for n in range(size // 9)]),
    "CRD: default": lambda size: _text(default="x" * size),
    "CRD: required": lambda size: _object(required=[f"a{n}" for n in range(size // 9)]),
    "CRD: rules": lambda size: _text(**{"x-kubernetes-validations": [{"rule": "self != 'a'"}] * (size // 24)}),
    "CRD: columns": lambda size: _columns(*({"name": f"c{n}", "jsonPath": ".a"} for n in range(size // 50))),
    "CRD: one column": lambda size: _columns({"jsonPath": ".a" * (size // 2)}),
    "CRD: a column of filters": lambda size: _columns({"jsonPath": ".a[?(@.b==1)]" * (size // 14)}),
    "CRD: a column of a union": lambda size: _columns({"jsonPath": ".a[" + "1," * (size // 2) + "1]"}),
    "CRD: selectable fields": lambda size: definition(
        {"type": "object"}, selectableFields=[{"jsonPath": f".spec.a{n}"} for n in range(size // 28)]
    ),
}
