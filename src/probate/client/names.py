"""What identifies an object: namespace and name, uid, revision, its controller; and an index of names."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object


class NamespacedName(NamedTuple):
    """The namespace and name of an object."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def name_of(object_: Object) -> NamespacedName:
    """Returns the object's namespace and name."""
    meta = object_["metadata"]
    return NamespacedName(meta.get("namespace", ""), meta["name"])


def controller_of(object_: Object) -> Object | None:
    """Returns the owner reference to the object's controller, if it has one."""
    return next((reference for reference in object_["metadata"].get("ownerReferences") or [] if reference.get("controller")), None)


def revision_of(object_: Object) -> int:
    """Returns the object's resourceVersion as a number."""
    return int(object_["metadata"]["resourceVersion"])


def uid_of(object_: Object) -> str:
    """Returns the object's uid."""
    uid: str = object_["metadata"]["uid"]
    return uid


class Index:
    """Names of objects by a key that they share."""

    def __init__(self) -> None:
        self._names: dict[str, dict[NamespacedName, None]] = {}

    def get(self, key: str) -> list[NamespacedName]:
        return list(self._names.get(key, ()))

    def add(self, key: str, name: NamespacedName) -> None:
        self._names.setdefault(key, {})[name] = None

    def remove(self, key: str, name: NamespacedName) -> None:
        names = self._names[key]
        del names[name]
        if not names:
            del self._names[key]
