"""Validates where a container mounts volumes: as directories (`volumeMounts`) and as block devices (`volumeDevices`)."""

from __future__ import annotations

from typing import Any

from probate.api.field_errors import FieldPath, forbidden, invalid, not_found, not_supported, required
from probate.kinds.core.volumes.paths import check_backsteps, check_local_path
from probate.kinds.shared.field_checks import Problems, Value, check_choice, child, each, objects, text

_RECURSIVE = ("Disabled", "IfPossible", "Enabled")
_PROPAGATIONS = ("None", "HostToContainer", "Bidirectional")


def check_mounts(container: Value, path: FieldPath, volumes: dict[str, Value]) -> Problems:
    """Validates that each mount names an existing volume and a unique path."""
    devices = {text(device, "name"): text(device, "devicePath") for device in objects(container, "volumeDevices")}
    seen: set[Any] = set(devices.values())
    for mount, at in each(container, path, "volumeMounts"):
        yield from _check_volume(mount, at, volumes)
        if text(mount, "name") in devices:
            yield invalid(at / "name", text(mount, "name"), "must not already exist in volumeDevices")
        mount_path = text(mount, "mountPath")
        if not mount_path:
            yield required(at / "mountPath")
        elif mount_path in seen:
            yield invalid(at / "mountPath", mount_path, "must be unique")
        seen.add(mount_path)
        # Kubernetes reports these with the path of the list, not of the mount.
        yield from _check_sub_paths(mount, path / "volumeMounts", at)
        yield from _check_propagation(mount, path / "volumeMounts", container)
        if mount.get("recursiveReadOnly") is not None:
            yield from _check_recursive(mount, path / "volumeMounts" / "recursiveReadOnly")


def check_no_sub_paths(container: Value, path: FieldPath) -> Problems:
    """Validates that ephemeral containers mount whole volumes, without `subPath`."""
    for mount, at in each(container, path, "volumeMounts"):
        for field in ("subPath", "subPathExpr"):
            if text(mount, field):
                yield forbidden(at / field, "cannot be set for an Ephemeral Container")


def check_devices(container: Value, path: FieldPath, volumes: dict[str, Value]) -> Problems:
    """Validates that each device names an existing claim and a unique path."""
    mounts = {text(mount, "name"): text(mount, "mountPath") for mount in objects(container, "volumeMounts")}
    paths = set(mounts.values())
    seen: set[str] = set()
    for device, at in each(container, path, "volumeDevices"):
        yield from _check_volume(device, at, volumes)
        name = text(device, "name")
        if name and (name in seen or name in mounts):
            yield invalid(at / "name", name, "must be unique, and must not exist in volumeMounts")
        seen.add(name)
        volume = volumes.get(name)
        if volume is not None and volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            yield invalid(at / "name", name, "only a PersistentVolumeClaim or an ephemeral volume can be a block device")
        yield from _check_device_path(text(device, "devicePath"), at / "devicePath", paths)


def _check_device_path(value: str, path: FieldPath, seen: set[str]) -> Problems:
    if not value:
        yield required(path)
    elif value in seen:
        yield invalid(path, value, "must be unique")
    yield from check_backsteps(value, path)
    seen.add(value)


def _check_volume(mount: Value, path: FieldPath, volumes: dict[str, Value]) -> Problems:
    name = text(mount, "name")
    if not name:
        yield required(path / "name")
    if name not in volumes:
        yield not_found(path / "name", name)


def _check_sub_paths(mount: Value, path: FieldPath, at: FieldPath) -> Problems:
    yield from check_local_path(text(mount, "subPath"), path / "subPath")
    if text(mount, "subPathExpr"):
        if text(mount, "subPath"):
            yield invalid(at / "subPathExpr", text(mount, "subPathExpr"), "subPathExpr and subPath are mutually exclusive")
        yield from check_local_path(text(mount, "subPathExpr"), path / "subPathExpr")


def _check_propagation(mount: Value, path: FieldPath, container: Value) -> Problems:
    yield from check_choice(mount, path, "mountPropagation", supported=_PROPAGATIONS)
    is_privileged = child(container, "securityContext").get("privileged")
    if text(mount, "mountPropagation") == "Bidirectional" and not is_privileged:
        yield forbidden(path / "mountPropagation", "Bidirectional mount propagation is available only to privileged containers")


def _check_recursive(mount: Value, path: FieldPath) -> Problems:
    mode = mount["recursiveReadOnly"]
    if mode == "Disabled":
        return
    if mode not in _RECURSIVE:
        yield not_supported(path, mode, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        yield forbidden(path, "may only be specified when mountPropagation is None or not specified")
