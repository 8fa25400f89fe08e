"""FlowSchemas say of themselves whether the level that they name is there, whenever one of both comes, changes or goes."""

from __future__ import annotations

from probate.api.timestamps import timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.kinds.flowcontrol import dangling
from probate.kinds.flowcontrol.bootstrap_flows import GROUP, LEVELS, SCHEMAS

TITLE = "flowschema-status-controller"


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [FlowSchemas(means).workers]


class FlowSchemas:
    """Writes the condition of each FlowSchema."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._schemas = means.informers.of(Kind(GROUP, "v1", SCHEMAS))
        self._levels = means.informers.of(Kind(GROUP, "v1", LEVELS))
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._schemas.listen(self._take_schema)
        self._levels.listen(self._take_level)

    def _take_schema(self, _: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))

    def _take_level(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None:
            return
        name = (new or old or {})["metadata"]["name"]
        for schema in self._schemas:
            if dangling.level_of(schema) == name:
                self.workers.add(name_of(schema))

    async def _sync(self, name: Name) -> None:
        schema = self._schemas.get(name)
        if schema is None or is_deleting(schema):
            return
        level, told = dangling.level_of(schema), (schema.get("status") or {}).get("conditions") or []
        new = dangling.condition(level, is_there=self._levels.get(Name("", level)) is not None)
        before = conditions.find(told, dangling.TYPE)
        if before is not None and before.get("message") != new["message"]:
            told = conditions.without(told, dangling.TYPE)  # it names another level now
        put = conditions.put(told, new, timestamp(self._clock.now()))
        if put != told:
            await self._schemas.update({**schema, "status": {**(schema.get("status") or {}), "conditions": put}}, "status")
