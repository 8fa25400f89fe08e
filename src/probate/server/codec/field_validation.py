"""What is odd about a body, in the words of Kubernetes: fields that are unknown, or given twice. And what becomes of it.

Nothing here is done for a body that is fine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from probate.api.documents import Document
from probate.api.field_errors import field
from probate.core import errors

_OPERATION = frozenset({"op", "path", "from", "value"})
"""What an operation of a JSON patch may say."""


def judged(odd: Sequence[str], field_validation: str, lines: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The warnings about what is odd, lines of YAML first. `BadRequest` if nothing may be."""
    if (odd or lines) and field_validation == "Strict":
        raise errors.BadRequest(f"strict decoding error: {', '.join([*in_yaml(lines), *odd])}")
    return (*lines, *odd) if field_validation == "Warn" else ()


def in_yaml(lines: tuple[str, ...]) -> list[str]:
    """What is wrong in these lines of YAML, as one thing to tell, in the words of Kubernetes' reader."""
    return ["\n  ".join(("yaml: unmarshal errors:", *lines))] if lines else []


def unknown(paths: Iterable[str]) -> list[str]:
    """What is told of fields that a kind does not have."""
    return [f'unknown field "{path}"' for path in paths]


def duplicate(paths: Iterable[str]) -> list[str]:
    """What is told of fields that were given twice."""
    return [f'duplicate field "{path}"' for path in paths]


def of_body(document: Document, strange: list[str], *, is_yaml: bool, is_custom: bool) -> list[str]:
    """What is odd about a body, less the lines of YAML.

    Kubernetes makes JSON of YAML first, and sorts what it writes. It reads built-in kinds in the order of the document, and custom
    ones twice: once to see what is there, and then to see what is known of that.
    """
    if is_yaml:
        return unknown(strange if is_custom else sorted(strange))
    if is_custom:
        return duplicate(document.duplicates) + unknown(strange)
    return in_order(document.value, strange, document.duplicates)


def of_json_patch(document: Document) -> list[str]:
    """What is odd about the operations themselves."""
    strange = [
        field(f"[{number}]", name)
        for number, operation in enumerate(document.value if isinstance(document.value, list) else ())
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION
    ]
    return [f"json patch {one}" for one in in_order(document.value, strange, document.duplicates)]


def in_order(value: Any, strange: list[str], repeated: list[str]) -> list[str]:
    """Both as the value has them, one after the other. What is unknown is told once, and nobody looks what is in it."""
    if not repeated:
        return unknown(strange)
    marks = dict(zip(repeated, duplicate(repeated), strict=True)) | dict(zip(strange, unknown(strange), strict=True))
    return [marks[path] for path in _paths(value, "", frozenset(strange)) if path in marks]


def _paths(value: Any, path: str, closed: Collection[str]) -> Iterator[str]:
    """The paths of all that is in the value, but of nothing that is in those that are `closed`."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        here = field(path, name) if isinstance(name, str) else f"{path}[{name}]"
        yield here
        if isinstance(part, dict | list) and here not in closed:
            yield from _paths(part, here, closed)
