"""Maintains the condition of each FlowSchema that says whether its PriorityLevelConfiguration exists."""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.kinds.flowcontrol import dangling_references
from probate.kinds.flowcontrol.bootstrap_flows import GROUP, LEVELS, SCHEMAS

TITLE = "flowschema-status-controller"


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [FlowSchemaStatus(context).workers]


class FlowSchemaStatus:
    """Writes the conditions."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._schemas = context.informers.for_resource(GroupVersionResource(GROUP, "v1", SCHEMAS))
        self._levels = context.informers.for_resource(GroupVersionResource(GROUP, "v1", LEVELS))
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._schemas.add_event_handler(self._on_schema)
        self._levels.add_event_handler(self._on_level)

    def _on_schema(self, _: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))

    def _on_level(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None:
            return
        name = (new or old or {})["metadata"]["name"]
        for schema in self._schemas:
            if dangling_references.level_of(schema) == name:
                self.workers.add(name_of(schema))

    async def _sync(self, name: NamespacedName) -> None:
        schema = self._schemas.get(name)
        if schema is None or is_deleting(schema):
            return
        level, before = dangling_references.level_of(schema), (schema.get("status") or {}).get("conditions") or []
        new = dangling_references.condition(level, is_there=self._levels.get(NamespacedName("", level)) is not None)
        old = conditions.find(before, dangling_references.TYPE)
        if old is not None and old.get("message") != new["message"]:
            before = conditions.without(before, dangling_references.TYPE)  # it names another level now
        after = conditions.replace(before, new, format_time(self._clock.now()))
        if after != before:
            await self._schemas.update({**schema, "status": {**(schema.get("status") or {}), "conditions": after}}, "status")
