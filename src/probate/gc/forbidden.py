"""Holds back work that RBAC denied to the collector, until permissions change; then all of it is tried again.

Nothing is tried meanwhile, however much work there is: once a second, one delayed check compares the permissions' revision.
"""

from __future__ import annotations

from probate.api.object_keys import Key
from probate.gc.backend import Backend
from probate.gc.workqueue import Work

KIND = "forbidden"
CHECK_SECONDS = 1.0


class ForbiddenWork:
    """Work that was denied on one backend, by its kind."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._permissions = 0  # their revision when the first of it was denied
        self._work: dict[str, Work] = {}
        self.oldest = 0  # the revision that the oldest of it comes from

    def __len__(self) -> int:
        return sum(len(work) for work in self._work.values())

    def add(self, kind: str, key: Key, since: int, *, permissions: int) -> bool:
        """Adds work that was denied under the permissions of this revision. Returns whether it is the first."""
        is_first = not self._work
        if is_first:
            self._permissions, self.oldest = permissions, since
        self.oldest = min(self.oldest, since)
        self._work.setdefault(kind, {}).setdefault(key, since)
        return is_first

    def take_if_permissions_changed(self) -> dict[str, Work]:
        """Removes and returns all work if permissions have changed; otherwise nothing."""
        if self._backend.permissions_revision() == self._permissions:
            return {}
        work, self._work = self._work, {}
        return work
