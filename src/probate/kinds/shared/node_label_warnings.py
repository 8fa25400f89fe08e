"""Warns about deprecated node labels in node selectors and similar fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from probate.api import names
from probate.api.field_errors import FieldPath
from probate.kinds.shared.field_checks import Value, each

DEPRECATED: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
}


def of_keys(keys: Iterable[str], path: FieldPath) -> Iterator[str]:
    """Yields the warnings about keys of a map, each with its path."""
    yield from (f"{path @ key}: {DEPRECATED[key]}" for key in keys if key in DEPRECATED)


def of_key(key: str, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about the key in this field."""
    if key in DEPRECATED:
        yield f"{path}: {key} is {DEPRECATED[key]}"


def of_term(term: Value, path: FieldPath, *, checks_values: bool = False) -> Iterator[str]:
    """Yields the warnings about a node selector term, and optionally about values that cannot be label values."""
    for expression, at in each(term, path, "matchExpressions"):
        yield from of_key(expression.get("key") or "", at / "key")
        for index, value in enumerate(expression.get("values") or () if checks_values else ()):
            yield from (
                f"{at / 'values' / index}: {value} is invalid, no label can have it: {why}"
                for why in names.validate_label_value(value)
            )
