"""The part of an object that can be owned through one path: what no write through it changes is nobody's by it.

What the server itself keeps in the metadata is never owned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]

SERVERS = frozenset({"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion"})
_KIND = frozenset({"apiVersion", "kind"})


class Part(NamedTuple):
    """Which fields these are: all at the top, `only` some, or not these; and of the metadata not these."""

    out: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    not_in_metadata: frozenset[str] = frozenset()

    def holds(self, name: str) -> bool:
        """Whether it is about this field of the object."""
        return name in self.only if self.only else name not in self.out and name not in _KIND

    def of(self, object_: Object) -> Object:
        """The part of this object. It always has metadata, and they come first."""
        only, out, not_in = self.only, self.out, self.not_in_metadata
        part: Object = {"metadata": {}}
        for name, value in object_.items():
            if name in only if only else name not in out and name not in _KIND:  # `holds`, written out: each new object passes here
                part[name] = value
        meta = part["metadata"] or {}
        part["metadata"] = {name: value for name, value in meta.items() if name not in SERVERS and name not in not_in}
        return part

    def _holds_of_metadata(self, name: str) -> bool:
        return name not in SERVERS and name not in self.not_in_metadata

    def put(self, object_: Object, part: Object) -> Object:
        """The object with its part replaced."""
        meta = object_["metadata"]
        if self.holds("metadata"):
            given = part.get("metadata") or {}
            stays = {
                name: given.get(name, value) for name, value in meta.items() if name in given or not self._holds_of_metadata(name)
            }
            meta = {**stays, **given}
        kept = {name: value for name, value in object_.items() if name in part or not self.holds(name)}
        return {**kept, **part, "metadata": meta}


WHOLE = Part()
WITHOUT_STATUS = Part(out=frozenset({"status"}))
