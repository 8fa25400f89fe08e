"""Warns about the containers of a pod: duplicate variables, overlapping ports, amounts that are not whole bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probate.api.field_errors import FieldPath
from probate.kinds.shared import byte_size_warnings
from probate.kinds.shared.field_checks import Value, each

MEMORY = ("memory", "ephemeral-storage")
LISTS = ("initContainers", "containers", "ephemeralContainers")


def cannot_warn(spec: Value) -> bool:
    """Fast path: reports whether the containers cannot have any warning, without building field paths. This is the usual case."""
    ports = 0
    for list_ in LISTS:
        for container in spec.get(list_) or ():
            resources, variables, opened = container.get("resources"), container.get("env"), container.get("ports") or ()
            ports += len(opened)
            if ports > 1 or (opened and opened[0].get("hostIP")):
                return False
            if variables and len({one.get("name") for one in variables}) < len(variables):
                return False
            if resources and any(map(byte_size_warnings.may_be_fractional, (resources.get("limits"), resources.get("requests")))):
                return False
    return True


def of_containers(spec: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about all containers of a pod spec."""
    ports = _Ports()
    for list_ in LISTS:
        for container, at in each(spec, path, list_) if list_ in spec else ():
            yield from _of_container(container, at)
            for port, place in each(container, at, "ports") if "ports" in container else ():
                yield from ports.add(port, place)


def _of_container(container: Value, at: FieldPath) -> Iterator[str]:
    resources = container.get("resources")
    if resources:
        yield from byte_size_warnings.of_sizes(resources.get("limits"), at / "resources" / "limits", *MEMORY)
        yield from byte_size_warnings.of_sizes(resources.get("requests"), at / "resources" / "requests", *MEMORY)
    variables = container.get("env")
    if variables and len(variables) > 1:
        yield from _of_variables(variables, at / "env")


def _of_variables(variables: Iterable[Value], path: FieldPath) -> Iterator[str]:
    """Yields the warnings about variables that are defined twice. A second definition is fine if its value refers to the first."""
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        before = f"$({name})"
        if name in seen and (variable.get("valueFrom") or value == before or before not in value):
            yield f'{path / index}: hides previous definition of "{name}", which apply may drop'
        seen.add(name)


class _Port(NamedTuple):
    """The properties by which two ports can overlap."""

    number: int
    protocol: str
    host_port: int
    host_ip: str

    @property
    def number_and_protocol(self) -> tuple[int, str]:
        return self.number, self.protocol


class _Ports:
    """The ports of a pod read so far, indexed by what they can overlap with.

    Each port is looked up once, however many there are.
    """

    def __init__(self) -> None:
        self._same: dict[_Port, FieldPath] = {}
        self._first: dict[tuple[int, str], FieldPath] = {}
        self._inner: dict[tuple[int, str], FieldPath] = {}  # ports without a host port
        self._hosts: dict[tuple[tuple[int, str], int, bool], FieldPath] = {}

    def add(self, given: Value, path: FieldPath) -> Iterator[str]:
        """Adds a port and yields a warning about the first port that it overlaps with."""
        port = _Port(
            given.get("containerPort") or 0, given.get("protocol") or "TCP", given.get("hostPort") or 0, given.get("hostIP") or ""
        )
        if port.host_ip and not port.host_port:
            yield f"{path}: hostIP set without hostPort: {port.host_ip} has no effect"
        other = self._overlap(port)
        if other:
            yield f"{path}: {other}"
        self._record(port, path)

    def _overlap(self, port: _Port) -> str:
        if port in self._same:
            return f"duplicate port definition with {self._same[port]}"
        overlapping = self._inner.get(port.number_and_protocol) if port.host_port else self._first.get(port.number_and_protocol)
        if overlapping is not None:
            return f"overlapping port definition with {overlapping}"
        ambiguous = self._hosts.get((port.number_and_protocol, port.host_port, not port.host_ip))
        return f"dangerously ambiguous port definition with {ambiguous}" if ambiguous else ""

    def _record(self, port: _Port, path: FieldPath) -> None:
        self._same.setdefault(port, path)
        self._first.setdefault(port.number_and_protocol, path)
        if port.host_port:
            self._hosts.setdefault((port.number_and_protocol, port.host_port, bool(port.host_ip)), path)
        else:
            self._inner.setdefault(port.number_and_protocol, path)
