"""JSON Patch (RFC 6902): a list of operations, each on a path. Either all operations succeed or none takes effect.

    apply({"data": {"a": "1"}}, [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "add", "path": "/data/b", "value": "2"}])
    {"data": {"a": "1", "b": "2"}}

The input document is never modified. Each container that an operation writes to is copied once, before the first write; all
others are shared with the result. The cost of a patch therefore depends on what it touches, not on the size of the object.

The error type follows Kubernetes. A body that is not a JSON Patch raises `BadRequest`. An operation that cannot be performed
(unknown op, missing path, nonexistent target, failed test) raises `Invalid` without causes. More operations than the limit raise
`TooLarge`. As in Kubernetes, an operation without a `value` has the value null, and a test of a missing object field for null
succeeds. Array indexes are plain numbers; "-" denotes the position after the last item and is valid for additions only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

import orjson

from probate.core import errors

MAX_OPERATIONS = 10_000
MAX_DEPTH = 100  # nesting of the result: each operation may nest deeper than the previous one
MAX_COPIED_BYTES = 3 * 1024 * 1024  # total of all copy operations: a short patch could otherwise double a document repeatedly

Location = tuple[str, ...]  # a parsed JSON pointer: "/data/a~1b" is ("data", "a/b"), "" is ()

_INDEX = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile(r"~(?![01])")


class _OperationFailed(Exception):
    """An operation cannot be performed. The message contains the reason."""


def apply(document: dict[str, Any], patch: Any, *, sealed: Collection[str] = ()) -> dict[str, Any]:
    """Applies the operations in order and returns the result. Raises `BadRequest`, `Invalid` or `TooLarge`.

    Does not modify the input. Values in a `sealed` top-level field cannot be copied or moved outside of the sealed fields.
    """
    patched = _PatchedDocument(document, sealed)
    for number, operation in enumerate(_check_patch(patch)):
        try:
            patched.perform(operation)
        except _OperationFailed as problem:
            raise errors.Invalid(f"operation {number} of the JSON patch failed: {problem}") from None
        except (RecursionError, orjson.JSONEncodeError):
            raise errors.Invalid(
                f"operation {number} of the JSON patch addresses a value nested deeper than {MAX_DEPTH} levels"
            ) from None
    return _check_result(patched.document)


def _check_patch(patch: Any) -> list[dict[str, Any]]:
    if not isinstance(patch, list) or not all(isinstance(operation, dict) for operation in patch):
        raise errors.BadRequest('a JSON patch is a list of operations, such as [{"op": "remove", "path": "/data/a"}]')
    if len(patch) > MAX_OPERATIONS:
        raise errors.TooLarge(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}")
    return patch


def _check_result(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise errors.Invalid('the result of the JSON patch is not an object: the path "" is the whole object')
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        if not level:
            break
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        level = [inner for inner in level if isinstance(inner, (dict, list))]
    if level:
        raise errors.Invalid(f"the result of the JSON patch is nested deeper than {MAX_DEPTH} levels")
    return document


class _PatchedDocument:
    """The document during patching. `_owned` holds the ids of the containers created here, which may be modified in place.

    Such an id cannot be reused for a container of the input, because the input lives as long as this object.
    """

    def __init__(self, document: Any, sealed: Collection[str]) -> None:
        self.document = document
        self._sealed = sealed
        self._owned: set[int] = set()
        self._copied_bytes = 0
        self._operations: dict[str, Callable[[dict[str, Any]], None]] = {
            "add": lambda operation: self._add(_parse_location(operation, "path"), operation.get("value")),
            "remove": lambda operation: self._remove(_parse_location(operation, "path")),
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }

    def perform(self, operation: dict[str, Any]) -> None:
        name = operation.get("op")
        if not isinstance(name, str) or name not in self._operations:
            raise _OperationFailed(f"the op {name!r} is unknown: use one of {', '.join(self._operations)}")
        self._operations[name](operation)

    def _add(self, location: Location, value: Any) -> None:
        if not location:
            self.document = value
            return
        parent = self._writable(location[:-1])
        if isinstance(parent, list):
            parent.insert(_index(location, len(parent), may_append=True), value)
        else:
            parent[location[-1]] = value

    def _remove(self, location: Location) -> Any:
        if not location:
            raise _OperationFailed("the whole object cannot be removed by a patch: delete it")
        _read(self.document, location)
        parent = self._writable(location[:-1])
        return parent.pop(_index(location, len(parent)) if isinstance(parent, list) else location[-1])

    def _replace(self, operation: dict[str, Any]) -> None:
        location, value = _parse_location(operation, "path"), operation.get("value")
        _read(self.document, location)
        if not location:
            self.document = value
            return
        parent = self._writable(location[:-1])
        parent[_index(location, len(parent)) if isinstance(parent, list) else location[-1]] = value

    def _source_and_target(self, operation: dict[str, Any]) -> tuple[Location, Location]:
        """Returns the source and target of a move or copy. Rejects a transfer out of a sealed field."""
        source, target = _parse_location(operation, "from"), _parse_location(operation, "path")
        if self._sealed and (not source or source[0] in self._sealed) and (not target or target[0] not in self._sealed):
            raise _OperationFailed(f"values in {' and '.join(self._sealed)} cannot be copied or moved to other fields")
        return source, target

    def _move(self, operation: dict[str, Any]) -> None:
        source, target = self._source_and_target(operation)
        if source == target:
            _read(self.document, source)
        elif target[: len(source)] == source:
            raise _OperationFailed(f"{operation['from']!r} cannot be moved into itself")
        else:
            self._add(target, self._remove(source))

    def _copy(self, operation: dict[str, Any]) -> None:
        source, target = self._source_and_target(operation)
        text = orjson.dumps(_read(self.document, source))
        self._copied_bytes += len(text)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise _OperationFailed(f"copy operations may add {MAX_COPIED_BYTES} bytes in all, these add more")
        self._add(target, orjson.loads(text))

    def _test(self, operation: dict[str, Any]) -> None:
        location, expected = _parse_location(operation, "path"), operation.get("value")
        if not is_equal(self._test_operand(location), expected):
            raise _OperationFailed(f"testing value {operation['path']} failed: it is not as the patch expects")

    def _test_operand(self, location: Location) -> Any:
        parent = _read(self.document, location[:-1])
        if location and isinstance(parent, dict):
            return parent.get(location[-1])
        return _read(self.document, location)

    def _writable(self, location: Location) -> Any:
        """Returns the container at a location, after copying it and its ancestors if they still belong to the input."""
        _container(self.document, location)
        self.document = current = self._copy_once(self.document)
        for depth, part in enumerate(location, start=1):
            key = _index(location[:depth], len(current)) if isinstance(current, list) else part
            current[key] = self._copy_once(current[key])
            current = current[key]
        return current

    def _copy_once(self, container: Any) -> Any:
        if id(container) in self._owned:
            return container
        copied = container.copy()
        self._owned.add(id(copied))
        return copied


def _parse_location(operation: dict[str, Any], field: str) -> Location:
    text = operation.get(field)
    if not isinstance(text, str):
        raise _OperationFailed(f'it needs a "{field}", such as "/metadata/labels/app"')
    if (text and not text.startswith("/")) or _BAD_ESCAPE.search(text):
        raise _OperationFailed(f"{text!r} is not a JSON pointer: begin it with /, and in a name write ~0 for ~ and ~1 for /")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])


def _read(document: Any, location: Location) -> Any:
    """Returns the value at a location."""
    current = document
    for depth, part in enumerate(location, start=1):
        if isinstance(current, list):
            current = current[_index(location[:depth], len(current))]
        elif isinstance(current, dict) and part in current:
            current = current[part]
        else:
            raise _OperationFailed(f"{_format_location(location[:depth])} does not exist")
    return current


def _container(document: Any, location: Location) -> None:
    if not isinstance(_read(document, location), (dict, list)):
        raise _OperationFailed(f"{_format_location(location)} is neither an object nor a list, so it has no fields or items")


def _index(location: Location, length: int, *, may_append: bool = False) -> int:
    """Returns the array index in the last part of a location."""
    part = location[-1]
    if part == "-" and may_append:
        return length
    if not _INDEX.fullmatch(part):
        raise _OperationFailed(f"{_format_location(location)} is in a list: it must end with an index, such as 0")
    if len(part) > 18 or int(part) >= length + may_append:
        raise _OperationFailed(f"{_format_location(location)} does not exist: the list has {length} items")
    return int(part)


def _format_location(location: Location) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in location) or "the whole object"


def is_equal(left: Any, right: Any) -> bool:
    """Returns whether two JSON values are equal: 1 equals 1.0, but true does not equal 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
