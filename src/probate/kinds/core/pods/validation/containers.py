"""Validates containers, init containers and ephemeral containers.

Names are unique across all three lists; host ports are unique across containers and the init containers that keep running
(sidecars).
"""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, not_found, required
from probate.kinds.core.pods import environment_validation
from probate.kinds.core.pods.validation import container_resources, probes, restart_rules, security_context
from probate.kinds.core.pods.volumes import mounts
from probate.kinds.shared.field_checks import (
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

PROTOCOLS = ("TCP", "UDP", "SCTP")

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_ORDINARY_ONLY = ("lifecycle", *probes.PROBES)
_NOT_EPHEMERAL = ("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", *_ORDINARY_ONLY)


def check_containers(spec: Value, path: FieldPath, volumes: dict[str, Value]) -> Problems:
    """Validates all containers of a Pod."""
    if not items(spec, "containers"):
        yield required(path / "containers")
    seen: set[Any] = set()
    for container, at in each(spec, path, "containers"):
        yield from check_name(container, at, "name", rule=names.validate_dns_label)
        yield from check_unique(container, at, "name", seen=seen)
        yield from _check_container(container, at, volumes, spec=spec)
        yield from probes.check_probes(container, at)
        yield from probes.check_lifecycle(container, at, spec.get("terminationGracePeriodSeconds"))
    yield from _check_init_containers(spec, path, volumes, seen=seen)
    yield from _check_ephemeral_containers(spec, path, volumes, seen=seen)
    yield from _check_resources(spec, path)
    yield from _check_host_ports(spec, path)


def check_image_spaces(spec: Value, path: FieldPath) -> Problems:
    """Validates that images of a Pod have no surrounding spaces. Templates may have them, since something may fill them in."""
    for container, at in (*each(spec, path, "containers"), *each(spec, path, "initContainers")):
        yield from _check_image_spaces(container, at)


def _check_image_spaces(container: Value, path: FieldPath) -> Problems:
    image = text(container, "image")
    if image != image.strip():
        yield invalid(path / "image", image, "must not have leading or trailing whitespace")


def _check_init_containers(spec: Value, path: FieldPath, volumes: dict[str, Value], *, seen: set[Any]) -> Problems:
    for container, at in each(spec, path, "initContainers"):
        yield from check_name(container, at, "name", rule=names.validate_dns_label)
        yield from check_unique(container, at, "name", seen=seen)
        yield from _check_container(container, at, volumes, spec=spec)
        if text(container, "restartPolicy") == "Always":
            yield from probes.check_probes(container, at)
            yield from probes.check_lifecycle(container, at, spec.get("terminationGracePeriodSeconds"))
        else:
            detail = "may not be set for init containers without restartPolicy=Always"
            yield from (forbidden(at / field, detail) for field in _ORDINARY_ONLY if container.get(field) is not None)


def _check_ephemeral_containers(spec: Value, path: FieldPath, volumes: dict[str, Value], *, seen: set[Any]) -> Problems:
    targets = {text(one, "name") for one in (*objects(spec, "containers"), *objects(spec, "initContainers"))}
    for container, at in each(spec, path, "ephemeralContainers"):
        yield from check_name(container, at, "name", rule=names.validate_dns_label)
        yield from check_unique(container, at, "name", seen=seen)
        yield from _check_container(container, at, volumes, spec=spec)
        yield from _check_image_spaces(container, at)
        given = [field for field in _NOT_EPHEMERAL if container.get(field)]
        yield from (forbidden(at / field, "cannot be set for an Ephemeral Container") for field in given)
        yield from mounts.check_no_sub_paths(container, at)
        target = text(container, "targetContainerName")
        if target and target not in targets:
            yield not_found(at / "targetContainerName", target)


def _check_container(container: Value, path: FieldPath, volumes: dict[str, Value], *, spec: Value) -> Problems:
    yield from check_given(container, path, "image")
    yield from check_choice(container, path, "imagePullPolicy", supported=_PULL_POLICIES)
    yield from check_choice(container, path, "terminationMessagePolicy", supported=("File", "FallbackToLogsOnError"))
    if container.get("restartPolicy") or container.get("restartPolicyRules"):
        yield from restart_rules.check_restarts(container, path)
    if container.get("resizePolicy"):
        yield from restart_rules.check_resizes(container, path, text(spec, "restartPolicy"))
    yield from _check_ports(container, path)
    yield from environment_validation.check_env(container, path)
    yield from environment_validation.check_env_from(container, path)
    if container.get("volumeMounts"):
        yield from mounts.check_mounts(container, path, volumes)
    if container.get("volumeDevices"):
        yield from mounts.check_devices(container, path, volumes)
    if container.get("securityContext"):
        yield from security_context.check_container_context(container, path / "securityContext", spec)


def _check_resources(spec: Value, path: FieldPath) -> Problems:
    claims = {text(claim, "name") for claim in objects(spec, "resourceClaims")}
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container, at in each(spec, path, name):
            yield from container_resources.check_requirements(child(container, "resources"), at / "resources", claims)


def _check_ports(container: Value, path: FieldPath) -> Problems:
    seen: set[Any] = set()
    for port, at in each(container, path, "ports"):
        yield from check_optional_name(port, at, "name", rule=names.validate_port_name)
        yield from check_unique(port, at, "name", seen=seen)
        if not port.get("containerPort"):
            yield required(at / "containerPort")
        else:
            yield from check_port(port["containerPort"], at / "containerPort")
        if port.get("hostPort"):
            yield from check_port(port["hostPort"], at / "hostPort")
        yield from check_choice(port, at, "protocol", supported=PROTOCOLS)


def _check_host_ports(spec: Value, path: FieldPath) -> Problems:
    yield from _check_conflicts(list(each(spec, path, "containers")))
    for container in objects(spec, "initContainers"):
        # These run one by one, so each is checked alone, with the path of the first.
        yield from _check_conflicts([(container, path / "initContainers" / 0)])
    if spec.get("hostNetwork"):
        for container, at in each(spec, path, "containers"):
            yield from _check_same_ports(container, at)


def _check_conflicts(containers: list[tuple[Value, FieldPath]]) -> Problems:
    seen: set[str] = set()
    for container, path in containers:
        for port, at in each(container, path, "ports"):
            key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{port.get('hostPort')}"
            if port.get("hostPort") and key in seen:
                yield duplicate(at / "hostPort", key)
            seen.add(key)


def _check_same_ports(container: Value, path: FieldPath) -> Problems:
    for port, at in each(container, path, "ports"):
        if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
            yield invalid(at / "hostPort", port["hostPort"], "must match `containerPort` when `hostNetwork` is true")
