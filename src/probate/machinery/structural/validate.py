"""Is a value as its schema wants it: every problem, with the paths and sentences of Kubernetes.

A schema is compiled once into a tree of checkers (kept by the schema's identity) and walked with the value. On an update, a
part that did not change is not held against the client: a definition may have become stricter since the object was written,
and nobody should have to repair what they did not touch. Parts are compared by their field or map key, items of a list only
where the list is a map by keys.

Problems of anyOf, oneOf, allOf and not as a whole have no path of their own in Kubernetes: their field is "<nil>".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from probate.machinery import problems
from probate.machinery.problems import Path, Problem
from probate.machinery.schema import UNSET, Schema
from probate.machinery.structural import embedded, listtypes, values
from probate.machinery.structural.parse import parse

NO_PATH = "<nil>"


def validate(value: Any, schema: Schema, old: Any = None) -> list[Problem]:
    """Everything that is wrong with an object. With `old`, the object it replaces, only what is newly wrong."""
    found = validate_values(value, schema, UNSET if old is None else old)
    lists = listtypes.duplicates(value, schema)
    if lists and old is not None and listtypes.duplicates(old, schema):
        lists = []
    return [*found, *embedded.problems_in(value, schema), *lists]


def validate_values(value: Any, schema: Schema, old: Any = UNSET) -> list[Problem]:
    """What is wrong with the values by types and limits alone."""
    return list(_compiled(_Identity(schema)).walk(value, "", old))


def validate_at(path: Path, value: Any, schema: Schema) -> list[Problem]:
    """What is wrong with a value that stands at `path` in something larger."""
    return [found._replace(field=_below(path, found.field)) for found in validate(value, schema)]


def _below(path: Path, field: str) -> str:
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


class _Checker:
    """One schema, compiled."""

    __slots__ = ("enum", "format", "items", "junctors", "numbers", "properties", "schema", "text", "type", "values")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.type = values.type_check(schema)
        self.text = values.text_check(schema.limits)
        self.format = values.format_check(schema.format)
        self.numbers = values.number_checks(schema.limits)
        self.enum = values.enum_check(schema.limits.get("enum"))
        self.junctors = _Junctors(schema.limits) if schema.limits.keys() & {"allOf", "anyOf", "oneOf", "not"} else None
        self.properties = {name: _compiled(_Identity(one)) for name, one in schema.properties.items()}
        self.values = _compiled(_Identity(schema.values)) if schema.values is not None else None
        self.items = _compiled(_Identity(schema.items)) if schema.items is not None else None

    def walk(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        """The problems of this value and of all below it."""
        if old is not UNSET and _is_same(old, value):
            return
        if self.type is not None and (found := self.type(value, path)) is not None:
            yield found
        if value is not None:
            if self.junctors is not None:
                yield from self.junctors.walk(value, path, old)
            yield from self._walk_kind(value, path, old)
        if self.enum is not None and (found := self.enum(value, path)) is not None:
            yield found

    def _walk_kind(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        match value:
            case str():
                checks = (self.text, self.format)
                yield from (found for one in checks if one is not None and (found := one(value, path)) is not None)
            case bool():
                return
            case int() | float():
                yield from (found for one in self.numbers if (found := one(value, path)) is not None)
            case list():
                yield from self._walk_list(value, path, old)
            case dict():
                yield from self._walk_object(value, path, old)

    def _walk_list(self, value: list[Any], path: str, old: Any) -> Iterator[Problem]:
        if self.items is not None:
            before = listtypes.by_keys(old, self.schema)
            for index, item in enumerate(value):
                yield from self.items.walk(item, f"{path}[{index}]", before.get(listtypes.key_of(item, self.schema), UNSET))
        least, most = self.schema.limits.get("minItems"), self.schema.limits.get("maxItems")
        if least is not None and len(value) < least:
            yield values.wrong(path, len(value), f"should have at least {least} items")
        if most is not None and len(value) > most:
            yield problems.too_many(Path(path), len(value), most)

    def _walk_object(self, value: dict[str, Any], path: str, old: Any) -> Iterator[Problem]:
        least, most = self.schema.limits.get("minProperties"), self.schema.limits.get("maxProperties")
        if least is not None and len(value) < least:
            yield values.wrong(path, len(value), f"should have at least {least} properties")
            return
        if most is not None and len(value) > most:
            yield problems.too_many(Path(path), len(value), most)
            return
        before = old if isinstance(old, dict) else {}
        yield from self._walk_fields(value, path, before)
        for name in self.schema.required:
            if name not in value:
                yield problems.required(Path(_field(path, name)))

    def _walk_fields(self, value: dict[str, Any], path: str, before: dict[str, Any]) -> Iterator[Problem]:
        is_closed = self.schema.limits.get("additionalProperties") is False
        for key, one in value.items():
            checker = self.properties.get(key)
            if checker is not None:
                yield from checker.walk(one, _field(path, key), before.get(key, UNSET))
            elif is_closed:
                yield problems.invalid(Path(path), key, f"{_field(path, key)} in body is a forbidden property")
            elif self.values is not None:
                yield from self.values.walk(one, _field(path, key), before.get(key, UNSET))


class _Junctors:
    """allOf, anyOf, oneOf and not of one schema, compiled."""

    __slots__ = ("all_of", "any_of", "none_of", "one_of")

    def __init__(self, limits: dict[str, Any]) -> None:
        self.all_of = _branches(limits.get("allOf"))
        self.any_of = _branches(limits.get("anyOf"))
        self.one_of = _branches(limits.get("oneOf"))
        self.none_of = _branches([limits["not"]] if "not" in limits else None)

    def walk(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        if self.any_of:
            yield from self._walk_any(value, path, old)
        if self.one_of:
            yield from self._walk_one(value, path, old)
        if self.all_of:
            yield from self._walk_all(value, path, old)
        if any(not any(True for _ in one.walk(value, path, UNSET)) for one in self.none_of):
            yield _whole(f'"{path}" must not validate the schema (not)')

    def _walk_any(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        results = [list(one.walk(value, path, old)) for one in self.any_of]
        if all(results):
            yield _whole(f'"{path}" must validate at least one schema (anyOf)')
            yield from _nearest(self.any_of, results, value)

    def _walk_one(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        results = [list(one.walk(value, path, old)) for one in self.one_of]
        fitting = sum(1 for one in results if not one)
        if fitting == 0:
            yield _whole(f'"{path}" must validate one and only one schema (oneOf). Found none valid')
            yield from _nearest(self.one_of, results, value)
        elif fitting > 1:
            yield _whole(f'"{path}" must validate one and only one schema (oneOf). Found {fitting} valid alternatives')

    def _walk_all(self, value: Any, path: str, old: Any) -> Iterator[Problem]:
        results = [list(one.walk(value, path, old)) for one in self.all_of]
        for one in results:
            yield from one
        if any(results):
            none = ". None validated" if all(results) else ""
            yield _whole(f'"{path}" must validate all the schemas (allOf){none}')


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
    return problems.invalid(Path(NO_PATH), "", detail)


def _is_same(old: Any, value: Any) -> bool:
    """Equal as JSON: to Python 1 is True as well, at any depth."""
    return bool(old == value) and values.canonical(old) == values.canonical(value)


def _field(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@lru_cache(maxsize=8192)
def _compiled(key: _Identity) -> _Checker:
    return _Checker(key.schema)
