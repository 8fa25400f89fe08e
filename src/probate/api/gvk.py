"""Group, version, kind and resource, as values.

apps/v1 Deployment    GroupVersion("apps", "v1")     GroupResource("apps", "deployments")    "deployments.apps"
v1 ConfigMap          GroupVersion("", "v1")         GroupResource("", "configmaps")         "configmaps"
"""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A version of an API group. The core group is the empty text."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @staticmethod
    def parse(api_version: str) -> GroupVersion:
        """The group and version in an object's `apiVersion`. Anything goes: what is served is another question."""
        group, slash, version = api_version.rpartition("/")
        return GroupVersion(group, version) if slash else GroupVersion("", api_version)


class GroupVersionKind(NamedTuple):
    """What an object says that it is."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


class GroupResource(NamedTuple):
    """A resource whatever its version: what an object is stored under."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind whatever its version: what an owner reference names."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind
