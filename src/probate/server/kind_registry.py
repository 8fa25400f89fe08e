"""The kinds that are served, as custom ones come and go.

After each change of a definition, by this server or another, those of its group are looked at: their status says which names each
got, and the catalog has what is established. So a kind is served as soon as the write of its definition has been answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.crds import crd_conditions, resources
from probate.core import errors
from probate.core.aio.offload import Inline, Offload
from probate.server import api_errors
from probate.server.codec import object_codec
from probate.server.kind_rules.builtin_kinds import BuiltIn
from probate.server.kind_rules.contract import Rules
from probate.server.kind_rules.converted_kinds import Converted
from probate.server.kind_rules.crd_kind import Definitions
from probate.server.kind_rules.custom_kinds import Custom
from probate.server.storage import storage_keys
from probate.store import contract, paging
from probate.store.contract import NOTHING, Record, Refused, Revision, Store

log = logging.getLogger(__name__)

GROUP = "apiextensions.k8s.io"


class _Known(NamedTuple):
    """A definition as it is in the store, and what it brings. Kept as it is for as long as it does not change."""

    revision: Revision
    definition: dict[str, Any]
    resources: list[Resource]
    violations: dict[str, Any] | None  # of the rules for schemas

    @property
    def group(self) -> str:
        return str(self.definition["spec"]["group"])


def _known(revision: Revision, definition: dict[str, Any]) -> _Known:
    return _Known(revision, definition, resources.resources(definition), crd_conditions.non_structural(definition))


def _versions(catalog: Catalog) -> dict[str, list[str]]:
    return {group: catalog.versions(group) for group in catalog.groups()}


class Kinds:
    """What is served, and by which rules. `catalog` is replaced whole, never changed."""

    def __init__(self, store: Store, builtin: Catalog, offload: Offload | None = None) -> None:
        self._offload = offload or Inline()
        self.catalog = builtin
        self._store = store
        self._builtin = builtin
        found = builtin.find(GROUP, "v1", "customresourcedefinitions")
        if found is None:
            raise errors.InvariantViolation("there is no kind CustomResourceDefinition")
        self._resource = found
        self._known: dict[str, _Known] = {}
        self._rules: dict[tuple[str, str, str], Rules] = {}
        self._refreshing = asyncio.Lock()
        self._own_rules = Definitions(found)
        self._last: tuple[Resource, Rules] = found, self._own_rules  # whose rules were asked for last
        self.on_change: Callable[[], Awaitable[None]] | None = None  # called when other groups or versions are served than before

    def rules(self, resource: Resource) -> Rules:
        """The rules of a resource that is served. `NotFound` if it was when the request came, and is not any more."""
        if resource is self._last[0]:  # a request asks several times
            return self._last[1]
        key = (resource.group, resource.version, resource.plural)
        found = self._rules.get(key)
        if found is None:
            found = self._make(resource)
            if self.catalog.find(*key) is not resource:  # a request that came before its kind was changed decides for nobody else
                return found
            self._rules[key] = found
        self._last = resource, found
        return found

    def definitions(self) -> Iterable[dict[str, Any]]:
        """All definitions of custom kinds."""
        return [known.definition for known in self._known.values()]

    def definition(self, resource: Resource) -> dict[str, Any]:
        """The definition of a custom kind. `NotFound` if it was there when the request came, and is not any more."""
        name = f"{resource.plural}.{resource.group}"
        found = next((one for one in self.definitions() if one["metadata"]["name"] == name), None)
        if found is None:
            raise api_errors.no_such_resource()
        return found

    def is_definition(self, resource: Resource) -> bool:
        """Whether a change of such an object changes what is served."""
        return resource.plural == self._resource.plural and resource.group == GROUP

    async def refresh(self, *, now: str) -> None:
        """Read all definitions, settle their names, and serve what is established. One at a time: none ends with an older view."""
        async with self._refreshing:
            await self._refresh(now)

    async def catch_up(self, definition: Record, *, now: str) -> None:
        """Serve what this definition says, or what a newer one does. (It is written before it is served.)"""
        async with self._refreshing:
            known = self._known.get(definition.key)
            if known is None or known.revision < definition.revision:
                await self._refresh(now)

    async def _refresh(self, now: str) -> None:
        before = self.catalog
        await self._look_at_all(now)
        if self.on_change is not None and _versions(before) != _versions(self.catalog):
            await self.on_change()

    async def _look_at_all(self, now: str) -> None:
        pages = [page async for page in paging.pages(self._store, storage_keys.everywhere(self._resource))]
        found = {record.key: await self._look(record) for page in pages for record in page.records}
        damaged = (one.key for page in pages for one in page.damaged)
        found |= {key: self._known[key] for key in damaged if key in self._known}  # as it was last read: it is not gone
        changed = [one for key, one in found.items() if self._known.get(key) is not one]
        changed += [one for key, one in self._known.items() if found.get(key) is not one]
        for group in {one.group for one in changed}:
            for key in [key for key, one in found.items() if one.group == group]:
                found[key] = await self._settle(key, found, now)
        self._serve(found)

    async def _look(self, record: Record) -> _Known:
        """The definition as it was known, if it has not changed."""
        known = self._known.get(record.key)
        if known is not None and known.revision == record.revision:
            return known
        return await self._offload.run(lambda: _known(record.revision, object_codec.loaded(record, self._resource)))

    def _serve(self, found: dict[str, _Known]) -> None:
        catalog = Catalog([*self._builtin, *(one for known in found.values() for one in known.resources)])
        self._known = found
        self._rules = {key: rules for key, rules in self._rules.items() if catalog.find(*key) is self.catalog.find(*key)}
        self._last = self._resource, self._own_rules
        self.catalog = catalog

    async def follow(self, now: Callable[[], str], pause: Callable[[], Awaitable[None]]) -> None:
        """Refresh whenever a definition changes, by whomever. Never returns; after a failure it goes on once `pause` is over."""
        while True:
            try:
                async with self._store.watch(
                    storage_keys.everywhere(self._resource), after=await self._store.revision()
                ) as changes:
                    await self.refresh(now=now())
                    async for _ in changes:
                        await self.refresh(now=now())
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("custom kinds are not followed, trying again: %s", error)
            await pause()

    async def _settle(self, key: str, found: dict[str, _Known], now: str) -> _Known:
        """Write the definition's status if it is not what it should be. Whoever is faster settles it too."""
        known = found[key]
        others = [one.definition for one in found.values() if one is not known and one.group == known.group]
        status = crd_conditions.settle(known.definition, others, now, known.violations)
        if status == known.definition.get("status"):
            return known
        settled = {**known.definition, "status": status}
        outcome = await self._store.commit(contract.update(key, object_codec.stored(settled), revision=known.revision))
        revision = NOTHING if isinstance(outcome, Refused) else Revision(outcome)  # if refused: it has changed, look again
        return known._replace(revision=revision, definition=settled, resources=resources.resources(settled))

    def _make(self, resource: Resource) -> Rules:
        if self.is_definition(resource):
            return self._own_rules
        if not resource.is_custom:
            return BuiltIn(resource) if resource.stored_as is None else Converted(resource)
        return Custom(resource, self.definition(resource))
