"""Containers: the ordinary ones, those that run before them, and those added for debugging.

Names are unique over all three; host ports are unique over the ordinary ones and the init containers that keep running.
"""

from __future__ import annotations

from typing import Any

from probate.machinery import names
from probate.machinery.problems import Path, duplicate, forbidden, invalid, not_found, required
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_name,
    check_optional_name,
    check_port,
    check_unique,
    child,
    each,
    items,
    objects,
    text,
)
from probate.machinery.validation.pods import environment, mounts, probes, resources, security

PROTOCOLS = ("TCP", "UDP", "SCTP")

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_ORDINARY_ONLY = ("lifecycle", *probes.PROBES)
_NOT_EPHEMERAL = ("ports", "resources", *_ORDINARY_ONLY)


def check_containers(spec: Value, path: Path, volumes: dict[str, Value]) -> Problems:
    """All containers of a Pod."""
    if not items(spec, "containers"):
        yield required(path / "containers")
    seen: set[Any] = set()
    for container, at in each(spec, path, "containers"):
        yield from check_name(container, at, "name", names.dns_label)
        yield from check_unique(container, at, "name", seen)
        yield from _check_container(container, at, volumes)
        yield from probes.check_probes(container, at)
        yield from probes.check_lifecycle(container, at)
    yield from _check_init_containers(spec, path, volumes, seen)
    yield from _check_ephemeral_containers(spec, path, volumes, seen)
    yield from _check_host_ports(spec, path)


def _check_init_containers(spec: Value, path: Path, volumes: dict[str, Value], seen: set[Any]) -> Problems:
    for container, at in each(spec, path, "initContainers"):
        yield from check_name(container, at, "name", names.dns_label)
        yield from check_unique(container, at, "name", seen)
        yield from _check_container(container, at, volumes)
        if text(container, "restartPolicy") == "Always":
            yield from probes.check_probes(container, at)
            yield from probes.check_lifecycle(container, at)
        else:
            detail = "may not be set for init containers without restartPolicy=Always"
            yield from (forbidden(at / field, detail) for field in _ORDINARY_ONLY if container.get(field) is not None)


def _check_ephemeral_containers(spec: Value, path: Path, volumes: dict[str, Value], seen: set[Any]) -> Problems:
    targets = {text(container, "name") for container in objects(spec, "containers")}
    for container, at in each(spec, path, "ephemeralContainers"):
        yield from check_name(container, at, "name", names.dns_label)
        yield from check_unique(container, at, "name", seen)
        yield from _check_container(container, at, volumes)
        given = [field for field in _NOT_EPHEMERAL if container.get(field)]
        yield from (forbidden(at / field, "cannot be set for an Ephemeral Container") for field in given)
        target = text(container, "targetContainerName")
        if target and target not in targets:
            yield not_found(at / "targetContainerName", target)


def _check_container(container: Value, path: Path, volumes: dict[str, Value]) -> Problems:
    yield from _check_image(container, path)
    yield from check_choice(container, path, "imagePullPolicy", _PULL_POLICIES)
    yield from check_choice(container, path, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    yield from check_choice(container, path, "restartPolicy", _RESTART_POLICIES)
    yield from _check_ports(container, path)
    yield from environment.check_env(container, path)
    yield from environment.check_env_from(container, path)
    yield from mounts.check_mounts(container, path, volumes)
    yield from mounts.check_devices(container, path, volumes)
    yield from resources.check_requirements(child(container, "resources"), path / "resources")
    yield from security.check_container_context(container, path / "securityContext")


def _check_image(container: Value, path: Path) -> Problems:
    image = text(container, "image")
    yield from check_given(container, path, "image")
    if image != image.strip():
        yield invalid(path / "image", image, "must not have leading or trailing whitespace")


def _check_ports(container: Value, path: Path) -> Problems:
    seen: set[Any] = set()
    for port, at in each(container, path, "ports"):
        yield from check_optional_name(port, at, "name", names.port_name)
        yield from check_unique(port, at, "name", seen)
        if not port.get("containerPort"):
            yield required(at / "containerPort")
        else:
            yield from check_port(port["containerPort"], at / "containerPort")
        if port.get("hostPort"):
            yield from check_port(port["hostPort"], at / "hostPort")
        yield from check_choice(port, at, "protocol", PROTOCOLS)


def _check_host_ports(spec: Value, path: Path) -> Problems:
    seen: set[str] = set()
    for container, at in (*each(spec, path, "containers"), *_sidecars(spec, path)):
        for port, place in each(container, at, "ports"):
            if not port.get("hostPort"):
                continue
            key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{port['hostPort']}"
            if key in seen:
                yield duplicate(place / "hostPort", key)
            seen.add(key)
            if spec.get("hostNetwork") and port["hostPort"] != port.get("containerPort"):
                yield invalid(place / "hostPort", port["hostPort"], "must match `containerPort` when `hostNetwork` is true")


def _sidecars(spec: Value, path: Path) -> list[tuple[Value, Path]]:
    return [one for one in each(spec, path, "initContainers") if text(one[0], "restartPolicy") == "Always"]
