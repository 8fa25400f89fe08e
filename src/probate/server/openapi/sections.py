"""The sections of the OpenAPI documents: version 3 has one document per section, version 2 combines all sections.

api            /api/                   the versions of the core group
api/v1         /api/v1/, /api/v1/...   the resources of that version
apis           /apis/                  the other groups
apis/apps      /apis/apps/             the versions of the group
apis/apps/v1   /apis/apps/v1/...       the resources of that version
version        /version/               the version of the server
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.server.openapi import paths
from probate.server.openapi.definitions import META, Definitions
from probate.server.openapi.paths import Operation, PathItem


class Section(NamedTuple):
    """One section: the definition that its root path returns, and its resources."""

    name: str
    id: str
    tag: str
    answer: str
    resources: tuple[Resource, ...] = ()


def of_catalog(catalog: Catalog) -> dict[str, Section]:
    """Returns all sections by name, sorted by name."""
    found = [
        Section("api", "getCoreAPIVersions", "core", META + "APIVersions"),
        Section("apis", "getAPIVersions", "apis", META + "APIGroupList"),
        Section("version", "getCodeVersion", "version", "io.k8s.apimachinery.pkg.version.Info"),
    ]
    found += [_of_group(group) for group in catalog.groups() if group]
    found += [_of_version(resources) for resources in _by_version(catalog)]
    return {one.name: one for one in sorted(found)}


def paths_of(section: Section, known: Definitions) -> dict[str, PathItem]:
    """Returns the paths of a section with their operations, sorted."""
    asked = Operation(method="get", id=section.id, description="get what is available", tag=section.tag, answer=section.answer)
    found = {f"/{section.name}/": PathItem((), (asked,))}
    for one in section.resources:
        found |= paths.of_resource(one, known)
    return dict(sorted(found.items()))


def definitions_of(items: Mapping[str, PathItem]) -> set[str]:
    """Returns the names of the definitions that the paths reference."""
    operations = [one for item in items.values() for one in item.operations]
    return {name for one in operations for name in (one.body, one.answer) if name}


def _by_version(catalog: Catalog) -> Iterable[tuple[Resource, ...]]:
    found: dict[tuple[str, str], list[Resource]] = {}
    for one in catalog:
        found.setdefault((one.group, one.version), []).append(one)
    return map(tuple, found.values())


def _of_group(group: str) -> Section:
    return Section(f"apis/{group}", f"get{paths.camel_case(group)}APIGroup", paths.tag_of(group, ""), META + "APIGroup")


def _of_version(resources: tuple[Resource, ...]) -> Section:
    group, version = resources[0].group, resources[0].version
    name = paths.root(resources[0].group_version).removeprefix("/")
    id_ = f"get{paths.camel_case(group)}{version[:1].upper()}{version[1:]}APIResources"
    return Section(name, id_, paths.tag_of(group, version), META + "APIResourceList", resources)
