"""Is a value as its schema wants it: every problem, with the paths and sentences of Kubernetes.

A schema is compiled once into a tree of checkers (kept by the schema's identity) and walked with the value. On an update, a
part that did not change is not held against the client: a definition may have become stricter since the object was written,
and nobody should have to repair what they did not touch. Parts are compared by their field or map key, items of a list only
where the list is a map by keys.

Problems of anyOf, oneOf, allOf and not as a whole have no path of their own in Kubernetes: their field is "<nil>".
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Self

from probate.api import field_errors
from probate.api.field_errors import MAX_PROBLEMS, Path, Problem, field
from probate.api.schema.node import UNSET, Schema
from probate.api.structural import embedded_resources, list_values, value_checks
from probate.api.structural.parse import parse
from probate.core import work_limits

NO_PATH = "<nil>"


def validate(value: Any, schema: Schema, old: Any = None) -> list[Problem]:
    """Everything that is wrong with an object. With `old`, the object it replaces, only what is newly wrong."""
    checker = _compiled(_Identity(schema))
    found = checker.told(value, "", UNSET if old is None else old)
    if checker.has_embedded:
        found += embedded_resources.problems_in(value, schema)
    if checker.has_keyed and (old is None or not list_values.duplicates(old, schema)):
        found += list_values.duplicates(value, schema)
    return found


def validate_values(value: Any, schema: Schema, old: Any = UNSET) -> list[Problem]:
    """What is wrong with the values by types and limits alone."""
    return _compiled(_Identity(schema)).told(value, "", old)


def validate_at(path: Path, value: Any, schema: Schema) -> list[Problem]:
    """What is wrong with a value that stands at `path` in something larger."""
    return [found._replace(field=below(path, found.field)) for found in validate(value, schema)]


def below(path: Path, field: str) -> str:
    """A field of a part, as a field of the whole."""
    if not field or field == NO_PATH:
        return str(path)
    return f"{path}{field}" if field.startswith("[") else f"{path}.{field}"


class _Identity:
    """A schema as a key: the very same one, and kept alive, so that nothing else gets its identity."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.schema is self.schema


class _Full(Exception):
    """There are as many problems as are told."""


class _Found(list[Problem]):
    """The problems of one walk. One too many ends it."""

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= MAX_PROBLEMS:
            raise _Full

    def __iadd__(self, more: Iterable[Problem]) -> Self:  # type: ignore[override,misc]
        for problem in more:
            self.append(problem)
        return self


class _Checker:
    """One schema, compiled. `has_embedded`: there are embedded resources below; `has_keyed`: sets or maps, at it or below."""

    __slots__ = (
        "enum",
        "format",
        "has_embedded",
        "has_keyed",
        "is_closed",
        "items",
        "junctors",
        "numbers",
        "properties",
        "schema",
        "sizes",
        "text",
        "type",
        "values",
    )

    def __init__(self, schema: Schema) -> None:
        work_limits.spend(10)
        self.schema = schema
        self.type = value_checks.type_check(schema)
        self.text = value_checks.text_check(schema.limits)
        self.format = value_checks.format_check(schema.format)
        self.numbers = value_checks.number_checks(schema.limits)
        self.enum = value_checks.enum_check(schema.limits.get("enum"))
        self.sizes = value_checks.size_checks(schema.limits)
        self.is_closed = schema.limits.get("additionalProperties") is False
        self.junctors = _Junctors(schema.limits) if schema.limits.keys() & {"allOf", "anyOf", "oneOf", "not"} else None
        self.properties = {name: _compiled(_Identity(one)) for name, one in schema.properties.items()}
        self.values = _compiled(_Identity(schema.values)) if schema.values is not None else None
        self.items = _compiled(_Identity(schema.items)) if schema.items is not None else None
        below = [*self.properties.values(), *(one for one in (self.values, self.items) if one is not None)]
        self.has_embedded: bool = any(one.schema.is_embedded or one.has_embedded for one in below)
        self.has_keyed: bool = schema.list_type in {"set", "map"} or any(one.has_keyed for one in below)

    def told(self, value: Any, path: str, old: Any) -> list[Problem]:
        """The problems of this value and of all below it, as far as they are told."""
        work_limits.spend(4)
        found = _Found()
        with suppress(_Full):
            self.walk(value, path, old, found)
        return list(found)

    def walk(self, value: Any, path: str, old: Any, found: _Found) -> None:
        """Add the problems of this value and of all below it."""
        work_limits.spend(1)
        if old is not UNSET and _is_same(old, value):
            return
        if self.type is not None and (problem := self.type(value, path)) is not None:
            found.append(problem)
        if value is not None:
            if self.junctors is not None:
                self.junctors.walk(value, path, old, found)
            self._walk_kind(value, path, old, found)
        if self.enum is not None and (problem := self.enum(value, path)) is not None:
            found.append(problem)

    def _walk_kind(self, value: Any, path: str, old: Any, found: _Found) -> None:
        kind = type(value)
        if kind is str:
            _run((self.text, self.format), value, path, found)
        elif kind is dict:
            self._walk_object(value, path, old, found)
        elif kind is list:
            self._walk_list(value, path, old, found)
        elif kind is not bool and self.numbers:
            _run(self.numbers, value, path, found)

    def _walk_list(self, value: list[Any], path: str, old: Any, found: _Found) -> None:
        if self.items is not None:
            before = list_values.by_keys(old, self.schema)
            for index, item in enumerate(value):
                old_item = before.get(list_values.key_of(item, self.schema), UNSET) if before else UNSET
                self.items.walk(item, f"{path}[{index}]", old_item, found)
        _run((self.sizes.least_items, self.sizes.most_items), value, path, found)

    def _walk_object(self, value: dict[str, Any], path: str, old: Any, found: _Found) -> None:
        problem = self.sizes.properties(value, path) if self.sizes.properties is not None else None
        if problem is not None:
            found.append(problem)  # and nothing of what is in it, as Kubernetes has it
            return
        self._walk_fields(value, path, old if type(old) is dict else {}, found)
        found += (field_errors.required(Path(field(path, name))) for name in self.schema.required if name not in value)

    def _walk_fields(self, value: dict[str, Any], path: str, before: dict[str, Any], found: _Found) -> None:
        for key, one in value.items():
            checker = self.properties.get(key) or self.values
            if self.is_closed and key not in self.properties:
                found.append(field_errors.invalid(Path(path), key, f"{field(path, key)} in body is a forbidden property"))
            elif checker is not None:
                checker.walk(one, field(path, key), before.get(key, UNSET), found)


class _Junctors:
    """allOf, anyOf, oneOf and not of one schema, compiled."""

    __slots__ = ("all_of", "any_of", "none_of", "one_of")

    def __init__(self, limits: dict[str, Any]) -> None:
        self.all_of = _branches(limits.get("allOf"))
        self.any_of = _branches(limits.get("anyOf"))
        self.one_of = _branches(limits.get("oneOf"))
        self.none_of = _branches([limits["not"]] if "not" in limits else None)

    def walk(self, value: Any, path: str, old: Any, found: _Found) -> None:
        """Add what is wrong by the alternatives as a whole, and by the one that comes nearest."""
        if self.any_of:
            found += self._walk_any(value, path, old)
        if self.one_of:
            found += self._walk_one(value, path, old)
        if self.all_of:
            found += self._walk_all(value, path, old)
        if not all(_results(self.none_of, value, path, UNSET)):
            found.append(_whole(f'"{path}" must not validate the schema (not)'))

    def _walk_any(self, value: Any, path: str, old: Any) -> list[Problem]:
        results = _results(self.any_of, value, path, old)
        if not all(results):
            return []
        return [_whole(f'"{path}" must validate at least one schema (anyOf)'), *_nearest(self.any_of, results, value)]

    def _walk_one(self, value: Any, path: str, old: Any) -> list[Problem]:
        results = _results(self.one_of, value, path, old)
        fitting = results.count([])
        if fitting == 1:
            return []
        detail = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
        whole = _whole(f'"{path}" must validate one and only one schema (oneOf). {detail}')
        return [whole] if fitting else [whole, *_nearest(self.one_of, results, value)]

    def _walk_all(self, value: Any, path: str, old: Any) -> list[Problem]:
        results = _results(self.all_of, value, path, old)
        if not any(results):
            return []
        none = ". None validated" if all(results) else ""
        return [*(one for result in results for one in result), _whole(f'"{path}" must validate all the schemas (allOf){none}')]


def _run(checks: Iterable[value_checks.Check | None], value: Any, path: str, found: _Found) -> None:
    found += [problem for check in checks if check is not None and (problem := check(value, path)) is not None]


def _results(branches: tuple[_Checker, ...], value: Any, path: str, old: Any) -> list[list[Problem]]:
    return [branch.told(value, path, old) for branch in branches]


def _branches(written: Any) -> tuple[_Checker, ...]:
    return tuple(_Checker(parse(one)) for one in written) if isinstance(written, list) else ()


def _nearest(branches: tuple[_Checker, ...], results: list[list[Problem]], value: Any) -> list[Problem]:
    """What is wrong by the alternative that says most about the value: the first that speaks of most of its parts."""
    best = max(range(len(branches)), key=lambda index: (_reach(branches[index], value), -index))
    return results[best]


def _reach(checker: _Checker, value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_reach(checker.properties[key], one) for key, one in value.items() if key in checker.properties)
    if isinstance(value, list) and checker.items is not None:
        return 1 + sum(_reach(checker.items, one) for one in value)
    return 1


def _whole(detail: str) -> Problem:
    return field_errors.invalid(Path(NO_PATH), "", detail)


def _is_same(old: Any, value: Any) -> bool:
    """Equal as JSON: to Python 1 is True as well, at any depth."""
    return bool(old == value) and value_checks.canonical(old) == value_checks.canonical(value)


@lru_cache(maxsize=8192)
def _compiled(key: _Identity) -> _Checker:
    return _Checker(key.schema)
