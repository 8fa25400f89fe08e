"""Validates the securityContext of Pods and containers. (`operating_systems` validates what only Windows supports.)"""

from __future__ import annotations

import re
from typing import Any

from probate.api.field_errors import FieldPath, duplicate, forbidden, invalid, required, too_long
from probate.kinds.core.pods.validation import operating_systems
from probate.kinds.core.volumes.paths import check_local_path
from probate.kinds.shared.field_checks import MAX_INT32, Problems, Value, check_between, check_choice, child, each, items, text

_SYSCTL = re.compile(r"[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE = 4095
_SHARED = {  # the sysctls that belong to the host if the Pod shares this namespace with it
    "hostNetwork": ("net.",),
    "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem.", "fs.mqueue."),
}


def check_container_context(container: Value, path: FieldPath, spec: Value) -> Problems:
    """Validates the securityContext of one container of a Pod with this spec."""
    context = child(container, "securityContext")
    yield from _check_identity(context, path)
    yield from _check_profiles(context, path)
    if context.get("windowsOptions"):
        yield from operating_systems.check_windows_options(context, path)
    yield from check_choice(context, path, "procMount", supported=("Default", "Unmasked"))
    if text(context, "procMount") == "Unmasked" and spec.get("hostUsers") is not False:
        yield invalid(path / "procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _check_no_escalation(context, path)


def check_pod_context(spec: Value, path: FieldPath) -> Problems:
    """Validates the securityContext of a Pod, and the host namespaces that it shares."""
    context = child(spec, "securityContext")
    yield from _check_identity(context, path)
    yield from _check_profiles(context, path)
    yield from check_between(context, path, "fsGroup", low=0, high=MAX_INT32)
    for index, group in enumerate(items(context, "supplementalGroups")):
        if not 0 <= (group or 0) <= MAX_INT32:
            yield invalid(path / "supplementalGroups" / index, group, f"must be between 0 and {MAX_INT32}, inclusive")
    yield from check_choice(context, path, "fsGroupChangePolicy", supported=("OnRootMismatch", "Always"))
    yield from check_choice(context, path, "supplementalGroupsPolicy", supported=("Merge", "Strict"))
    yield from check_choice(context, path, "seLinuxChangePolicy", supported=("MountOption", "Recursive"))
    if context.get("windowsOptions"):
        yield from operating_systems.check_windows_options(context, path)
    yield from _check_sysctls(context, path, spec)
    yield from _check_namespaces(spec, path)


def check_host_users(spec: Value, path: FieldPath) -> Problems:
    """Validates that a Pod with its own user namespace shares no host namespaces.

    Two of the field paths have Kubernetes' own spelling.
    """
    if spec.get("hostUsers") is False:
        for field, reported in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                yield forbidden(path / reported, "when `pod.Spec.HostUsers` is false")


def _check_identity(context: Value, path: FieldPath) -> Problems:
    for field in ("runAsUser", "runAsGroup"):
        yield from check_between(context, path, field, low=0, high=MAX_INT32)


def _check_profiles(context: Value, path: FieldPath) -> Problems:
    for name, check in (("seccompProfile", _check_seccomp), ("appArmorProfile", _check_app_armor)):
        if context.get(name) is not None:
            yield from check_choice(context[name], path / name, "type", supported=_PROFILES, is_required=True)
            yield from check(context[name], path / name)


def _check_seccomp(profile: Value, path: FieldPath) -> Problems:
    kind, local = text(profile, "type"), profile.get("localhostProfile")
    if kind == "Localhost" and local is None:
        yield required(path / "localhostProfile", "must be set when seccomp type is Localhost")
    elif kind != "Localhost" and local is not None:
        yield invalid(path / "localhostProfile", local, "can only be set when seccomp type is Localhost")
    else:
        yield from check_local_path(local or "", path / "localhostProfile")


def _check_app_armor(profile: Value, path: FieldPath) -> Problems:
    kind, local, at = text(profile, "type"), text(profile, "localhostProfile"), path / "localhostProfile"
    if kind in _PROFILES[1:] and profile.get("localhostProfile") is not None:
        yield invalid(at, local, "can only be set when AppArmor type is Localhost")
    if kind != "Localhost":
        return
    if not local:
        yield required(at, "must be set when AppArmor type is Localhost")
    elif local != local.strip():
        yield invalid(at, local, "must not be padded with whitespace")
    if len(local.encode(errors="replace")) > _MAX_PROFILE:
        yield too_long(at, _MAX_PROFILE)


def _check_no_escalation(context: Value, path: FieldPath) -> Problems:
    if context.get("privileged"):
        yield invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    if "CAP_SYS_ADMIN" in items(child(context, "capabilities"), "add"):
        yield invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")


def _check_sysctls(context: Value, path: FieldPath, spec: Value) -> Problems:
    seen: set[Any] = set()
    for sysctl, at in each(context, path, "sysctls"):
        name = text(sysctl, "name")
        if not name:
            yield required(at / "name")
        elif len(name) > 253 or _SYSCTL.fullmatch(name) is None:
            yield invalid(at / "name", name, "must have at most 253 characters and be names joined by '.' or '/'")
        elif name in seen:
            yield duplicate(at / "name", name)
        seen.add(name)
        dotted = name.replace("/", ".")
        for field, prefixes in _SHARED.items():
            if spec.get(field) and (dotted + ".").startswith(prefixes):
                yield invalid(at / "name", name, f"may not be specified when '{field}' is true")


def _check_namespaces(spec: Value, path: FieldPath) -> Problems:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield invalid(path / "shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled")
