"""Validates what only one operating system supports: Windows options, and fields that conflict with a Pod's `os`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, each, objects, text

_LISTS = ("containers", "initContainers", "ephemeralContainers")
_MAX_CREDENTIALS = 64 * 1024
_MAX_DOMAIN = 255
_MAX_USER = 104
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DOMAIN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*")
_NOT_IN_USER = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_LINUX_POD = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_LINUX_CONTEXT = ("appArmorProfile", "seLinuxOptions", "seccompProfile", "runAsUser", "runAsGroup")
_LINUX_POD_CONTEXT = (
    *_LINUX_CONTEXT,
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_LINUX_CONTAINER_CONTEXT = (
    *_LINUX_CONTEXT,
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
)


def check_windows_options(context: Value, path: FieldPath) -> Problems:
    """Validates the `windowsOptions` of a security context."""
    options, at = child(context, "windowsOptions"), path / "windowsOptions"
    if options.get("gmsaCredentialSpecName") is not None:
        yield from check_rule(options["gmsaCredentialSpecName"], at / "gmsaCredentialSpecName", names.validate_dns_subdomain)
    credentials = options.get("gmsaCredentialSpec")
    if credentials is not None and not 0 < len(credentials.encode(errors="replace")) <= _MAX_CREDENTIALS:
        yield invalid(at / "gmsaCredentialSpec", "", "must not be empty, nor have more than 64 KiB")
    if options.get("runAsUserName") is not None:
        yield from check_rule(options["runAsUserName"], at / "runAsUserName", _user_name)


def check_system(spec: Value, path: FieldPath) -> Problems:
    """Validates that a Pod with `os` has no field that only another operating system supports."""
    name = text(child(spec, "os"), "name")
    if not name:
        yield required(path / "os" / "name", "cannot be empty")
    elif name == "linux":
        for context, at in _contexts(spec, path):
            if context.get("windowsOptions") is not None:
                yield forbidden(at / "windowsOptions", "windows options cannot be set for a linux pod")
    elif name == "windows":
        yield from _check_windows(spec, path)
    else:
        yield not_supported(path / "os", name, ["linux", "windows"])


def check_host_processes(spec: Value, path: FieldPath) -> Problems:
    """Validates HostProcess containers: all containers of a Pod or none, and with the host network."""
    if not any("windowsOptions" in child(one, "securityContext") for one in (spec, *_all(spec))):
        return
    whole = _is_host_process(child(spec, "securityContext"))
    number = count = 0
    for container, at in _containers(spec, path):
        own = _is_host_process(child(container, "securityContext"))
        number += 1
        count += bool(whole if own is None else own)
        if own is not None and whole is not None and own != whole:
            place = at / "securityContext" / "windowsOptions" / "hostProcess"
            yield invalid(place, own, f"pod hostProcess value must be identical if both are specified, was {whole}")
    if 0 < count < number:
        yield invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
    if count and not spec.get("hostNetwork"):
        yield invalid(path / "hostNetwork", False, "hostNetwork must be true if pod contains any hostProcess containers")


def _check_windows(spec: Value, path: FieldPath) -> Problems:
    for field in _LINUX_POD:
        if spec.get(field) if field in {"hostPID", "hostIPC"} else spec.get(field) is not None:
            yield forbidden(path / field, "cannot be set for a windows pod")
    for context, at in _contexts(spec, path):
        fields = _LINUX_POD_CONTEXT if at == path / "securityContext" else _LINUX_CONTAINER_CONTEXT
        given = [field for field in fields if context.get(field) not in (None, [])]
        yield from (forbidden(at / field, "cannot be set for a windows pod") for field in given)


def _containers(spec: Value, path: FieldPath) -> Iterator[tuple[Value, FieldPath]]:
    for name in _LISTS:
        yield from each(spec, path, name)


def _all(spec: Value) -> Iterator[Value]:
    for name in _LISTS:
        yield from objects(spec, name)


def _contexts(spec: Value, path: FieldPath) -> Iterator[tuple[Value, FieldPath]]:
    """Yields all security contexts: the Pod's and those of its containers."""
    yield child(spec, "securityContext"), path / "securityContext"
    for container, at in _containers(spec, path):
        yield child(container, "securityContext"), at / "securityContext"


def _is_host_process(context: Value) -> bool | None:
    return child(context, "windowsOptions").get("hostProcess")


def _user_name(value: str) -> list[str]:
    """Returns the problems of a Windows user name, with an optional domain and backslash before it."""
    domain, backslash, user = value.rpartition("\\")
    if not value or _CONTROL.search(value) or "\\" in domain:
        return ["must be a user name without control characters, optionally after a domain and one backslash"]
    found = []
    if backslash and (len(domain) > _MAX_DOMAIN or not (_NET_BIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain))):
        found.append("the domain must be a NetBIOS name or a DNS name, of fewer than 256 characters")
    if not 0 < len(user) <= _MAX_USER or not user.strip(". "):
        found.append(f"the user must have up to {_MAX_USER} characters, and others than periods and spaces")
    if _NOT_IN_USER.search(user):
        found.append('the user must not contain any of "/\\:;|=,+*?<>@[]')
    return found
