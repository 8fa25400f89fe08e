"""The built-in kinds of Kubernetes: which there are, what may be done with them, and their schemas.

The build writes `kubernetes.json.gz` beside this module: the OpenAPI definitions of one release and its stable resources, which
are those that an API server serves unless told otherwise. `builtin_names` adds what is known only by hand. The file is read once;
a schema is made when it is first asked for.

All that is returned is shared: nobody may change it.
"""

from __future__ import annotations

import gzip
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson

from probate.api.catalog import Catalog, Resource, Subresource
from probate.api.gvk import GroupResource, GroupVersionKind
from probate.api.schema.node import Schema
from probate.api.schema.openapi import Schemas
from probate.core import errors
from probate.kinds.builtin import kind_names as names

_FILE = Path(__file__).with_name("kubernetes.json.gz")  # importlib.resources would take longer to import than all else here


@cache
def load() -> Catalog:
    """All built-in resources, in the order in which discovery shows them."""
    return Catalog(sorted((_resource(row) for row in _content()["resources"]), key=_place))


def version() -> str:
    """The release of Kubernetes that the built-in kinds are of: 1.37.0."""
    return str(_content()["version"])


def definitions() -> dict[str, dict[str, Any]]:
    """The OpenAPI v2 definitions of all built-in kinds and what they are made of, by name, as Kubernetes publishes them."""
    found: dict[str, dict[str, Any]] = _content()["definitions"]
    return found


def definition_name(group: str, version: str, kind: str) -> str | None:
    """The name of a kind's definition: also of lists, of what subresources take (Scale, Eviction), and of DeleteOptions."""
    return _names_by_kind().get((group, version, kind))


def schema(group: str, version: str, kind: str) -> Schema | None:
    """The schema of a kind, if there is a definition of it."""
    name = definition_name(group, version, kind)
    return None if name is None else _schemas().schema(name)


@cache
def _content() -> dict[str, Any]:
    try:
        packed = _FILE.read_bytes()
    except FileNotFoundError:
        raise errors.ProbateError(
            f"{_FILE.name} is not in this installation: it is written when the package is built. Install Probate again, "
            "with `pip install .` or, to work on it, with `pip install --editable .`"
        ) from None
    content: dict[str, Any] = orjson.loads(gzip.decompress(packed))
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
        short_names=names.SHORT_NAMES.get(name, ()),
        categories=tuple(category for category, members in names.CATEGORIES.items() if name in members),
        subresources=_subresources(name, row["subresources"]),
        stored_as=names.STORED_AS.get(GroupVersionKind(row["group"], row["version"], row["kind"])),
        load_schema=partial(_load_schema, row["group"], row["version"], row["kind"]),
        deprecation=names.DEPRECATIONS.get(name, ""),
    )


def _subresources(name: str, rows: list[dict[str, Any]]) -> tuple[Subresource, ...]:
    off = names.OFF.get(name, ())
    found = [
        Subresource(row["name"], row["kind"], tuple(row["verbs"]), row["group"], row["version"])
        for row in rows
        if row["name"] not in off
    ]
    return tuple(sorted((*found, *names.CONNECTIONS.get(name, ())), key=lambda one: one.name))


def _load_schema(group: str, version: str, kind: str) -> Schema:
    return schema(group, version, kind) or Schema()


def _place(resource: Resource) -> tuple[int, str, int, str]:
    """Where a resource comes among all: by group, the newest version of it first, then by name."""
    is_known = resource.group in names.GROUPS
    rank = names.GROUPS.index(resource.group) if is_known else len(names.GROUPS)
    return rank, resource.group, -int(resource.version.removeprefix("v")), resource.plural
