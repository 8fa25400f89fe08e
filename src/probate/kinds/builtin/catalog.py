"""Loads the catalog of the built-in kinds: resources, verbs and schemas.

The build writes `kubernetes.json.gz` beside this module: the OpenAPI definitions of one release and its stable resources, which are
those that an API server serves by default. `kind_names` adds facts that are maintained by hand, and `own_kinds` the kinds that
Kubernetes does not have. The file is read once; a schema is built when it is first requested.

All returned objects are shared: callers must not change them.
"""

from __future__ import annotations

import gzip
import re
from functools import cache, partial
from typing import Any

import orjson

from probate.api.catalog import Catalog, Resource, Subresource
from probate.api.gvk import GroupResource, GroupVersionKind
from probate.api.schema.node import Schema
from probate.api.schema.openapi import Schemas
from probate.core import errors, package_data
from probate.kinds.builtin import kind_names as names
from probate.kinds.builtin import own_kinds

_FILE = "kubernetes.json.gz"
_VERSION = re.compile(r"v(\d+)(?:(beta|alpha)(\d+))?")
_STAGES = (None, "beta", "alpha")


@cache
def load() -> Catalog:
    """Returns all built-in resources, in the order of discovery."""
    return Catalog(sorted((_resource(row) for row in (*_content()["resources"], *own_kinds.resources())), key=_place))


def version() -> str:
    """Returns the Kubernetes release of the built-in kinds: 1.37.0."""
    return str(_content()["version"])


def definitions() -> dict[str, dict[str, Any]]:
    """Returns the OpenAPI v2 definitions of all built-in kinds and their types, by name, as Kubernetes publishes them."""
    found: dict[str, dict[str, Any]] = _content()["definitions"]
    return found


def definition_name(group: str, version: str, kind: str) -> str | None:
    """Returns the definition name of a kind, including lists, DeleteOptions, and kinds of subresources (Scale, Eviction)."""
    return _names_by_kind().get((group, version, kind))


def schema(group: str, version: str, kind: str) -> Schema | None:
    """Returns the schema of a kind, or None if there is no definition of it."""
    name = definition_name(group, version, kind)
    return None if name is None else _schemas().schema(name)


@cache
def _content() -> dict[str, Any]:
    try:
        packed = package_data.read_bytes(__file__, _FILE)
    except FileNotFoundError:
        raise errors.ProbateError(
            f"{_FILE} is not in this installation: it is written when the package is built. Install Probate again, "
            "with `pip install .` or, to work on it, with `pip install --editable .`"
        ) from None
    content: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    content["definitions"] |= own_kinds.definitions()
    return content


@cache
def _schemas() -> Schemas:
    return Schemas(definitions(), names.DEFAULTS)


@cache
def _names_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in definitions().items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    }


def _resource(row: dict[str, Any]) -> Resource:
    name = str(GroupResource(row["group"], row["plural"]))
    return Resource(
        group=row["group"],
        version=row["version"],
        plural=row["plural"],
        kind=row["kind"],
        singular=row["kind"].lower(),
        is_namespaced=row["namespaced"],
        verbs=names.VERBS.get(name) or tuple(row["verbs"]),
        is_own=row["group"] in own_kinds.groups(),
        short_names=names.SHORT_NAMES.get(name, ()),
        categories=tuple(category for category, members in names.CATEGORIES.items() if name in members),
        subresources=_subresources(name, row["subresources"]),
        storage_gvk=names.STORED_AS.get(GroupVersionKind(row["group"], row["version"], row["kind"])),
        load_schema=partial(_load_schema, row["group"], row["version"], row["kind"]),
        deprecation_warning=names.DEPRECATIONS.get(name, ""),
    )


def _subresources(name: str, rows: list[dict[str, Any]]) -> tuple[Subresource, ...]:
    off = names.DISABLED_SUBRESOURCES.get(name, ())
    found = [
        Subresource(row["name"], row["kind"], tuple(row["verbs"]), row["group"], row["version"])
        for row in rows
        if row["name"] not in off
    ]
    return tuple(sorted((*found, *names.CONNECTIONS.get(name, ())), key=lambda one: one.name))


def _load_schema(group: str, version: str, kind: str) -> Schema:
    return schema(group, version, kind) or Schema()


def _place(resource: Resource) -> tuple[int, str, tuple[int, ...], str]:
    """Returns the sort key of a resource: by group, the newest version first, then by name."""
    is_known = resource.group in names.GROUPS
    rank = names.GROUPS.index(resource.group) if is_known else len(names.GROUPS)
    return rank, resource.group, _age(resource.version), resource.plural


def _age(version: str) -> tuple[int, ...]:
    """Returns the sort key of a version: v2, v1, v1beta1, v1alpha1."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise errors.InvariantViolation(f"the built-in kinds have a version {version}")
    return _STAGES.index(match[2]), -int(match[1]), -int(match[3] or 0)
