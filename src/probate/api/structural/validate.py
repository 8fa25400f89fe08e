"""Validates a value against its schema and returns all problems with the paths and messages of Kubernetes.

A schema is compiled once into a tree of checkers (cached by the identity of the schema), which is then walked with the value. On
update, unchanged parts are not validated (ratcheting): a CustomResourceDefinition can become stricter after an object was written,
and clients need not repair fields that they do not change. Parts correlate by field name or map key; list items correlate only if
the list has the type map.

As in Kubernetes, failures of a whole anyOf, oneOf, allOf or not have no path of their own: their field is "<nil>".
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Self

from probate.api import field_errors
from probate.api.field_errors import MAX_FIELD_ERRORS, FieldError, FieldPath, field
from probate.api.schema.node import UNSET, Schema
from probate.api.structural import embedded_resources, list_values, value_checks
from probate.api.structural.parse import parse
from probate.core import work_limits

NO_PATH = "<nil>"


def validate(value: Any, schema: Schema, old: Any = None) -> list[FieldError]:
    """Returns all problems of an object. With `old`, the object that it replaces, returns only new problems."""
    checker = _compiled(_Identity(schema))
    found = checker.problems(value, "", UNSET if old is None else old)
    if checker.has_embedded:
        found += embedded_resources.problems_in(value, schema)
    if checker.has_keyed and (old is None or not list_values.duplicates(old, schema)):
        found += list_values.duplicates(value, schema)
    return found


def validate_values(value: Any, schema: Schema, old: Any = UNSET) -> list[FieldError]:
    """Returns the problems of the value by types and value validations only."""
    return _compiled(_Identity(schema)).problems(value, "", old)


def validate_at(path: FieldPath, value: Any, schema: Schema) -> list[FieldError]:
    """Returns the problems of a value that is located at `path` in a larger object."""
    return [found._replace(field=below(path, found.field)) for found in validate(value, schema)]


def below(path: FieldPath, field: str) -> str:
    """Converts the field of a part to a field of the whole."""
    if not field or field == NO_PATH:
        return str(path)
    return f"{path}{field}" if field.startswith("[") else f"{path}.{field}"


class _Identity:
    """A cache key that compares a schema by identity and keeps it alive, so that no other schema can get its id."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.schema is self.schema


class _Full(Exception):
    """The maximum number of reported problems is reached."""


class _ProblemList(list[FieldError]):
    """The problems of one walk. Raises `_Full` when the maximum number is reached."""

    def append(self, problem: FieldError) -> None:
        super().append(problem)
        if len(self) >= MAX_FIELD_ERRORS:
            raise _Full

    def __iadd__(self, more: Iterable[FieldError]) -> Self:  # type: ignore[override,misc]
        for problem in more:
            self.append(problem)
        return self


class _Checker:
    """A compiled schema. `has_embedded`: contains embedded resources; `has_keyed`: is or contains lists of type set or map."""

    __slots__ = (
        "combinators",
        "enum",
        "format",
        "has_embedded",
        "has_keyed",
        "is_closed",
        "items",
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
        self.text = value_checks.text_check(schema.value_validations)
        self.format = value_checks.format_check(schema.format)
        self.numbers = value_checks.number_checks(schema.value_validations)
        self.enum = value_checks.enum_check(schema.value_validations.get("enum"))
        self.sizes = value_checks.size_checks(schema.value_validations)
        self.is_closed = schema.value_validations.get("additionalProperties") is False
        self.combinators = (
            _Combinators(schema.value_validations) if schema.value_validations.keys() & {"allOf", "anyOf", "oneOf", "not"} else None
        )
        self.properties = {name: _compiled(_Identity(one)) for name, one in schema.properties.items()}
        self.values = _compiled(_Identity(schema.values)) if schema.values is not None else None
        self.items = _compiled(_Identity(schema.items)) if schema.items is not None else None
        below = [*self.properties.values(), *(one for one in (self.values, self.items) if one is not None)]
        self.has_embedded: bool = any(one.schema.is_embedded_resource or one.has_embedded for one in below)
        self.has_keyed: bool = schema.list_type in {"set", "map"} or any(one.has_keyed for one in below)

    def problems(self, value: Any, path: str, old: Any) -> list[FieldError]:
        """Returns the problems of this value and its descendants, up to the maximum number."""
        work_limits.spend(4)
        found = _ProblemList()
        with suppress(_Full):
            self.walk(value, path, old, found=found)
        return list(found)

    def walk(self, value: Any, path: str, old: Any, *, found: _ProblemList) -> None:
        """Appends the problems of this value and its descendants to `found`."""
        work_limits.spend(1)
        if old is not UNSET and _is_same(old, value):
            return
        if self.type is not None and (problem := self.type(value, path)) is not None:
            found.append(problem)
        if value is not None:
            if self.combinators is not None:
                self.combinators.walk(value, path, old, found=found)
            self._walk_type(value, path, old, found=found)
        if self.enum is not None and (problem := self.enum(value, path)) is not None:
            found.append(problem)

    def _walk_type(self, value: Any, path: str, old: Any, *, found: _ProblemList) -> None:
        kind = type(value)
        if kind is str:
            _run((self.text, self.format), value, path, found=found)
        elif kind is dict:
            self._walk_object(value, path, old, found=found)
        elif kind is list:
            self._walk_list(value, path, old, found=found)
        elif kind is not bool and self.numbers:
            _run(self.numbers, value, path, found=found)

    def _walk_list(self, value: list[Any], path: str, old: Any, *, found: _ProblemList) -> None:
        if self.items is not None:
            before = list_values.by_keys(old, self.schema)
            for index, item in enumerate(value):
                old_item = before.get(list_values.key_of(item, self.schema), UNSET) if before else UNSET
                self.items.walk(item, f"{path}[{index}]", old_item, found=found)
        _run((self.sizes.least_items, self.sizes.most_items), value, path, found=found)

    def _walk_object(self, value: dict[str, Any], path: str, old: Any, *, found: _ProblemList) -> None:
        problem = self.sizes.properties(value, path) if self.sizes.properties is not None else None
        if problem is not None:
            found.append(problem)  # like Kubernetes, report nothing of its content
            return
        self._walk_fields(value, path, old if type(old) is dict else {}, found=found)
        found += (field_errors.required(FieldPath(field(path, name))) for name in self.schema.required if name not in value)

    def _walk_fields(self, value: dict[str, Any], path: str, before: dict[str, Any], *, found: _ProblemList) -> None:
        for key, one in value.items():
            checker = self.properties.get(key) or self.values
            if self.is_closed and key not in self.properties:
                found.append(field_errors.invalid(FieldPath(path), key, f"{field(path, key)} in body is a forbidden property"))
            elif checker is not None:
                checker.walk(one, field(path, key), before.get(key, UNSET), found=found)


class _Combinators:
    """The compiled allOf, anyOf, oneOf and not of one schema."""

    __slots__ = ("all_of", "any_of", "none_of", "one_of")

    def __init__(self, limits: dict[str, Any]) -> None:
        self.all_of = _branches(limits.get("allOf"))
        self.any_of = _branches(limits.get("anyOf"))
        self.one_of = _branches(limits.get("oneOf"))
        self.none_of = _branches([limits["not"]] if "not" in limits else None)

    def walk(self, value: Any, path: str, old: Any, *, found: _ProblemList) -> None:
        """Appends the failures of the combinators as a whole, and of the alternative that matches the value best."""
        if self.any_of:
            found += self._walk_any(value, path, old)
        if self.one_of:
            found += self._walk_one(value, path, old)
        if self.all_of:
            found += self._walk_all(value, path, old)
        if not all(_results(self.none_of, value, path, old=UNSET)):
            found.append(_combinator_problem(f'"{path}" must not validate the schema (not)'))

    def _walk_any(self, value: Any, path: str, old: Any) -> list[FieldError]:
        results = _results(self.any_of, value, path, old=old)
        if not all(results):
            return []
        return [_combinator_problem(f'"{path}" must validate at least one schema (anyOf)'), *_nearest(self.any_of, results, value)]

    def _walk_one(self, value: Any, path: str, old: Any) -> list[FieldError]:
        results = _results(self.one_of, value, path, old=old)
        match_count = results.count([])
        if match_count == 1:
            return []
        detail = f"Found {match_count} valid alternatives" if match_count else "Found none valid"
        whole = _combinator_problem(f'"{path}" must validate one and only one schema (oneOf). {detail}')
        return [whole] if match_count else [whole, *_nearest(self.one_of, results, value)]

    def _walk_all(self, value: Any, path: str, old: Any) -> list[FieldError]:
        results = _results(self.all_of, value, path, old=old)
        if not any(results):
            return []
        none = ". None validated" if all(results) else ""
        return [
            *(one for result in results for one in result),
            _combinator_problem(f'"{path}" must validate all the schemas (allOf){none}'),
        ]


def _run(checks: Iterable[value_checks.Check | None], value: Any, path: str, *, found: _ProblemList) -> None:
    found += [problem for check in checks if check is not None and (problem := check(value, path)) is not None]


def _results(branches: tuple[_Checker, ...], value: Any, path: str, *, old: Any) -> list[list[FieldError]]:
    return [branch.problems(value, path, old) for branch in branches]


def _branches(written: Any) -> tuple[_Checker, ...]:
    return tuple(_Checker(parse(one)) for one in written) if isinstance(written, list) else ()


def _nearest(branches: tuple[_Checker, ...], results: list[list[FieldError]], value: Any) -> list[FieldError]:
    """Returns the problems of the alternative that covers most parts of the value; the first one if several do."""
    best = max(range(len(branches)), key=lambda index: (_reach(branches[index], value), -index))
    return results[best]


def _reach(checker: _Checker, value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_reach(checker.properties[key], one) for key, one in value.items() if key in checker.properties)
    if isinstance(value, list) and checker.items is not None:
        return 1 + sum(_reach(checker.items, one) for one in value)
    return 1


def _combinator_problem(detail: str) -> FieldError:
    return field_errors.invalid(FieldPath(NO_PATH), "", detail)


def _is_same(old: Any, value: Any) -> bool:
    """Returns whether two values are equal JSON: Python also treats 1 and True as equal, at any depth."""
    return bool(old == value) and value_checks.canonical(old) == value_checks.canonical(value)


@lru_cache(maxsize=8192)
def _compiled(key: _Identity) -> _Checker:
    return _Checker(key.schema)
