"""The catalog of resources: each resource of each version, with its names, scope and verbs.

The catalog is the only source of names and scope. Built-in kinds come from `kinds.builtin`; the server adds custom kinds as CRDs
come and go. A catalog is immutable, so a reader always sees a consistent one: a change replaces the whole catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from probate.api.gvk import GroupResource, GroupVersion, GroupVersionKind
from probate.api.schema.node import Schema


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object with a path of its own. `group`, `version` and `kind` are those of the object that is sent there."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """One resource in one version."""

    group: str
    version: str
    plural: str
    kind: str
    singular: str
    is_namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    is_custom: bool = False
    is_own: bool = False  # a built-in kind that Kubernetes does not have
    is_converted: bool = False  # a webhook converts it between versions
    storage_gvk: GroupVersionKind | None = None  # the kind that is stored, if it is another one: `kinds.conversion` converts
    storage_version: str = ""  # of a custom kind
    load_schema: Callable[[], Schema] = Schema  # builds the schema on first use: there are hundreds
    defaults_before: Callable[[], int] = int  # objects written before this revision may lack defaults
    deprecation_warning: str = ""  # the warning in every response, if the version is deprecated

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    @property
    def group_version_kind(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def has_protobuf(self) -> bool:
        """Whether objects can be sent in Kubernetes' protobuf encoding. Only Kubernetes' own kinds have one."""
        return not (self.is_custom or self.is_own)

    def subresource(self, name: str) -> Subresource | None:
        return next((subresource for subresource in self.subresources if subresource.name == name), None)


class Catalog:
    """All served resources, in the order in which discovery lists them."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)
        self._by_path = {(resource.group, resource.version, resource.plural): resource for resource in self._resources}
        versions: dict[str, dict[str, None]] = {}
        for resource in self._resources:
            versions.setdefault(resource.group, {})[resource.version] = None
        self._versions = {group: list(names) for group, names in versions.items()}
        self._by_kind = {(resource.group, resource.version, resource.kind): resource for resource in self._resources}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Returns the resource at /apis/<group>/<version>/<plural>."""
        return self._by_path.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """Returns the resource whose objects have this apiVersion and kind."""
        return self._by_kind.get((group, version, kind))

    def versions(self, group: str) -> list[str]:
        """Returns the group's versions, the preferred one first."""
        return self._versions.get(group, [])

    def groups(self) -> list[str]:
        """Returns all groups, the core group first."""
        return list(self._versions)
