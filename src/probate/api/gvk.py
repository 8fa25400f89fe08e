"""Group, version, kind and resource, as values.

apps/v1 Deployment    GroupVersion("apps", "v1")     GroupResource("apps", "deployments")    "deployments.apps"
v1 ConfigMap          GroupVersion("", "v1")         GroupResource("", "configmaps")         "configmaps"
"""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A version of an API group. The group of the core API is the empty string."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @staticmethod
    def parse(api_version: str) -> GroupVersion:
        """Parses an object's `apiVersion`. Accepts any text: the catalog knows which versions are served."""
        group, slash, version = api_version.rpartition("/")
        return GroupVersion(group, version) if slash else GroupVersion("", api_version)


class GroupVersionKind(NamedTuple):
    """The type that an object declares in `apiVersion` and `kind`."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)


class GroupResource(NamedTuple):
    """A resource regardless of its version. Objects are stored under it."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind regardless of its version. An owner reference names one."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind
