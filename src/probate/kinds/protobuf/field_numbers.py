"""Which number each field of a built-in type has in protobuf, and what JSON does with it when it is empty: OpenAPI says neither.

The numbers never change once released; a new field gets a new number. `field_numbers.txt` has one line
for each type under the heading of its package, with the fields in the order of their numbers:

    [io.k8s.api.core.v1]
    ConfigMap = metadata data binaryData immutable                numbers 1, 2, 3, 4
    Volume = name <VolumeSource                                   number 2 is a message whose fields are this type's own in JSON
    ServiceSpec = ports ... externalIPs 7:sessionAffinity? ...    a number is given where it is not the one after the last

The sign after a name says what Go writes into JSON when the field holds nothing:

    revision                 always written: zero, an empty text, null for a list or a time, an object with what it always has
    paused?                  left out when empty: false, 0, "", [], {}
    replicas*                a pointer: left out when absent; a zero was meant, and stays
    selector^                a pointer that is always written: null when absent

Go writes a field that JSON leaves out into protobuf all the same, so that only the table can tell `generation: 0`, which nobody
said, from `replicas: 0`, which somebody did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("field_numbers.txt")
_SIGNS = "?*^"


class Field(NamedTuple):
    """A field of a message. `inlined` names the type whose fields, in JSON, stand where this field would."""

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
    """The fields, by number, of the type of this name (io.k8s.api.core.v1.Pod), if it has a protobuf form."""
    written = _lines().get(definition)
    return None if written is None else {one.number: one for one in _parsed(definition, written)}


def definitions() -> frozenset[str]:
    """The names of all types that have a protobuf form."""
    return frozenset(_lines())


@cache
def _lines() -> dict[str, str]:
    """What is written of each type: read once, understood when asked for."""
    found, package = {}, ""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            package = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, fields = line.partition(" =")
            found[f"{package}.{name}"] = fields
    return found


def _parsed(definition: str, written: str) -> Iterator[Field]:
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
