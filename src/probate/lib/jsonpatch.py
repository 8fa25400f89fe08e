"""JSON Patch (RFC 6902): a list of operations, each at a place, that all hold or none.

    apply({"data": {"a": "1"}}, [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "add", "path": "/data/b", "value": "2"}])
    {"data": {"a": "1", "b": "2"}}

The document given is never changed: what an operation writes to is copied first, once, and everything else is shared with the
result. So a patch costs what it touches, not what the object weighs.

Who is to blame decides the answer, as in Kubernetes. Something that is no patch at all is a `BadRequest`; an operation that
cannot be done (unknown, without a path, at a place that is not there, a test that fails) is `Invalid`, without causes; more
operations than the limit are `TooLarge`. An operation without a `value` has the value null, and testing a missing field of an
object for null holds: that is how Kubernetes reads them. Array indexes are plain numbers; "-" is one past the end, for adding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import orjson

from probate.core import errors

MAX_OPERATIONS = 10_000
MAX_DEPTH = 100  # of the result: each operation may go deeper than the one before
MAX_COPIED_BYTES = 3 * 1024 * 1024  # of all copy operations together: a short patch could double a document again and again

Place = tuple[str, ...]  # a JSON pointer, taken apart: "/data/a~1b" is ("data", "a/b"), "" is ()

_INDEX = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class _Impossible(Exception):
    """Why an operation cannot be done."""


def apply(document: dict[str, Any], patch: Any, *, sealed: Collection[str] = ()) -> dict[str, Any]:
    """The document with the patch's operations done in order. Raises `BadRequest`, `Invalid` or `TooLarge`; changes nothing.

    What is in a `sealed` field of the document is copied or moved nowhere else.
    """
    work = _Work(document, sealed)
    for number, operation in enumerate(_checked(patch)):
        try:
            work.do(operation)
        except _Impossible as problem:
            raise errors.Invalid(f"operation {number} of the JSON patch cannot be done: {problem}") from None
        except (RecursionError, orjson.JSONEncodeError):
            raise errors.Invalid(
                f"operation {number} of the JSON patch is at something nested deeper than {MAX_DEPTH} levels"
            ) from None
    return _checked_result(work.document)


def _checked(patch: Any) -> list[dict[str, Any]]:
    if not isinstance(patch, list) or not all(isinstance(operation, dict) for operation in patch):
        raise errors.BadRequest('a JSON patch is a list of operations, such as [{"op": "remove", "path": "/data/a"}]')
    if len(patch) > MAX_OPERATIONS:
        raise errors.TooLarge(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}")
    return patch


def _checked_result(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise errors.Invalid('the JSON patch leaves something that is not an object: the path "" is the whole object')
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        if not level:
            break
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        level = [inner for inner in level if isinstance(inner, (dict, list))]
    if level:
        raise errors.Invalid(f"the JSON patch leaves an object nested deeper than {MAX_DEPTH} levels")
    return document


class _Work:
    """The document while it is patched. `_owned` are the ids of containers made here, which may be written to.

    An id cannot come to mean a container of the input: those live as long as this does.
    """

    def __init__(self, document: Any, sealed: Collection[str]) -> None:
        self.document = document
        self._sealed = sealed
        self._owned: set[int] = set()
        self._copied_bytes = 0
        self._operations: dict[str, Callable[[dict[str, Any]], None]] = {
            "add": lambda operation: self._add(_place(operation, "path"), operation.get("value")),
            "remove": lambda operation: self._remove(_place(operation, "path")),
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def do(self, operation: dict[str, Any]) -> None:
        name = operation.get("op")
        if not isinstance(name, str) or name not in self._operations:
            raise _Impossible(f"the op {name!r} is none of {', '.join(self._operations)}")
        self._operations[name](operation)

    def _add(self, place: Place, value: Any) -> None:
        if not place:
            self.document = value
            return
        parent = self._writable(place[:-1])
        if isinstance(parent, list):
            parent.insert(_index(place, len(parent), may_append=True), value)
        else:
            parent[place[-1]] = value

    def _remove(self, place: Place) -> Any:
        if not place:
            raise _Impossible("the whole object cannot be removed by a patch: delete it")
        _read(self.document, place)
        parent = self._writable(place[:-1])
        return parent.pop(_index(place, len(parent)) if isinstance(parent, list) else place[-1])

    def _replace(self, operation: dict[str, Any]) -> None:
        place, value = _place(operation, "path"), operation.get("value")
        _read(self.document, place)
        if not place:
            self.document = value
            return
        parent = self._writable(place[:-1])
        parent[_index(place, len(parent)) if isinstance(parent, list) else place[-1]] = value

    def _ends(self, operation: dict[str, Any]) -> tuple[Place, Place]:
        """From where to where something goes."""
        source, target = _place(operation, "from"), _place(operation, "path")
        if self._sealed and (not source or source[0] in self._sealed) and (not target or target[0] not in self._sealed):
            raise _Impossible(f"what is in {' and '.join(self._sealed)} stays there: it cannot be copied or moved elsewhere")
        return source, target

    def _move(self, operation: dict[str, Any]) -> None:
        source, target = self._ends(operation)
        if source == target:
            _read(self.document, source)
        elif target[: len(source)] == source:
            raise _Impossible(f"{operation['from']!r} cannot be moved into itself")
        else:
            self._add(target, self._remove(source))

    def _copy(self, operation: dict[str, Any]) -> None:
        source, target = self._ends(operation)
        text = orjson.dumps(_read(self.document, source))
        self._copied_bytes += len(text)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise _Impossible(f"copy operations may add {MAX_COPIED_BYTES} bytes in all, these add more")
        self._add(target, orjson.loads(text))

    def _test(self, operation: dict[str, Any]) -> None:
        place, expected = _place(operation, "path"), operation.get("value")
        if not is_equal(self._tested(place), expected):
            raise _Impossible(f"testing value {operation['path']} failed: it is not as the patch expects")

    def _tested(self, place: Place) -> Any:
        parent = _read(self.document, place[:-1])
        if place and isinstance(parent, dict):
            return parent.get(place[-1])
        return _read(self.document, place)

    def _writable(self, place: Place) -> Any:
        """The container at a place, after copying it and what leads to it if they are still the input's."""
        _container(self.document, place)
        self.document = found = self._own(self.document)
        for depth, part in enumerate(place, start=1):
            key = _index(place[:depth], len(found)) if isinstance(found, list) else part
            found[key] = self._own(found[key])
            found = found[key]
        return found

    def _own(self, container: Any) -> Any:
        if id(container) in self._owned:
            return container
        mine = container.copy()
        self._owned.add(id(mine))
        return mine


def _place(operation: dict[str, Any], field: str) -> Place:
    text = operation.get(field)
    if not isinstance(text, str):
        raise _Impossible(f'it needs a "{field}", such as "/metadata/labels/app"')
    if (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise _Impossible(f"{text!r} is no JSON pointer: it starts with /, and in a name ~ is written ~0 and / is written ~1")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def _read(document: Any, place: Place) -> Any:
    """What is at a place."""
    found = document
    for depth, part in enumerate(place, start=1):
        if isinstance(found, list):
            found = found[_index(place[:depth], len(found))]
        elif isinstance(found, dict) and part in found:
            found = found[part]
        else:
            raise _Impossible(f"there is no {_shown(place[:depth])}")
    return found


def _container(document: Any, place: Place) -> None:
    if not isinstance(_read(document, place), (dict, list)):
        raise _Impossible(f"{_shown(place)} is neither an object nor a list: there is nothing in it")


def _index(place: Place, length: int, *, may_append: bool = False) -> int:
    """The array index that a place ends with."""
    part = place[-1]
    if part == "-" and may_append:
        return length
    if not _INDEX.fullmatch(part):
        raise _Impossible(f"{_shown(place)} is in a list: it must end with an index, such as 0")
    if len(part) > 18 or int(part) >= length + may_append:
        raise _Impossible(f"there is no {_shown(place)}: the list has {length} items")
    return int(part)


def _shown(place: Place) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in place) or "the whole object"


def is_equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: 1 is 1.0, but true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
