"""Field validation: reports unknown and duplicate fields of a body in Kubernetes' words, as errors or warnings.

A valid body causes no work here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from probate.api.field_errors import field
from probate.api.serialization.documents import Document
from probate.core import errors

_OPERATION = frozenset({"op", "path", "from", "value"})
"""The members of a JSON Patch operation."""


def judged(odd: Sequence[str], field_validation: str, lines: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Returns the warnings about the findings, YAML lines first. Raises `BadRequest` if fieldValidation is Strict."""
    if (odd or lines) and field_validation == "Strict":
        raise errors.BadRequest(f"strict decoding error: {', '.join([*in_yaml(lines), *odd])}")
    return (*lines, *odd) if field_validation == "Warn" else ()


def in_yaml(lines: tuple[str, ...]) -> list[str]:
    """Joins the findings of the YAML lines into one message, in the words of Kubernetes' parser."""
    return ["\n  ".join(("yaml: unmarshal errors:", *lines))] if lines else []


def unknown(paths: Iterable[str]) -> list[str]:
    """Returns the messages for unknown fields."""
    return [f'unknown field "{path}"' for path in paths]


def duplicate(paths: Iterable[str]) -> list[str]:
    """Returns the messages for duplicate fields."""
    return [f'duplicate field "{path}"' for path in paths]


def of_body(document: Document, strange: list[str], *, is_yaml: bool, is_custom: bool) -> list[str]:
    """Returns the findings of a body except its YAML lines, in the order of Kubernetes.

    Kubernetes converts YAML to JSON first, which sorts the fields. It decodes built-in kinds in document order, and custom
    resources twice: first for duplicate fields, then for unknown ones.
    """
    if is_yaml:
        return unknown(strange if is_custom else sorted(strange))
    if is_custom:
        return duplicate(document.duplicates) + unknown(strange)
    return in_order(document.value, strange, document.duplicates)


def of_json_patch(document: Document) -> list[str]:
    """Returns the findings of the JSON Patch operations themselves."""
    strange = [
        field(f"[{number}]", name)
        for number, operation in enumerate(document.value if isinstance(document.value, list) else ())
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION
    ]
    return [f"json patch {one}" for one in in_order(document.value, strange, document.duplicates)]


def in_order(value: Any, strange: list[str], repeated: list[str]) -> list[str]:
    """Returns both kinds of findings in document order. An unknown field is reported once, and its content is ignored."""
    if not repeated:
        return unknown(strange)
    marks = dict(zip(repeated, duplicate(repeated), strict=True)) | dict(zip(strange, unknown(strange), strict=True))
    return [marks[path] for path in _paths(value, "", frozenset(strange)) if path in marks]


def _paths(value: Any, path: str, closed: Collection[str]) -> Iterator[str]:
    """Yields the paths of all fields and items, without the content of the `closed` paths."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        here = field(path, name) if isinstance(name, str) else f"{path}[{name}]"
        yield here
        if isinstance(part, dict | list) and here not in closed:
            yield from _paths(part, here, closed)
