"""Which number each field of a built-in type has in protobuf, since OpenAPI does not say.

The numbers are facts of Kubernetes that never change once released: a new field gets a new number. `numbers.txt` has them, a line
for each type under the heading of its package, with the fields in the order of their numbers:

    [io.k8s.api.core.v1]
    ConfigMap = metadata data binaryData immutable                numbers 1, 2, 3, 4
    Volume = name <VolumeSource                                   number 2 is a message whose fields are this type's own in JSON
    ServiceSpec = ports ... externalIPs 7:sessionAffinity? ...    a number is given where it is not the one after the last

A `?` marks what JSON leaves out when it is empty. Go writes such a field into protobuf all the same, so that only the table
can tell `generation: 0`, which nobody said, from `replicas: 0`, which somebody did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FILE = Path(__file__).with_name("numbers.txt")


class Field(NamedTuple):
    """A field of a message. `inlined` names the type whose fields, in JSON, stand where this field would."""

    name: str
    number: int
    is_left_out_if_empty: bool = False
    inlined: str = ""


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
            yield Field(name.removesuffix("?"), number, name.endswith("?"))
