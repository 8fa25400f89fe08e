"""Label selectors: one compiled type for a query's text and for an object's field.

    parse("app=web,tier in (a, b),!old").matches({"app": "web", "tier": "b"})         True
    str(parse("tier in (b,a), app==web"))                                             "app=web,tier in (a,b)"
    compile_object({"matchLabels": {"app": "web"}}, FieldPath("spec.selector"))       the selector and no field errors

A selector is compiled once and matched against every object: `matches` does no parsing. Equal selectors have equal texts, and the
text that `str` returns parses to the same selector. An invalid text raises a `BadRequest` with the wrong token and what was
expected; an invalid field returns field errors, since those are the causes of a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from probate.api import field_errors, names
from probate.api.field_errors import FieldError, FieldPath
from probate.api.selectors import label_selector_text
from probate.api.selectors.requirements import Requirement, compile_test

_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class LabelSelector:
    """Requirements that labels must all meet. Without requirements it matches everything, except for `NOTHING`."""

    __slots__ = ("_equal", "_tests", "is_nothing", "requirements")

    def __init__(self, requirements: Iterable[Requirement], *, is_nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements))
        self.is_nothing = is_nothing
        # Fast path: nearly all requirements are equalities, which one set comparison checks.
        self._equal = frozenset(
            (requirement.key, requirement.values[0]) for requirement in self.requirements if requirement.operator == "="
        )
        self._tests = tuple(compile_test(requirement) for requirement in self.requirements if requirement.operator != "=")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Returns whether the labels meet all requirements."""
        if self.is_nothing or not labels.items() >= self._equal:
            return False
        return all(is_met(labels) for is_met in self._tests) if self._tests else True

    @property
    def is_everything(self) -> bool:
        """Whether the selector matches any labels."""
        return not self.requirements and not self.is_nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"LabelSelector({'<nothing>' if self.is_nothing else str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSelector):
            return NotImplemented
        return self.requirements == other.requirements and self.is_nothing == other.is_nothing

    def __hash__(self) -> int:
        return hash((self.requirements, self.is_nothing))


EVERYTHING = LabelSelector(())
NOTHING = LabelSelector((), is_nothing=True)


def parse(text: str) -> LabelSelector:
    """Parses the selector of a query. Raises `BadRequest`."""
    return LabelSelector(label_selector_text.parse_requirements(text))


def compile_object(selector: Any, path: FieldPath) -> tuple[LabelSelector, list[FieldError]]:
    """Compiles an object's LabelSelector field. Returns `NOTHING` and the field errors if it is invalid.

    A missing field (None) matches nothing; an empty one matches everything. The caller has validated the types of its fields.
    """
    if selector is None:
        return NOTHING, []
    expressions = [
        (expression, path / "matchExpressions" / number) for number, expression in enumerate(selector.get("matchExpressions") or ())
    ]
    labels = selector.get("matchLabels") or {}
    validation = chain(
        _validate_match_labels(labels, path / "matchLabels"),
        *(_validate_expression(expression, expression_path) for expression, expression_path in expressions),
    )
    if errors := field_errors.limit_field_errors(validation):
        return NOTHING, errors
    equalities = [Requirement(key, "=", (value,)) for key, value in labels.items()]
    return LabelSelector([*equalities, *(_from_expression(expression) for expression, _ in expressions)]), []


def _from_expression(expression: Mapping[str, Any]) -> Requirement:
    values = tuple(sorted(set(expression.get("values") or ())))
    return Requirement(expression["key"], _OBJECT_OPERATORS[expression["operator"]], values)


def _validate_match_labels(labels: Mapping[str, str], path: FieldPath) -> Iterator[FieldError]:
    for key, value in labels.items():
        for detail in names.validate_qualified_name(key):
            yield field_errors.invalid(path, key, detail)
        for detail in names.validate_label_value(value):
            yield field_errors.invalid(path, value, detail)


def _validate_expression(expression: Mapping[str, Any], path: FieldPath) -> Iterator[FieldError]:
    key, operator, values = expression.get("key") or "", expression.get("operator") or "", expression.get("values") or ()
    if operator not in _OBJECT_OPERATORS:
        yield field_errors.invalid(path / "operator", operator, "not a valid selector operator")
    elif operator in ("In", "NotIn") and not values:
        yield field_errors.required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield field_errors.forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    for detail in names.validate_qualified_name(key):
        yield field_errors.invalid(path / "key", key, detail)
    for number, value in enumerate(values):
        for detail in names.validate_label_value(value):
            yield field_errors.invalid(path / "values" / number, value, detail)
