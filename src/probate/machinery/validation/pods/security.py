"""Who a container runs as and what it may do: securityContext of Pods and containers."""

from __future__ import annotations

import re
from typing import Any

from probate.machinery.problems import Path, duplicate, forbidden, invalid, required
from probate.machinery.validation.fields import MAX_INT32, Problems, Value, check_between, check_choice, child, each, items, text
from probate.machinery.validation.pods.mounts import check_local_path

_SYSCTL = re.compile(r"[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def check_container_context(container: Value, path: Path) -> Problems:
    """The securityContext of one container."""
    context = child(container, "securityContext")
    yield from _check_identity(context, path)
    yield from _check_profiles(context, path)
    yield from check_choice(context, path, "procMount", ("Default", "Unmasked"))
    if context.get("allowPrivilegeEscalation") is False:
        yield from _check_no_escalation(context, path)


def check_pod_context(spec: Value, path: Path) -> Problems:
    """The securityContext of a whole Pod, and the host's namespaces it shares."""
    context = child(spec, "securityContext")
    yield from _check_identity(context, path)
    yield from _check_profiles(context, path)
    yield from check_between(context, path, "fsGroup", 0, MAX_INT32)
    for index, group in enumerate(items(context, "supplementalGroups")):
        if not 0 <= (group or 0) <= MAX_INT32:
            yield invalid(path / "supplementalGroups" / index, group, f"must be between 0 and {MAX_INT32}, inclusive")
    yield from check_choice(context, path, "fsGroupChangePolicy", ("OnRootMismatch", "Always"))
    yield from check_choice(context, path, "supplementalGroupsPolicy", ("Merge", "Strict"))
    yield from check_choice(context, path, "seLinuxChangePolicy", ("MountOption", "Recursive"))
    yield from _check_sysctls(context, path)
    yield from _check_namespaces(spec, path)


def check_host_users(spec: Value, path: Path) -> Problems:
    """Users of its own do not go with the host's namespaces. Two of the fields are spelt as Kubernetes reports them."""
    if spec.get("hostUsers") is False:
        for field, reported in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                yield forbidden(path / reported, "when `pod.Spec.HostUsers` is false")


def _check_identity(context: Value, path: Path) -> Problems:
    for field in ("runAsUser", "runAsGroup"):
        yield from check_between(context, path, field, 0, MAX_INT32)


def _check_profiles(context: Value, path: Path) -> Problems:
    for name in ("seccompProfile", "appArmorProfile"):
        profile, at = context.get(name), path / name
        if profile is None:
            continue
        yield from check_choice(profile, at, "type", _PROFILES, is_required=True)
        local = text(profile, "localhostProfile")
        if text(profile, "type") == "Localhost" and not local:
            yield required(at / "localhostProfile", "must be set when type is Localhost")
        elif text(profile, "type") != "Localhost" and local:
            yield invalid(at / "localhostProfile", local, "can only be set when type is Localhost")
        elif name == "seccompProfile":
            yield from check_local_path(local, at / "localhostProfile")


def _check_no_escalation(context: Value, path: Path) -> Problems:
    if context.get("privileged"):
        yield invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    if "CAP_SYS_ADMIN" in items(child(context, "capabilities"), "add"):
        yield invalid(path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")


def _check_sysctls(context: Value, path: Path) -> Problems:
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


def _check_namespaces(spec: Value, path: Path) -> Problems:
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield invalid(path / "shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled")
