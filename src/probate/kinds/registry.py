"""Finds the row of a built-in kind. The rows of an API group load when the first of its kinds is looked up.

    registry.find("apps", "Deployment")              the Kind, or None if the kind is not built in or has no rules of its own
    registry.find_plural("apps", "deployments")      the same, by resource

To add a kind, add a row to `kinds/<group>/registration.py`; to add a group, also name its folder here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache

from probate.kinds.kind import Kind

FOLDERS = {
    "": "core",
    "admissionregistration.k8s.io": "admissionregistration",
    "apiextensions.k8s.io": "apiextensions",
    "apiregistration.k8s.io": "apiregistration",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "certificates.k8s.io": "certificates",
    "coordination.k8s.io": "coordination",
    "discovery.k8s.io": "discovery",
    "events.k8s.io": "events",
    "flowcontrol.apiserver.k8s.io": "flowcontrol",
    "internal.apiserver.k8s.io": "internal",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "policy": "policy",
    "rbac.authorization.k8s.io": "rbac",
    "resource.k8s.io": "resource",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
    "storagemigration.k8s.io": "storagemigration",
    "tenant.kubezoo.io": "tenants",
}
"""The folder of each API group."""


def find(group: str, name: str) -> Kind | None:
    """Returns the row of a kind."""
    return _by_name(group).get(name)


def find_plural(group: str, plural: str) -> Kind | None:
    """Returns the row of the kind with this resource name."""
    return _by_plural(group).get(plural)


def every_kind() -> Iterator[Kind]:
    """Yields all rows. Loads all API groups."""
    for group in FOLDERS:
        yield from _rows(group)


@cache
def _rows(group: str) -> tuple[Kind, ...]:
    if group not in FOLDERS:
        return ()
    rows: tuple[Kind, ...] = importlib.import_module(f"probate.kinds.{FOLDERS[group]}.registration").KINDS
    return rows


@cache
def _by_name(group: str) -> dict[str, Kind]:
    return {kind.name: kind for kind in _rows(group)}


@cache
def _by_plural(group: str) -> dict[str, Kind]:
    return {kind.plural: kind for kind in _rows(group) if kind.plural}
