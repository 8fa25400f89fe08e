"""The parts of a JSON value by their paths: for tests that change some of them at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str | int, ...]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Returns the paths of all parts of the value, starting with its own."""
    yield here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, one in inner:
        yield from places(one, (*here, part))


def at(value: Any, place: Place) -> Any:
    """Returns the part at a path."""
    for part in place:
        value = value[part]
    return value
