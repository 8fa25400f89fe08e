"""Sets the defaults of containers, including init and ephemeral ones: images, ports, probes, hooks, environment."""

from __future__ import annotations

import re

from probate.api.objects import Object
from probate.kinds.shared import quantity_defaults
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero, items, text

_REPOSITORY = re.compile(r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def default_container(container: Object) -> None:
    """Sets the defaults of one container, of a pod or of a template."""
    fill_zero(
        container,
        imagePullPolicy=pull_policy(text(container, "image")),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    quantity_defaults.normalize_lists(ensure_child(container, "resources"), "limits", "requests")
    _default_ports(container)
    _default_environment(container)
    for name in _PROBES:
        _default_probe(child(container, name))
    for hook in ("postStart", "preStop"):
        default_http_get(below(container, "lifecycle", hook, "httpGet"))


def pull_policy(image: str) -> str:
    """Returns the default pull policy: Always for an image whose tag is `latest`, else IfNotPresent."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"


def tag(image: str) -> str:
    """Returns the image's tag: `latest` if it has neither tag nor digest, empty if it has only a digest or is not a valid name.

    registry:5000/i → latest    i:1 → 1    i@sha256:… → ""    i:1@sha256:… → 1
    """
    name, _, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    base, colon, given = last.partition(":")
    if not _REPOSITORY.fullmatch(head + slash + base):
        return ""
    return given if colon or digest else "latest"


def default_field_reference(source: Object) -> None:
    """Sets the defaults of a reference to a pod field, in an environment variable or a file."""
    if (field := child(source, "fieldRef")) is not None:
        fill_zero(field, apiVersion="v1")
    if (resource := child(source, "resourceFieldRef")) is not None:
        quantity_defaults.normalize(resource, "divisor")


def default_http_get(action: Object | None) -> None:
    """Sets the defaults of the HTTP request of a probe or a hook."""
    if action is not None:
        fill_zero(action, path="/", scheme="HTTP")


def _default_probe(probe: Object | None) -> None:
    if probe is None:
        return
    fill_zero(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
    default_http_get(child(probe, "httpGet"))
    if (grpc := child(probe, "grpc")) is not None:
        fill(grpc, service="")


def _default_ports(container: Object) -> None:
    for port in items(container, "ports"):
        fill_zero(port, protocol="TCP")


def _default_environment(container: Object) -> None:
    for variable in items(container, "env"):
        if (source := child(variable, "valueFrom")) is not None:
            default_field_reference(source)
