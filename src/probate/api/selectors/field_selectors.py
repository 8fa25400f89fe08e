"""Field selectors: `metadata.name=web,status.phase!=Running`, compiled for one resource.

    fields = supported_fields(GroupResource("", "pods"))
    parse("spec.nodeName=n1,status.phase!=Failed", fields).matches({"spec": {"nodeName": "n1"}})     True

A term is a field, `=`, `==` or `!=`, and a value; in a value, `\\`, `,` and `=` stand behind a backslash. Terms are separated by
commas, and an empty one says nothing. Only fields of the resource's table may be asked for: any other is a `BadRequest`, as is
text that is no term.

A selector that asks for one name need not look at all objects: `exact_name` says which. `needs_metadata_only` says that the rest
of an object need not even be decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from probate.api.selectors.requirements import MAX_REQUIREMENTS
from probate.api.selectors.selectable_fields import METADATA, SelectableField
from probate.core import errors

_TERMS = re.compile(r"(?:\\.|\\\Z|[^\\,])+", re.DOTALL)
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_VALUE = re.compile(r"(?:\\[\\,=]|[^\\,=])*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"([\\,=])")


class FieldRequirement(msgspec.Struct, frozen=True, order=True):
    """What one field must be, or must not be."""

    field: str
    is_equal: bool
    value: str

    def __str__(self) -> str:
        escaped = _SPECIAL.sub(r"\\\1", self.value)
        return f"{self.field}{'=' if self.is_equal else '!='}{escaped}"


class FieldSelector:
    """Requirements that an object's fields must all meet. With none, everything matches."""

    __slots__ = ("_tests", "requirements")

    def __init__(self, requirements: Iterable[FieldRequirement], fields: Mapping[str, SelectableField]) -> None:
        self.requirements = tuple(sorted(requirements))
        self._tests = tuple(self._test(name, fields[name]) for name in dict.fromkeys(one.field for one in self.requirements))

    def _test(self, name: str, field: SelectableField) -> tuple[Callable[[Mapping[str, Any]], str], frozenset[str], frozenset[str]]:
        """How to read a field, what it must be, and what it must not be: one look, however much is asked of it."""
        asked = [one for one in self.requirements if one.field == name]
        equal = frozenset(one.value for one in asked if one.is_equal)
        return field.read, equal, frozenset(one.value for one in asked if not one.is_equal)

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Whether the object's fields meet all requirements."""
        for read, equal, unequal in self._tests:
            value = read(document)
            if value in unequal or (equal and (value not in equal or len(equal) > 1)):
                return False
        return True

    def exact(self, field: str) -> str | None:
        """The only value that the field may have, if the selector says so."""
        return next((one.value for one in self.requirements if one.field == field and one.is_equal), None)

    def exact_name(self) -> str | None:
        """The name of the only object that can match, if the selector asks for one. (The empty name: none can.)"""
        return self.exact("metadata.name")

    @property
    def is_everything(self) -> bool:
        """Whether no field need be looked at: all match."""
        return not self.requirements

    @property
    def needs_metadata_only(self) -> bool:
        """Whether an object's metadata is enough to tell."""
        return all(one.field in METADATA for one in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.requirements == other.requirements if isinstance(other, FieldSelector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.requirements)


EVERYTHING = FieldSelector((), {})


def parse(text: str, fields: Mapping[str, SelectableField]) -> FieldSelector:
    """The selector that the text of a query means for a resource with these fields. Raises `BadRequest`."""
    terms = _TERMS.findall(text)
    if len(terms) > MAX_REQUIREMENTS:
        raise errors.BadRequest(f"the field selector asks {len(terms):,} things, and may ask {MAX_REQUIREMENTS:,}")
    return FieldSelector((_read_term(term, text, fields) for term in terms), fields)


def _read_term(term: str, text: str, fields: Mapping[str, SelectableField]) -> FieldRequirement:
    found = _TERM.fullmatch(term)
    if found is None:
        raise errors.BadRequest(f"invalid selector: '{text}'; can't understand '{term}': write a field, = or !=, and a value")
    field, operator, value = found.groups()
    if not _VALUE.fullmatch(value):
        raise errors.BadRequest(
            f"invalid field selector: '{text}'; in the value '{value}', write \\\\ for \\, \\, for a comma and \\= for ="
        )
    if field not in fields:
        raise errors.BadRequest(f"field label not supported: {field}: supported are {', '.join(sorted(fields))}")
    return FieldRequirement(field, operator != "!=", _ESCAPED.sub(r"\1", value))
