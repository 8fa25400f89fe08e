"""Volumes of a Pod: names of their own, exactly one source, and what each source needs."""

from __future__ import annotations

from collections.abc import Callable

from probate.machinery import names
from probate.machinery.problems import MAX_PROBLEMS, Path, Problem, duplicate, forbidden, invalid, required
from probate.machinery.validation import quantities
from probate.machinery.validation.fields import (
    Problems,
    Value,
    check_between,
    check_choice,
    check_given,
    check_name,
    check_optional_name,
    child,
    each,
    text,
    without,
)
from probate.machinery.validation.pods.environment import VOLUME_FIELDS, check_field_ref, check_resource_ref
from probate.machinery.validation.pods.mounts import check_backsteps, check_local_path

_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
MAX_MODE = 0o777


def check_volumes(spec: Value, path: Path) -> tuple[list[Problem], dict[str, Value]]:
    """What is wrong with the volumes of a Pod, and the good ones by name: only they can be mounted."""
    found: list[Problem] = []
    good: dict[str, Value] = {}
    for volume, at in each(spec, path, "volumes"):
        problems = [*check_source(without(volume, "name"), at), *check_name(volume, at, "name", names.dns_label)]
        if text(volume, "name") in good:
            problems.append(duplicate(at / "name", text(volume, "name")))
        if not problems:
            good[text(volume, "name")] = volume
        found += problems
        if len(found) >= MAX_PROBLEMS:
            break
    return found, good


def check_source(source: Value, path: Path) -> Problems:
    """Exactly one source, complete in itself. (Those of PersistentVolumes are the same, for the most part.)"""
    given = [name for name, value in source.items() if value is not None]
    if not given:
        yield required(path, "must specify a volume type")
        return
    yield from (forbidden(path / name, "may not specify more than 1 volume type") for name in given[1:])
    check = _SOURCES.get(given[0])
    if check is not None:
        yield from check(source[given[0]], path / given[0])


def check_host_path(source: Value, path: Path) -> Problems:
    """A path of the node's file system."""
    yield from check_given(source, path, "path")
    yield from check_backsteps(text(source, "path"), path / "path")
    yield from check_choice(source, path, "type", _HOST_PATH_TYPES)


def check_nfs(source: Value, path: Path) -> Problems:
    """A directory of an NFS server."""
    yield from check_given(source, path, "server", "path")
    if text(source, "path") and not text(source, "path").startswith("/"):
        yield invalid(path / "path", text(source, "path"), "must be an absolute path")


def _check_empty_dir(source: Value, path: Path) -> Problems:
    if quantities.value_of(source.get("sizeLimit")) < 0:
        yield forbidden(path / "sizeLimit", "SizeLimit field must be a valid resource quantity")


def _check_secret(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "secretName")
    yield from _check_files(source, path)


def _check_config_map(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "name")
    yield from _check_files(source, path)


def _check_files(source: Value, path: Path) -> Problems:
    yield from check_between(source, path, "defaultMode", 0, MAX_MODE)
    for item, at in each(source, path, "items"):
        yield from check_given(item, at, "key")
        yield from _check_file_path(item, at)
        yield from check_between(item, at, "mode", 0, MAX_MODE)


def _check_file_path(item: Value, path: Path) -> Problems:
    yield from check_given(item, path, "path")
    yield from check_local_path(text(item, "path"), path / "path")


def _check_claim(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "claimName")


def _check_downward(source: Value, path: Path) -> Problems:
    yield from check_between(source, path, "defaultMode", 0, MAX_MODE)
    for item, at in each(source, path, "items"):
        yield from _check_file_path(item, at)
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            yield from check_field_ref(field, at / "fieldRef", VOLUME_FIELDS)
            if resource is not None:
                yield invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif resource is not None:
            yield from check_resource_ref(resource, at / "resourceFieldRef", is_volume=True)
        else:
            yield required(at / "fieldRef", "one of fieldRef and resourceFieldRef is required")
        yield from check_between(item, at, "mode", 0, MAX_MODE)


def _check_projected(source: Value, path: Path) -> Problems:
    yield from check_between(source, path, "defaultMode", 0, MAX_MODE)
    for projection, at in each(source, path, "sources"):
        given = [name for name in _PROJECTIONS if projection.get(name) is not None]
        if not given:
            yield required(at, "must specify a volume type")
        yield from (forbidden(at / name, "may not specify more than 1 volume type per source") for name in given[1:])
        if given:
            yield from _check_projection(given[0], projection[given[0]], at / given[0])


def _check_projection(name: str, projection: Value, path: Path) -> Problems:
    if name in {"secret", "configMap"}:
        yield from _check_config_map(projection, path)
    elif name == "downwardAPI":
        yield from _check_downward(projection, path)
    elif name == "serviceAccountToken":
        yield from _check_file_path(projection, path)
        seconds = projection.get("expirationSeconds")
        if seconds is not None and not 600 <= seconds <= 2**32:
            yield invalid(path / "expirationSeconds", seconds, "must be between 10 minutes and 2^32 seconds")


def _check_csi(source: Value, path: Path) -> Problems:
    yield from check_name(source, path, "driver", names.csi_driver)


def _check_ephemeral(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "volumeClaimTemplate")


def _check_git(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "repository")
    yield from check_local_path(text(source, "directory"), path / "directory")


def _check_image(source: Value, path: Path) -> Problems:
    yield from check_choice(source, path, "pullPolicy", ("Always", "IfNotPresent", "Never"))


def _check_local(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "path")
    yield from check_backsteps(text(source, "path"), path / "path")


def _check_iscsi(source: Value, path: Path) -> Problems:
    yield from check_given(source, path, "targetPortal", "iqn")
    yield from check_between(source, path, "lun", 0, 255)
    yield from check_optional_name(child(source, "secretRef"), path / "secretRef", "name", names.dns_subdomain)


_SOURCES: dict[str, Callable[[Value, Path], Problems]] = {
    "configMap": _check_config_map,
    "csi": _check_csi,
    "downwardAPI": _check_downward,
    "emptyDir": _check_empty_dir,
    "ephemeral": _check_ephemeral,
    "gitRepo": _check_git,
    "hostPath": check_host_path,
    "image": _check_image,
    "iscsi": _check_iscsi,
    "local": _check_local,
    "nfs": check_nfs,
    "persistentVolumeClaim": _check_claim,
    "projected": _check_projected,
    "secret": _check_secret,
}
