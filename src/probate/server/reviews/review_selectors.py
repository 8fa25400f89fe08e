"""Validates the selectors in a review's `resourceAttributes`.

Unknown operators are accepted: the client may be newer than the server, and RBAC does not evaluate the selectors anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, required
from probate.api.objects import Object

_ATTRIBUTES = FieldPath("spec") / "resourceAttributes"


def problems(attributes: Object | None) -> Iterator[FieldError]:
    """Returns what is wrong with the selectors."""
    for field in ("fieldSelector", "labelSelector"):
        selector = (attributes or {}).get(field)
        if selector is not None:
            yield from _selector_problems(selector, _ATTRIBUTES / field, is_label=field == "labelSelector")


def _selector_problems(selector: Object, path: FieldPath, *, is_label: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
    if raw and requirements:
        yield invalid(path / "rawSelector", raw, "may not be specified at the same time as requirements")
    elif not raw and not requirements:
        yield required(path / "requirements", f"when {path} is specified, requirements or rawSelector is required")
    for index, requirement in enumerate(requirements):
        at = path / "requirements" / index
        yield from _value_problems(requirement or {}, at)
        yield from _label_problems(requirement or {}, at) if is_label else _field_problems(requirement or {}, at)


def _value_problems(requirement: Object, path: FieldPath) -> Iterator[FieldError]:
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator in {"In", "NotIn"} and not values:
        yield required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"} and values:
        yield forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _label_problems(requirement: Object, path: FieldPath) -> Iterator[FieldError]:
    key = requirement.get("key") or ""
    yield from (invalid(path / "key", key, fault) for fault in names.validate_qualified_name(key))
    for index, value in enumerate(requirement.get("values") or []):
        yield from (invalid(path / "values" / index, value, fault) for fault in names.validate_label_value(value or ""))


def _field_problems(requirement: Object, path: FieldPath) -> Iterator[FieldError]:
    if not requirement.get("key"):
        yield required(path / "key", "must be specified")
