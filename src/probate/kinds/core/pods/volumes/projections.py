"""Validates volumes whose files are projected from Secrets, ConfigMaps, the downward API and tokens.

Several field paths have Kubernetes' own spelling: a downward API file is reported without its list index, a token's path as if it
belonged to the volume.
"""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.kinds.core.pods.environment_validation import VOLUME_FIELDS, check_field_ref, check_resource_ref
from probate.kinds.core.volumes.paths import check_file_path
from probate.kinds.shared.field_checks import Problems, Value, check_between, check_given, each, objects, text

_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_MAX_MODE = 0o777


def check_secret(source: Value, path: FieldPath) -> Problems:
    """Validates a `secret` source."""
    yield from check_given(source, path, "secretName")
    yield from _check_files(source, path)


def check_config_map(source: Value, path: FieldPath) -> Problems:
    """Validates a `configMap` source."""
    yield from check_given(source, path, "name")
    yield from _check_files(source, path)


def check_downward(source: Value, path: FieldPath) -> Problems:
    """Validates a `downwardAPI` source."""
    yield from check_between(source, path, "defaultMode", low=0, high=_MAX_MODE)
    for item in objects(source, "items"):
        yield from _check_path(item, path)
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            yield from check_field_ref(field, path / "fieldRef", VOLUME_FIELDS)
            if resource is not None:
                yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
        elif resource is not None:
            yield from check_resource_ref(resource, path / "resourceFieldRef", is_volume=True)
        else:
            yield required(path, "one of fieldRef and resourceFieldRef is required")
        yield from check_between(item, path, "mode", low=0, high=_MAX_MODE)


def check_projected(source: Value, path: FieldPath) -> Problems:
    """Validates a `projected` source: files from several sources in one volume."""
    yield from check_between(source, path, "defaultMode", low=0, high=_MAX_MODE)
    seen: set[str] = set()
    for projection, at in each(source, path, "sources"):
        given = [name for name in _KINDS if projection.get(name) is not None]
        for name in given:
            yield from _check_projection(name, projection[name], at / name, volume=path)
        if len(given) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")
        for file in _files(projection):
            if file in seen:
                yield invalid(path, file, "conflicting duplicate paths")
            seen.add(file)


def _files(projection: Value) -> Iterator[str]:
    for name in ("secret", "configMap", "downwardAPI"):
        for item in objects(projection.get(name) or {}, "items"):
            if text(item, "path"):
                yield text(item, "path")


def _check_projection(name: str, projection: Value, path: FieldPath, *, volume: FieldPath) -> Problems:
    if name in {"secret", "configMap"}:
        yield from check_config_map(projection, path)
    elif name == "downwardAPI":
        yield from check_downward(projection, path)
    elif name == "serviceAccountToken":
        yield from _check_path(projection, volume)
        seconds = projection.get("expirationSeconds")
        if seconds is not None and not 600 <= seconds <= 2**32:
            yield invalid(path / "expirationSeconds", seconds, "must be between 10 minutes and 2^32 seconds")


def _check_files(source: Value, path: FieldPath) -> Problems:
    yield from check_between(source, path, "defaultMode", low=0, high=_MAX_MODE)
    for item, at in each(source, path, "items"):
        yield from check_given(item, at, "key")
        yield from _check_path(item, at)
        yield from check_between(item, at, "mode", low=0, high=_MAX_MODE)


def _check_path(item: Value, path: FieldPath) -> Problems:
    yield from check_given(item, path, "path")
    yield from check_file_path(text(item, "path"), path / "path")
