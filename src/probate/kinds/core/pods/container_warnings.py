"""Containers of a pod: variables that hide others, ports that overlap, sizes that are no bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from probate.api.field_errors import Path
from probate.kinds.shared import byte_size_warnings
from probate.kinds.shared.field_checks import Value, each

MEMORY = ("memory", "ephemeral-storage")
LISTS = ("initContainers", "containers", "ephemeralContainers")


def are_plain(spec: Value) -> bool:
    """Whether there is nothing to say about the containers, as most often: seen without spelling where everything stands."""
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


def of_containers(spec: Value, path: Path) -> Iterator[str]:
    """About all containers of a pod's spec."""
    ports = _Ports()
    for list_ in LISTS:
        for container, at in each(spec, path, list_) if list_ in spec else ():
            yield from _of_container(container, at)
            for port, place in each(container, at, "ports") if "ports" in container else ():
                yield from ports.add(port, place)


def _of_container(container: Value, at: Path) -> Iterator[str]:
    resources = container.get("resources")
    if resources:
        yield from byte_size_warnings.of_sizes(resources.get("limits"), at / "resources" / "limits", *MEMORY)
        yield from byte_size_warnings.of_sizes(resources.get("requests"), at / "resources" / "requests", *MEMORY)
    variables = container.get("env")
    if variables and len(variables) > 1:
        yield from _of_variables(variables, at / "env")


def _of_variables(variables: Iterable[Value], path: Path) -> Iterator[str]:
    """A name that comes again is fine if its new value has the old one in it."""
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        before = f"$({name})"
        if name in seen and (variable.get("valueFrom") or value == before or before not in value):
            yield f'{path / index}: hides previous definition of "{name}", which apply may drop'
        seen.add(name)


class _Port(NamedTuple):
    """What two ports have in common that can be in each other's way."""

    number: int
    protocol: str
    host_port: int
    host_ip: str

    @property
    def door(self) -> tuple[int, str]:
        return self.number, self.protocol


class _Ports:
    """The ports of a pod so far, found by what others would overlap with: however many there are, each is looked at once."""

    def __init__(self) -> None:
        self._same: dict[_Port, Path] = {}
        self._first: dict[tuple[int, str], Path] = {}
        self._inner: dict[tuple[int, str], Path] = {}  # those without a port of the host
        self._hosts: dict[tuple[tuple[int, str], int, bool], Path] = {}

    def add(self, given: Value, path: Path) -> Iterator[str]:
        """About one more port, and the first one that it overlaps with."""
        port = _Port(
            given.get("containerPort") or 0, given.get("protocol") or "TCP", given.get("hostPort") or 0, given.get("hostIP") or ""
        )
        if port.host_ip and not port.host_port:
            yield f"{path}: hostIP set without hostPort: {port.host_ip} has no effect"
        other = self._other(port)
        if other:
            yield f"{path}: {other}"
        self._note(port, path)

    def _other(self, port: _Port) -> str:
        if port in self._same:
            return f"duplicate port definition with {self._same[port]}"
        overlapping = self._inner.get(port.door) if port.host_port else self._first.get(port.door)
        if overlapping is not None:
            return f"overlapping port definition with {overlapping}"
        ambiguous = self._hosts.get((port.door, port.host_port, not port.host_ip))
        return f"dangerously ambiguous port definition with {ambiguous}" if ambiguous else ""

    def _note(self, port: _Port, path: Path) -> None:
        self._same.setdefault(port, path)
        self._first.setdefault(port.door, path)
        if port.host_port:
            self._hosts.setdefault((port.door, port.host_port, bool(port.host_ip)), path)
        else:
            self._inner.setdefault(port.door, path)
