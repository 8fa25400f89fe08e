"""Checks that a volume has exactly one source. Volumes of pods and PersistentVolumes share it."""

from __future__ import annotations

from collections.abc import Mapping

from probate.api.field_errors import FieldPath, forbidden, required
from probate.kinds.core.volumes import network_disks
from probate.kinds.core.volumes.paths import check_backsteps
from probate.kinds.shared.field_checks import Problems, Value, check_choice, text

_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_SPELT = {"gcePersistentDisk": "persistentDisk"}
_SPELT_IN_VAIN = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}


def check_source(source: Value, path: FieldPath, checks: Mapping[str, network_disks.Check]) -> Problems:
    """Validates that a volume has exactly one complete source.

    If there are several, the first in Kubernetes' order is validated and the others are reported as too many. Some are reported
    under names that differ from their fields.
    """
    given = [name for name, value in source.items() if value is not None and name in checks]
    if len(given) > 1:
        given.sort(key=list(checks).index)
    if not given:
        yield required(path, "must specify a volume type")
        return
    yield from checks[given[0]](source[given[0]], path / _SPELT.get(given[0], given[0]))
    detail = "may not specify more than 1 volume type"
    yield from (forbidden(path / _SPELT_IN_VAIN.get(name, name), detail) for name in given[1:])


def check_host_path(source: Value, path: FieldPath) -> Problems:
    """Validates a `hostPath` source."""
    if not text(source, "path"):
        yield required(path / "path")
        return
    yield from check_backsteps(text(source, "path"), path / "path")
    yield from check_choice(source, path, "type", supported=_HOST_PATH_TYPES)
