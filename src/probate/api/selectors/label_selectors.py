"""Label selectors: from a query's text or an object's field to one compiled type.

    parse("app=web,tier in (a, b),!old").matches({"app": "web", "tier": "b"})         True
    str(parse("tier in (b,a), app==web"))                                             "app=web,tier in (a,b)"
    compile_object({"matchLabels": {"app": "web"}}, Path("spec.selector"))            the selector and no problems

A selector is made once and asked for every object: `matches` does no parsing. Equal selectors have equal texts, and a text that
`str` gives is read back as the same selector. Text that makes no sense is a `BadRequest` that says what stands where and what
could stand there; in an object it is a list of problems, since those are an answer's causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from probate.api import field_errors, names
from probate.api.field_errors import Path, Problem
from probate.api.selectors import label_selector_text
from probate.api.selectors.requirements import Requirement, compile_test

_OBJECT_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


class LabelSelector:
    """Requirements that labels must all meet. With none, everything matches, except for `NOTHING`."""

    __slots__ = ("_equal", "_tests", "is_nothing", "requirements")

    def __init__(self, requirements: Iterable[Requirement], *, is_nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements))
        self.is_nothing = is_nothing
        # Nearly all selectors only ask for labels to be equal, which sets compare at once.
        self._equal = frozenset((one.key, one.values[0]) for one in self.requirements if one.operator == "=")
        self._tests = tuple(compile_test(one) for one in self.requirements if one.operator != "=")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet all requirements."""
        if self.is_nothing or not labels.items() >= self._equal:
            return False
        return all(is_met(labels) for is_met in self._tests) if self._tests else True

    @property
    def is_everything(self) -> bool:
        """Whether no labels need be looked at: all match."""
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
    """The selector that the text of a query means. Raises `BadRequest`."""
    return LabelSelector(label_selector_text.read(text))


def compile_object(selector: Any, path: Path) -> tuple[LabelSelector, list[Problem]]:
    """The selector that an object's LabelSelector field means, or what is wrong with it (then nothing matches).

    No field at all (None) matches nothing; an empty one matches everything. The types of its fields are checked before.
    """
    if selector is None:
        return NOTHING, []
    expressions = [(one, path / "matchExpressions" / number) for number, one in enumerate(selector.get("matchExpressions") or ())]
    labels = selector.get("matchLabels") or {}
    told = chain(
        _label_problems(labels, path / "matchLabels"),
        *(_expression_problems(expression, where) for expression, where in expressions),
    )
    if found := field_errors.first(told):
        return NOTHING, found
    asked = [Requirement(key, "=", (value,)) for key, value in labels.items()]
    return LabelSelector([*asked, *(_from_expression(one) for one, _ in expressions)]), []


def _from_expression(expression: Mapping[str, Any]) -> Requirement:
    values = tuple(sorted(set(expression.get("values") or ())))
    return Requirement(expression["key"], _OBJECT_OPERATORS[expression["operator"]], values)


def _label_problems(labels: Mapping[str, str], path: Path) -> Iterator[Problem]:
    for key, value in labels.items():
        for detail in names.qualified_name(key):
            yield field_errors.invalid(path, key, detail)
        for detail in names.label_value(value):
            yield field_errors.invalid(path, value, detail)


def _expression_problems(expression: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    key, operator, values = expression.get("key") or "", expression.get("operator") or "", expression.get("values") or ()
    if operator not in _OBJECT_OPERATORS:
        yield field_errors.invalid(path / "operator", operator, "not a valid selector operator")
    elif operator in ("In", "NotIn") and not values:
        yield field_errors.required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield field_errors.forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    for detail in names.qualified_name(key):
        yield field_errors.invalid(path / "key", key, detail)
    for number, value in enumerate(values):
        for detail in names.label_value(value):
            yield field_errors.invalid(path / "values" / number, value, detail)
