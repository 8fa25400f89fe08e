"""The part of an object whose fields a write through one path can own: the whole object, or a subresource's fields.

Metadata that the server sets itself is never owned.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object

SERVER_METADATA = frozenset(
    {"name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion"}
)
_KIND = frozenset({"apiVersion", "kind"})


class OwnablePart(NamedTuple):
    """Selects top-level fields (all, only `included`, or all but `excluded`) and excludes fields of the metadata."""

    excluded: frozenset[str] = frozenset()
    included: frozenset[str] = frozenset()
    excluded_metadata: frozenset[str] = frozenset()

    def includes(self, name: str) -> bool:
        """Returns whether the part includes this top-level field."""
        return name in self.included if self.included else name not in self.excluded and name not in _KIND

    def extract(self, object_: Object) -> Object:
        """Returns the part of an object. It always has metadata, as its first field."""
        included, excluded, excluded_metadata = self.included, self.excluded, self.excluded_metadata
        part: Object = {"metadata": {}}
        for name, value in object_.items():
            # Fast path: `includes`, inlined, since every new object passes here.
            if name in included if included else name not in excluded and name not in _KIND:
                part[name] = value
        meta = part["metadata"] or {}
        part["metadata"] = {
            name: value for name, value in meta.items() if name not in SERVER_METADATA and name not in excluded_metadata
        }
        return part

    def _includes_metadata(self, name: str) -> bool:
        return name not in SERVER_METADATA and name not in self.excluded_metadata

    def replace(self, object_: Object, part: Object) -> Object:
        """Returns the object with the part replaced."""
        meta = object_["metadata"]
        if self.includes("metadata"):
            new_meta = part.get("metadata") or {}
            remaining = {
                name: new_meta.get(name, value)
                for name, value in meta.items()
                if name in new_meta or not self._includes_metadata(name)
            }
            meta = {**remaining, **new_meta}
        other_fields = {name: value for name, value in object_.items() if name in part or not self.includes(name)}
        return {**other_fields, **part, "metadata": meta}


WHOLE_OBJECT = OwnablePart()
WITHOUT_STATUS = OwnablePart(excluded=frozenset({"status"}))
