"""The kinds that are served, as custom ones come and go.

All definitions are read again after each change of one, by this server or another: then their status says which names each got, and
the catalog has what is established. So a kind is served as soon as the write of its definition has been answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from probate import errors
from probate.machinery.catalog import Catalog, Resource
from probate.machinery.crds import resources
from probate.server import places, wire
from probate.server.rules.builtin import BuiltIn
from probate.server.rules.contract import Rules
from probate.server.rules.converted import Converted
from probate.server.rules.custom import Custom
from probate.server.rules.definitions import Definitions
from probate.store import contract, paging
from probate.store.contract import Record, Store

log = logging.getLogger(__name__)

GROUP = "apiextensions.k8s.io"


class Kinds:
    """What is served, and by which rules. `catalog` is replaced whole, never changed."""

    def __init__(self, store: Store, builtin: Catalog) -> None:
        self.catalog = builtin
        self._store = store
        self._builtin = builtin
        found = builtin.find(GROUP, "v1", "customresourcedefinitions")
        if found is None:
            raise errors.InvariantViolation("there is no kind CustomResourceDefinition")
        self._resource = found
        self._definitions: dict[str, dict[str, Any]] = {}
        self._rules: dict[tuple[str, str, str], Rules] = {}
        self._refreshing = asyncio.Lock()
        self._own_rules = Definitions(found, self.definitions)

    def rules(self, resource: Resource) -> Rules:
        """The rules of a resource that is served."""
        key = (resource.group, resource.version, resource.plural)
        found = self._rules.get(key)
        if found is None:
            found = self._rules[key] = self._make(resource)
        return found

    def definitions(self) -> Iterable[dict[str, Any]]:
        """All definitions of custom kinds."""
        return self._definitions.values()

    def is_definition(self, resource: Resource) -> bool:
        """Whether a change of such an object changes what is served."""
        return resource.plural == self._resource.plural and resource.group == GROUP

    async def refresh(self, *, now: str) -> None:
        """Read all definitions, settle their names, and serve what is established. One at a time: none ends with an older view."""
        async with self._refreshing:
            await self._refresh(now)

    async def _refresh(self, now: str) -> None:
        records = [record async for page in paging.pages(self._store, places.everywhere(self._resource)) for record in page.records]
        self._definitions = {record.key: wire.loaded(record, self._resource) for record in records}
        for record in records:
            await self._settle(record, now)
        custom = [one for definition in self._definitions.values() for one in resources.resources(definition)]
        self.catalog = Catalog([*self._builtin, *custom])
        self._rules = {}

    async def follow(self, now: Callable[[], str], pause: Callable[[], Awaitable[None]]) -> None:
        """Refresh whenever a definition changes, by whomever. Never returns; after a failure it goes on once `pause` is over."""
        while True:
            try:
                async with self._store.watch(places.everywhere(self._resource), after=await self._store.revision()) as changes:
                    await self.refresh(now=now())
                    async for _ in changes:
                        await self.refresh(now=now())
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("custom kinds are not followed, trying again: %s", error)
            await pause()

    async def _settle(self, record: Record, now: str) -> None:
        """Write the definition's status if it is not what it should be. Whoever is faster settles it too."""
        definition = self._definitions[record.key]
        status = self._own_rules.accepted(definition, now=now)
        if status == definition.get("status"):
            return
        settled = {**definition, "status": status}
        self._definitions[record.key] = settled
        await self._store.commit(contract.update(record.key, wire.stored(settled), revision=record.revision))

    def _make(self, resource: Resource) -> Rules:
        if self.is_definition(resource):
            return self._own_rules
        if not resource.is_custom:
            return BuiltIn(resource) if resource.stored_as is None else Converted(resource)
        name = f"{resource.plural}.{resource.group}"
        definition = next(one for one in self._definitions.values() if one["metadata"]["name"] == name)
        return Custom(resource, definition)
