"""The protobuf number of each field of a built-in type, and how Go writes the field to JSON when it is empty.

OpenAPI contains neither. The numbers never change once released; a new field gets a new number. `field_numbers.txt` has one line
per type under the heading of its package, with the fields in the order of their numbers:

    [io.k8s.api.core.v1]
    ConfigMap = metadata data binaryData immutable                numbers 1, 2, 3, 4
    Volume = name <VolumeSource                                   number 2 is a message whose fields are this type's own in JSON
    ServiceSpec = ports ... externalIPs 7:sessionAffinity? ...    a number is given where it is not the one after the last

The sign after a name says what Go writes into JSON when the field is empty:

    revision                 always written: zero, an empty text, null for a list or a time, an object with its own such fields
    paused?                  omitted when empty: false, 0, "", [], {}
    replicas*                a pointer: omitted when absent; an explicit zero stays
    selector^                a pointer that is always written: null when absent

Go writes a field that JSON omits into protobuf all the same, so only this table can distinguish `generation: 0`, which no client
set, from `replicas: 0`, which a client did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from probate.core import package_data

_FILE = "field_numbers.txt"
_SIGNS = "?*^"


class Field(NamedTuple):
    """A field of a message. `inlined` names the type whose fields take the place of this field in JSON."""

    name: str
    number: int
    sign: str = ""
    inlined: str = ""

    @property
    def is_left_out_if_empty(self) -> bool:
        return self.sign == "?"

    @property
    def is_pointer(self) -> bool:
        return self.sign in {"*", "^"}


@cache
def fields_of(definition: str) -> Mapping[int, Field] | None:
    """Returns the fields, by number, of the type with this name (io.k8s.api.core.v1.Pod); None if it has no protobuf encoding."""
    written = _lines().get(definition)
    return None if written is None else {one.number: one for one in parse(definition, written)}


def definitions() -> frozenset[str]:
    """Returns the names of all types that have a protobuf encoding."""
    return frozenset(_lines())


@cache
def _lines() -> dict[str, str]:
    """Returns the line of each type. The file is read once; a line is parsed when its type is first used."""
    found, package = {}, ""
    for line in package_data.read_text(__file__, _FILE).splitlines():
        if line.startswith("["):
            package = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, fields = line.partition(" =")
            found[f"{package}.{name}"] = fields
    return found


def parse(definition: str, written: str) -> Iterator[Field]:
    """Yields the fields of a type from its line in the file."""
    package = definition.rpartition(".")[0]
    number = 0
    for word in written.split():
        given, colon, name = word.rpartition(":")
        number = int(given) if colon else number + 1
        if name.startswith("<"):
            yield Field("", number, inlined=f"{package}.{name[1:]}")
        else:
            sign = name[-1] if name[-1] in _SIGNS else ""
            yield Field(name.removesuffix(sign), number, sign)
