"""Of which objects somebody asks: the selectors in a review's `resourceAttributes`.

Operators that are not known here are taken: who asks may be newer than who answers, and RBAC has no use for selectors anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import Path, Problem, forbidden, invalid, required
from probate.server.reviews.review_body import Object

_ATTRIBUTES = Path("spec") / "resourceAttributes"


def problems(attributes: Object | None) -> Iterator[Problem]:
    """What is wrong with the selectors."""
    for field in ("fieldSelector", "labelSelector"):
        selector = (attributes or {}).get(field)
        if selector is not None:
            yield from _of_selector(selector, _ATTRIBUTES / field, is_label=field == "labelSelector")


def _of_selector(selector: Object, path: Path, *, is_label: bool) -> Iterator[Problem]:
    raw, requirements = selector.get("rawSelector") or "", selector.get("requirements") or []
    if raw and requirements:
        yield invalid(path / "rawSelector", raw, "may not be specified at the same time as requirements")
    elif not raw and not requirements:
        yield required(path / "requirements", f"when {path} is specified, requirements or rawSelector is required")
    for index, requirement in enumerate(requirements):
        at = path / "requirements" / index
        yield from _of_values(requirement or {}, at)
        yield from _of_label(requirement or {}, at) if is_label else _of_field(requirement or {}, at)


def _of_values(requirement: Object, path: Path) -> Iterator[Problem]:
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator in {"In", "NotIn"} and not values:
        yield required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"} and values:
        yield forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def _of_label(requirement: Object, path: Path) -> Iterator[Problem]:
    key = requirement.get("key") or ""
    yield from (invalid(path / "key", key, fault) for fault in names.qualified_name(key))
    for index, value in enumerate(requirement.get("values") or []):
        yield from (invalid(path / "values" / index, value, fault) for fault in names.label_value(value or ""))


def _of_field(requirement: Object, path: Path) -> Iterator[Problem]:
    if not requirement.get("key"):
        yield required(path / "key", "must be specified")
