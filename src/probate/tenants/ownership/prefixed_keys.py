"""PrefixedKeys: to which tenants the object of a key belongs if they exist, at the cost of one lookup.

Every write asks this, on servers with and without tenants. All objects of one resource in one namespace have the same answer, so
it is kept for each such folder. Cluster-scoped objects are told apart by their names: they are looked at each time.
"""

from __future__ import annotations

from probate.api import object_keys, tenants
from probate.api.gvk import GroupResource

MAX_FOLDERS = 20_000
"""Folders whose answer is kept."""
_CLUSTER_SCOPED = f"/{object_keys.NO_NAMESPACE}"
_SEGMENTS = 4
_VOLUMES = object_keys.namespace_range(GroupResource("", "persistentvolumes"), "")


class PrefixedKeys:
    """The tenants in keys."""

    def __init__(self) -> None:
        self._by_folder: dict[str, tuple[str, ...]] = {}
        self.free_folders: set[str] = set()
        """Folders `objects/<resource>/<namespace>` whose objects belong to no tenant, as far as that is known."""

    def tenants_in(self, key: str) -> tuple[str, ...]:
        """Fast path: equals `tenants_named_in`."""
        folder = key.rpartition("/")[0]
        found = self._by_folder.get(folder)
        return self._look_up(folder, key) if found is None else found

    def _look_up(self, folder: str, key: str) -> tuple[str, ...]:
        found = tenants_named_in(key)
        if not folder.endswith(_CLUSTER_SCOPED):
            self._keep(folder, found)
        return found

    def _keep(self, folder: str, found: tuple[str, ...]) -> None:
        if len(self._by_folder) >= MAX_FOLDERS:
            self._by_folder.clear()
            self.free_folders.clear()
        self._by_folder[folder] = found
        if not found:
            self.free_folders.add(folder)


def tenants_named_in(key: str) -> tuple[str, ...]:
    """Returns what `tenants.ids_in_key` does; an empty tuple for the key of anything but an object."""
    return tenants.ids_in_key(key) if key.count("/") == _SEGMENTS - 1 else ()


def is_cluster_scoped(key: str) -> bool:
    """Whether the object of a key has no namespace."""
    return key.rpartition("/")[0].endswith(_CLUSTER_SCOPED)


def is_volume(key: str) -> bool:
    """Whether the key is that of a PersistentVolume. To which tenant one belongs does not follow from its key alone."""
    return key.startswith(_VOLUMES)
