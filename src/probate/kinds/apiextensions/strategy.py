"""Prepares a new CustomResourceDefinition."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import child, items, text


def create_definition(definition: Object) -> None:
    """Prepares a new CustomResourceDefinition: its storage version becomes the only one in `storedVersions`."""
    stored = [text(version, "name") for version in items(child(definition, "spec"), "versions") if version.get("storage") is True]
    definition["status"] = {"storedVersions": stored[:1] or None}
