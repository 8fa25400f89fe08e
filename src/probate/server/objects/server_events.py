"""Writes Warning Events about objects on behalf of the server itself and the collector."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.ownership import Item
from probate.api.timestamps import format_time
from probate.core.clock import Clock
from probate.server.codec import object_codec
from probate.server.objects.scope_guards import ScopeGuards
from probate.server.storage import index_entries
from probate.store import contract
from probate.store.contract import Store

COMPONENT = "garbage-collector-controller"


class WarningEvents:
    """Writes Events of one server."""

    def __init__(self, store: Store, scope_guards: ScopeGuards, *, clock: Clock, new_uid: Callable[[], str]) -> None:
        self._store = store
        self._scope_guards = scope_guards
        self._clock = clock
        self._new_uid = new_uid

    async def create(self, resource: Resource, item: Item, *, reason: str, message: str, component: str = COMPONENT) -> None:
        """Writes an Event about an object. An identical one is written once. Raises `Forbidden` in a terminating namespace."""
        namespace = item.meta.namespace or "default"
        guard = await self._scope_guards.namespace_guard(namespace)
        digest = hashlib.sha256(f"{item.meta.uid} {reason} {message}".encode()).hexdigest()[:16]
        name, now = f"{item.meta.name[:230]}.{digest}", format_time(self._clock.now())
        event = {
            "metadata": {"name": name, "namespace": namespace, "uid": self._new_uid(), "creationTimestamp": now},
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
        key, value = object_keys.object_key("events", namespace, name), object_codec.stored(event)
        await self._store.commit(
            contract.create(key, value, add_entries=index_entries.entries_of(key, object_codec.meta(value)), guards=[guard])
        )
