"""Writes Warning Events about objects on behalf of the server itself and the collector."""

from __future__ import annotations

import hashlib

from probate.api.catalog import Resource
from probate.api.ownership import Item
from probate.server.codec import object_codec
from probate.server.context import ServerContext
from probate.server.objects import write
from probate.server.storage import index_entries
from probate.store import contract

COMPONENT = "garbage-collector-controller"


async def create_warning_event(
    api: ServerContext, resource: Resource, item: Item, reason: str, message: str, *, component: str = COMPONENT
) -> None:
    """Writes a Warning Event about an object. An identical event is written once. Raises `Forbidden` in a terminating namespace."""
    namespace = item.meta.namespace or "default"
    guard = await write.namespace_guard(api, namespace)
    digest = hashlib.sha256(f"{item.meta.uid} {reason} {message}".encode()).hexdigest()[:16]
    name, now = f"{item.meta.name[:230]}.{digest}", api.timestamp()
    event = {
        "metadata": {"name": name, "namespace": namespace, "uid": api.new_uid(), "creationTimestamp": now},
        "involvedObject": {
            "kind": resource.kind,
            "namespace": item.meta.namespace or None,
            "name": item.meta.name,
            "uid": item.meta.uid,
            "apiVersion": str(resource.group_version),
            "resourceVersion": str(item.revision),
        },
        "reason": reason,
        "message": message,
        "source": {"component": component},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "type": "Warning",
        "eventTime": None,
        "reportingComponent": component,
        "reportingInstance": "",
    }
    event["involvedObject"] = {name: value for name, value in event["involvedObject"].items() if value is not None}  # type: ignore[attr-defined]
    key, value = f"objects/events/{namespace}/{name}", object_codec.stored(event)
    await api.store.commit(
        contract.create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value)), guards=[guard])
    )
