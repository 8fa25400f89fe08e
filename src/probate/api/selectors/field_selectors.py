r"""Field selectors: `metadata.name=web,status.phase!=Running`, compiled for one resource.

    fields = supported_fields(GroupResource("", "pods"))
    parse("spec.nodeName=n1,status.phase!=Failed", fields).matches({"spec": {"nodeName": "n1"}})     True

A term is a field, `=`, `==` or `!=`, and a value; in a value, `\`, `,` and `=` are escaped by a backslash. Terms are separated by
commas; an empty term has no effect. A field that the resource does not support is a `BadRequest`, as is an invalid term.

A selector for one name does not need all objects: `exact_name` returns that name. With `needs_metadata_only` the rest of an object
need not be decoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from probate.api.selectors.requirements import MAX_REQUIREMENTS
from probate.api.selectors.selectable_fields import METADATA_FIELDS, SelectableField
from probate.core import errors

_TERMS = re.compile(r"(?:\\.|\\\Z|[^\\,])+", re.DOTALL)
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_VALUE = re.compile(r"(?:\\[\\,=]|[^\\,=])*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = re.compile(r"([\\,=])")


class FieldRequirement(msgspec.Struct, frozen=True, order=True):
    """The value that one field must have, or must not have."""

    field: str
    is_equal: bool
    value: str

    def __str__(self) -> str:
        escaped = _SPECIAL.sub(r"\\\1", self.value)
        return f"{self.field}{'=' if self.is_equal else '!='}{escaped}"


class FieldSelector:
    """Requirements that an object's fields must all meet. Without requirements, it matches everything."""

    __slots__ = ("_tests", "requirements")

    def __init__(self, requirements: Iterable[FieldRequirement], fields: Mapping[str, SelectableField]) -> None:
        self.requirements = tuple(sorted(requirements))
        self._tests = tuple(
            self._test(name, fields[name]) for name in dict.fromkeys(requirement.field for requirement in self.requirements)
        )

    def _test(self, name: str, field: SelectableField) -> tuple[Callable[[Mapping[str, Any]], str], frozenset[str], frozenset[str]]:
        """Returns how to read a field, its required values and its forbidden values, so that a match reads each field once."""
        requirements = [requirement for requirement in self.requirements if requirement.field == name]
        equal = frozenset(requirement.value for requirement in requirements if requirement.is_equal)
        return field.read, equal, frozenset(requirement.value for requirement in requirements if not requirement.is_equal)

    def matches(self, document: Mapping[str, Any]) -> bool:
        """Returns whether the object's fields meet all requirements."""
        for read, equal, unequal in self._tests:
            value = read(document)
            if value in unequal or (equal and (value not in equal or len(equal) > 1)):
                return False
        return True

    def exact_value(self, field: str) -> str | None:
        """Returns the only value that the field may have, if the selector requires one."""
        return next(
            (requirement.value for requirement in self.requirements if requirement.field == field and requirement.is_equal), None
        )

    def exact_name(self) -> str | None:
        """Returns the name of the only object that can match, if the selector requires one. An empty name matches no object."""
        return self.exact_value("metadata.name")

    @property
    def is_everything(self) -> bool:
        """Whether the selector matches every object."""
        return not self.requirements

    @property
    def needs_metadata_only(self) -> bool:
        """Whether an object's metadata decides the match."""
        return all(requirement.field in METADATA_FIELDS for requirement in self.requirements)

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
    """Parses the selector of a query for a resource with these fields. Raises `BadRequest`."""
    terms = _TERMS.findall(text)
    if len(terms) > MAX_REQUIREMENTS:
        raise errors.BadRequest(f"the field selector has {len(terms):,} requirements; the maximum is {MAX_REQUIREMENTS:,}")
    return FieldSelector((_parse_term(term, text, fields) for term in terms), fields)


def _parse_term(term: str, text: str, fields: Mapping[str, SelectableField]) -> FieldRequirement:
    match = _TERM.fullmatch(term)
    if match is None:
        raise errors.BadRequest(f"invalid selector: '{text}'; can't understand '{term}': write a field, = or !=, and a value")
    field, operator, value = match.groups()
    if not _VALUE.fullmatch(value):
        raise errors.BadRequest(
            f"invalid field selector: '{text}'; in the value '{value}', write \\\\ for \\, \\, for a comma and \\= for ="
        )
    if field not in fields:
        raise errors.BadRequest(f"field label not supported: {field}: supported are {', '.join(sorted(fields))}")
    return FieldRequirement(field, operator != "!=", _ESCAPED.sub(r"\1", value))
