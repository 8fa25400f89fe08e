"""Warns about volumes of a pod: deprecated sources, and files that hide a token."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import FieldPath
from probate.kinds.core.volumes import warnings
from probate.kinds.shared.field_checks import Value, child, each, objects, text

_TOKEN, _BUNDLE = "serviceAccountToken", "clusterTrustBundle"
_LISTED = {"configMap": "configMap", "secret": "secrets", "downwardAPI": "downwardAPI"}
"""Sources whose files have paths, and the field name that Kubernetes reports for each."""


def of_volumes(spec: Value, path: FieldPath) -> Iterator[str]:
    """Yields the warnings about all volumes of a pod spec."""
    for index, volume in enumerate(spec["volumes"] or ()):
        if not warnings.DEPRECATED_SOURCES.keys().isdisjoint(volume):
            yield from warnings.of_source(volume, path / "volumes" / index)
        if "ephemeral" in volume:
            at = path / "volumes" / index / "ephemeral" / "volumeClaimTemplate" / "spec"
            yield from warnings.of_claim_spec(child(child(child(volume, "ephemeral"), "volumeClaimTemplate"), "spec"), at)
    tokens = {text(source[_TOKEN], "path") for source in _projected(spec) if source.get(_TOKEN)}
    if tokens and not tokens.isdisjoint(_paths(spec)):
        yield from _of_hidden(spec, path, tokens)


def _projected(spec: Value) -> Iterator[Value]:
    for volume in spec["volumes"] or ():
        if projected := volume.get("projected"):
            yield from objects(projected, "sources")


def _paths(spec: Value) -> Iterator[str]:
    for source in _projected(spec):
        for name, given in source.items():
            if name in _LISTED:
                yield from (text(item, "path") for item in objects(given or {}, "items"))
            elif name == _BUNDLE:
                yield text(given or {}, "path")


def _of_hidden(spec: Value, path: FieldPath, tokens: set[str]) -> Iterator[str]:
    for volume, at in each(spec, path, "volumes"):
        inner = at / "projected" / "sources"
        for source in objects(child(volume, "projected"), "sources"):
            for name, shown in _LISTED.items():
                for item, place in each({shown: child(source, name).get("items")}, inner, shown):
                    yield from _of_path(text(item, "path"), place, tokens)
            yield from _of_path(text(child(source, _BUNDLE), "path"), inner / "ClusterTrustBundle", tokens)


def _of_path(given: str, place: FieldPath, tokens: set[str]) -> Iterator[str]:
    if given in tokens:
        yield f'{place}: has duplicated path with ServiceAccountToken "{given}"'
