"""Validates probes and lifecycle hooks: each has exactly one handler."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_nonnegative,
    check_port,
    check_port_or_name,
    check_rule,
    child,
    each,
    items,
    text,
)

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def check_probes(container: Value, path: FieldPath) -> Problems:
    """Validates all probes of a container."""
    for name in PROBES:
        if container.get(name) is not None:
            yield from _check_probe(container[name], path / name)
            yield from _check_probe_kind(container[name], path / name, name)


def check_lifecycle(container: Value, path: FieldPath, grace: int | None) -> Problems:
    """Validates the hooks after start and before stop of a container. `grace` is the Pod's grace period in seconds."""
    lifecycle = child(container, "lifecycle")
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            yield from _check_handler(lifecycle[name], path / "lifecycle" / name)
            seconds = child(lifecycle[name], "sleep").get("seconds") or 0
            if grace is not None and seconds > grace:
                detail = f"must not be longer than terminationGracePeriodSeconds ({grace})"
                yield invalid(path / "lifecycle" / name / "sleep", seconds, detail)


def _check_probe(probe: Value, path: FieldPath) -> Problems:
    yield from _check_handler(probe, path)
    yield from check_nonnegative(probe, path, *_NUMBERS)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid(path / "terminationGracePeriodSeconds", grace, "must be greater than 0")


def _check_probe_kind(probe: Value, path: FieldPath, name: str) -> Problems:
    if name == "readinessProbe":
        if probe.get("terminationGracePeriodSeconds") is not None:
            field = path / "terminationGracePeriodSeconds"
            yield invalid(field, probe["terminationGracePeriodSeconds"], "must not be set for readinessProbes")
    elif (probe.get("successThreshold") or 1) != 1:
        yield invalid(path / "successThreshold", probe["successThreshold"], "must be 1")


def _check_handler(handler: Value, path: FieldPath) -> Problems:
    given = [name for name in _HANDLERS if handler.get(name) is not None]
    if not given:
        yield required(path, "must specify a handler type")
    yield from (forbidden(path / name, "may not specify more than 1 handler type") for name in given[1:])
    if given:
        yield from _check_handler_of(given[0], handler[given[0]], path / given[0])


def _check_handler_of(name: str, handler: Value, path: FieldPath) -> Problems:
    if name == "exec":
        if not items(handler, "command"):
            yield required(path / "command")
    elif name == "httpGet":
        yield from _check_http(handler, path)
    elif name == "tcpSocket":
        yield from check_port_or_name(handler.get("port") or 0, path / "port")
    elif name == "grpc":
        yield from check_port(handler.get("port") or 0, path / "port")
    elif (handler.get("seconds") or 0) < 0:
        yield invalid(path, handler["seconds"], "must be non-negative and not longer than terminationGracePeriodSeconds")


def _check_http(handler: Value, path: FieldPath) -> Problems:
    if handler.get("path") == "":
        yield from check_given(handler, path, "path")
    yield from check_port_or_name(handler.get("port") or 0, path / "port")
    yield from check_choice(handler, path, "scheme", supported=("HTTP", "HTTPS"))
    for header, _ in each(handler, path, "httpHeaders"):
        yield from check_rule(text(header, "name"), path / "httpHeaders", names.validate_http_header)
