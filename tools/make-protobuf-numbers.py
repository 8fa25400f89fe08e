#!/usr/bin/env python3
"""Makes the table of protobuf field numbers from the type information of Go programs: field_numbers.txt, which is checked in.

    tools/make-protobuf-numbers.py KUBECTL HELM

No package contains the numbers, or says how JSON represents an empty field. But every Kubernetes program contains both in the
tags of its struct fields, which Go keeps for reflection, even in a stripped program. kubectl has all types of k8s.io/api and
apimachinery; helm has those of apiextensions as well. The types of kube-aggregator are in neither; they are few and old, and
listed below. The tool reads programs as 64-bit ELF files, with types laid out as in Go 1.26 and 1.27.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from probate.kinds.builtin import catalog

TARGET = Path(__file__).resolve().parent.parent / "src" / "probate" / "kinds" / "protobuf" / "field_numbers.txt"
HEADING = """\
# The protobuf field numbers of Kubernetes' built-in types: facts of its 1.37.1 release, written in a form of Probate's own.
# numbers.py reads this and says what the signs mean.
"""
REGISTRATION = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"
BY_HAND = {
    f"{REGISTRATION}.APIService": "metadata spec status",
    f"{REGISTRATION}.APIServiceCondition": "type status lastTransitionTime reason? message?",
    f"{REGISTRATION}.APIServiceList": "metadata items",
    f"{REGISTRATION}.APIServiceSpec": (
        "service* group? version? insecureSkipTLSVerify? caBundle? 7:groupPriorityMinimum versionPriority"
    ),
    f"{REGISTRATION}.APIServiceStatus": "conditions?",
    f"{REGISTRATION}.ServiceReference": "namespace? name? port*",
}
# Discovery, which nobody sends, and types that are read by rules of their own (special.py).
NOT_WANTED = re.compile(
    r"io\.k8s\.apimachinery\.pkg\.(version|api\.resource|util|runtime)\."
    r"|io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\."
    r"(API|GroupVersionForDiscovery|ServerAddressByClientCIDR|WatchEvent|Patch|Time|MicroTime|FieldsV1)"
    r"|.*\.apiextensions\.v1\.JSON(SchemaPropsOr\w+)?$"
)

INTERFACE, POINTER, STRUCT = 20, 22, 25  # kinds, as reflect numbers them
IS_NAMED, HAS_STAR, HAS_METHODS = 4, 2, 1  # flags of a type
HAS_TAG = 2  # a flag of a name
STRUCT_SIZE, FIELD_SIZE = 80, 24


class StructField(NamedTuple):
    """A field of a Go struct."""

    name: str
    tag: str
    kind: int
    type_name: str


class Program:
    """A Go program, and where its sections are."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        self._sections = dict(self._read_sections())
        self._types = self._sections.get(".go.type") or self._sections[".rodata"]

    def structs(self) -> Iterator[tuple[str, list[StructField]]]:
        """All structs that look like one, by package and name. What only looks like one has no sensible name."""
        address, offset, size = self._types
        for at in range(offset, offset + size - STRUCT_SIZE, 8):
            flags, kind = self._data[at + 20], self._data[at + 23] & 31
            if kind == STRUCT and flags & IS_NAMED and flags & HAS_METHODS:
                try:
                    package = self._name(address + self._int32(at + STRUCT_SIZE))[0]
                    name = self._type_name(at)
                    if package.startswith("k8s.io/") and re.fullmatch(r"\w+\.\w+", name):
                        yield f"{package}.{name.partition('.')[2]}", self._fields(at)
                except (LookupError, ValueError, struct.error):
                    continue

    def _fields(self, at: int) -> list[StructField]:
        first, count, capacity = struct.unpack_from("<QQQ", self._data, at + 56)
        if count != capacity or count > 200:
            raise ValueError("no list of fields")
        return [self._field(self._offset(first) + FIELD_SIZE * index) for index in range(count)]

    def _field(self, at: int) -> StructField:
        name, type_at = struct.unpack_from("<QQ", self._data, at)
        place = self._offset(type_at)
        return StructField(*self._name(name), self._data[place + 23] & 31, self._type_name(place))

    def _type_name(self, at: int) -> str:
        name = self._name(self._types[0] + self._int32(at + 40))[0]
        return name[1:] if self._data[at + 20] & HAS_STAR else name

    def _name(self, address: int) -> tuple[str, str]:
        at = self._offset(address)
        name, end = self._text(at + 1)
        return name, self._text(end)[0] if self._data[at] & HAS_TAG else ""

    def _text(self, at: int) -> tuple[str, int]:
        size = self._data[at] & 0x7F
        if self._data[at] > 0x7F:
            at += 1
            size |= self._data[at] << 7
        return self._data[at + 1 : at + 1 + size].decode(), at + 1 + size

    def _int32(self, at: int) -> int:
        return int(struct.unpack_from("<i", self._data, at)[0])

    def _offset(self, address: int) -> int:
        for start, offset, size in self._sections.values():
            if start <= address < start + size:
                return offset + address - start
        raise LookupError(address)

    def _read_sections(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        (table,) = struct.unpack_from("<Q", self._data, 0x28)
        entry, count, names_index = struct.unpack_from("<HHH", self._data, 0x3A)
        rows = [struct.unpack_from("<IIQQQQ", self._data, table + entry * index) for index in range(count)]
        for name, kind, _, address, offset, size in rows:
            begin = rows[names_index][4] + name
            if kind == 1 and address:  # what is in the file, and loaded
                yield self._data[begin : self._data.index(0, begin)].decode(), (address, offset, size)


def go_name(definition: str) -> str:
    """io.k8s.api.core.v1.Pod is k8s.io/api/core/v1.Pod."""
    package, _, name = definition.removeprefix("io.k8s.").rpartition(".")
    return f"k8s.io/{package.replace('.', '/')}.{name}"


def words(fields: list[StructField]) -> Iterator[tuple[int, str]]:
    """Each field's number, and what the table says of it."""
    for field in fields:
        numbered = re.search(r'protobuf:"\w+,(\d+)', field.tag)
        named = re.search(r'json:"([^"]*)"', field.tag)
        if numbered and named:
            name, *options = named[1].split(",")
            yield int(numbered[1]), f"{name}{sign(field, options)}" if name else f"<{field.type_name.partition('.')[2]}"


def sign(field: StructField, options: list[str]) -> str:
    """What JSON does with the field when it is empty, as numbers.py says it. Go never finds a struct empty."""
    if field.kind in {INTERFACE, POINTER}:
        return "*" if "omitempty" in options else "^"
    is_left_out = "omitzero" in options or ("omitempty" in options and field.kind != STRUCT)
    return "?" if is_left_out else ""


def line(fields: list[StructField]) -> str:
    """What the table says of a type."""
    written, last = [], 0
    for number, word in sorted(words(fields)):
        written.append(word if number == last + 1 else f"{number}:{word}")
        last = number
    return " ".join(written)


def table(structs: dict[str, list[StructField]]) -> dict[str, str]:
    """The line of each type that is wanted, and of those inlined in them."""
    wanted = [name for name in catalog.definitions() if not NOT_WANTED.match(name)]
    found: dict[str, str] = {}
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = BY_HAND.get(name) or line(structs[go_name(name)])
            package = name.rpartition(".")[0]
            wanted += [f"{package}.{inlined}" for inlined in re.findall(r"<(\w+)", found[name])]
    return found


def main(programs: list[Path]) -> None:
    """Write the table."""
    structs: dict[str, list[StructField]] = {}
    for program in programs:
        structs |= dict(Program(program).structs())
    found = table(structs)
    with TARGET.open("w") as file:
        file.write(HEADING)
        for package, names in groupby(sorted(found), key=lambda name: name.rpartition(".")[0]):
            file.write(f"\n[{package}]\n")
            file.writelines(f"{name.rpartition('.')[2]} = {found[name]}".rstrip() + "\n" for name in names)


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
