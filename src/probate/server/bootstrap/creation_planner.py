"""CreationPlanner: plans the transactions that create the server's own objects, as requests would create them."""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.core import errors
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.objects import managed_fields
from probate.server.objects.write_strategy import ObjectPreparer
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Txn, create

MANAGER = "probate"
"""The field manager of the server's own objects."""


class CreationPlanner:
    """Plans for the kinds that are served."""

    def __init__(self, kinds: KindRegistry, preparer: ObjectPreparer) -> None:
        self.kinds = kinds
        self._preparer = preparer

    def resource(self, group: str, plural: str) -> Resource:
        """Returns a built-in resource, in the version v1."""
        resource = self.kinds.catalog.find(group, "v1", plural)
        if resource is None:
            raise errors.InvariantViolation(f"there is no resource {plural}")
        return resource

    def plan(self, resource: Resource, requested: Object, *, condition: Object | None = None) -> Txn:
        """Returns the transaction that creates the object. `condition` is the one in its status, if any."""
        meta = requested["metadata"]
        object_, namespace = {**requested, "metadata": dict(meta)}, meta.get("namespace", "")
        entries = managed_fields.entries_on_create(self.kinds, Target(resource, namespace), MANAGER)
        self._preparer.prepare_create(resource, object_, namespace=namespace, create_entries=entries)
        if condition is not None:
            since = object_["metadata"]["creationTimestamp"]
            object_["status"] = {"conditions": [{**condition, "lastTransitionTime": since}]}
        key, value = storage_keys.object_key(resource, namespace, meta["name"]), object_codec.stored(object_)
        return create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value)))
