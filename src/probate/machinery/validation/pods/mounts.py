"""Where volumes appear inside a container: as directories (`volumeMounts`) and as block devices (`volumeDevices`)."""

from __future__ import annotations

from typing import Any

from probate.machinery.problems import Path, forbidden, invalid, not_found, required
from probate.machinery.validation.fields import Problems, Value, check_choice, child, each, objects, text

_PROPAGATIONS = ("None", "HostToContainer", "Bidirectional")


def check_mounts(container: Value, path: Path, volumes: dict[str, Value]) -> Problems:
    """Each mount names a volume and a path of its own."""
    seen: set[Any] = {text(device, "devicePath") for device in objects(container, "volumeDevices")}
    for mount, at in each(container, path, "volumeMounts"):
        yield from _check_volume(mount, at, volumes)
        mount_path = text(mount, "mountPath")
        if not mount_path:
            yield required(at / "mountPath")
        elif mount_path in seen:
            yield invalid(at / "mountPath", mount_path, "must be unique")
        seen.add(mount_path)
        # Kubernetes reports these three of the list, not of the mount.
        yield from _check_sub_paths(mount, path / "volumeMounts", at)
        yield from _check_propagation(mount, path / "volumeMounts", container)


def check_no_sub_paths(container: Value, path: Path) -> Problems:
    """Ephemeral containers mount whole volumes: a part of one would outlive them."""
    for mount, at in each(container, path, "volumeMounts"):
        for field in ("subPath", "subPathExpr"):
            if text(mount, field):
                yield forbidden(at / field, "cannot be set for an Ephemeral Container")


def check_devices(container: Value, path: Path, volumes: dict[str, Value]) -> Problems:
    """Each device names a claim and a path of its own."""
    seen: set[str] = set()
    for device, at in each(container, path, "volumeDevices"):
        yield from _check_volume(device, at, volumes)
        volume = volumes.get(text(device, "name"))
        if volume is not None and not volume.get("persistentVolumeClaim") and not volume.get("ephemeral"):
            yield invalid(
                at / "name", text(device, "name"), "only a PersistentVolumeClaim or an ephemeral volume can be a block device"
            )
        device_path = text(device, "devicePath")
        if not device_path:
            yield required(at / "devicePath")
        elif device_path in seen:
            yield invalid(at / "devicePath", device_path, "must be unique")
        yield from check_backsteps(device_path, at / "devicePath")
        seen.add(device_path)


def check_local_path(value: str, path: Path) -> Problems:
    """A path below some directory: relative, and never upwards."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from check_backsteps(value, path)


def check_backsteps(value: str, path: Path) -> Problems:
    """A path that never goes upwards."""
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def _check_volume(mount: Value, path: Path, volumes: dict[str, Value]) -> Problems:
    name = text(mount, "name")
    if not name:
        yield required(path / "name")
    if name not in volumes:
        yield not_found(path / "name", name)


def _check_sub_paths(mount: Value, path: Path, at: Path) -> Problems:
    yield from check_local_path(text(mount, "subPath"), path / "subPath")
    if text(mount, "subPathExpr"):
        if text(mount, "subPath"):
            yield invalid(at / "subPathExpr", text(mount, "subPathExpr"), "subPathExpr and subPath are mutually exclusive")
        yield from check_local_path(text(mount, "subPathExpr"), path / "subPathExpr")


def _check_propagation(mount: Value, path: Path, container: Value) -> Problems:
    yield from check_choice(mount, path, "mountPropagation", _PROPAGATIONS)
    is_privileged = child(container, "securityContext").get("privileged")
    if text(mount, "mountPropagation") == "Bidirectional" and not is_privileged:
        yield forbidden(path / "mountPropagation", "Bidirectional mount propagation is available only to privileged containers")
