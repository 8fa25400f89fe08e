"""Which kinds there are: each resource of each version, and what may be done with it.

The catalog is the only truth about names and scope. Built-in kinds come from `builtin`, custom ones are added by the server as
their definitions come and go; whoever asks gets one consistent answer, since a catalog never changes: a new one takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from probate.api.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from probate.api.schema.node import Schema


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object that has a path of its own. `group`, `version` and `kind` are those of what is sent there."""

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
    is_converted: bool = False  # by a webhook, from one version to another
    stored_as: GroupVersionKind | None = None  # if not as itself: `conversion` knows how
    storage_version: str = ""  # of a custom kind
    load_schema: Callable[[], Schema] = Schema  # made when first asked for: there are hundreds
    defaults_before: Callable[[], int] = int  # objects that were written before this revision may lack defaults
    deprecation: str = ""  # what every answer warns of, if it should be used no more

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
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def group_version_kind(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    def subresource(self, name: str) -> Subresource | None:
        return next((one for one in self.subresources if one.name == name), None)


class Catalog:
    """All resources that are served, in the order in which discovery shows them."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)
        self._by_path = {(one.group, one.version, one.plural): one for one in self._resources}
        versions: dict[str, dict[str, None]] = {}
        for one in self._resources:
            versions.setdefault(one.group, {})[one.version] = None
        self._versions = {group: list(found) for group, found in versions.items()}
        self._by_kind = {(one.group, one.version, one.kind): one for one in self._resources}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources)

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource at /apis/<group>/<version>/<plural>."""
        return self._by_path.get((group, version, plural))

    def find_kind(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource whose objects have this apiVersion and kind."""
        return self._by_kind.get((group, version, kind))

    def versions(self, group: str) -> list[str]:
        """The group's versions, the preferred one first."""
        return self._versions.get(group, [])

    def groups(self) -> list[str]:
        """All groups, the core one first."""
        return list(self._versions)
