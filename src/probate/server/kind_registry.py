"""KindRegistry: the kinds that are served, built-in and custom, and the rules of each.

After each change of a CustomResourceDefinition (CRD), by this server or another, the registry re-evaluates all CRDs of its group:
it writes their conditions and accepted names, and adds the established ones to the catalog. So a custom kind is served as soon as
the write of its CRD has been answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.crds import crd_conditions, resources
from probate.core import errors
from probate.core.aio.offload import InlineOffload, Offload
from probate.core.logs import facts
from probate.server import api_errors
from probate.server.codec import object_codec
from probate.server.kind_rules.builtin_kinds import BuiltinKindRules
from probate.server.kind_rules.contract import KindRules
from probate.server.kind_rules.converted_kinds import ConvertedKindRules
from probate.server.kind_rules.crd_kind import CrdKindRules
from probate.server.kind_rules.custom_kinds import CustomKindRules
from probate.server.storage import storage_keys
from probate.store import contract, pagination
from probate.store.contract import NO_REVISION, FailedGuards, Record, Revision, Store

log = logging.getLogger(__name__)

GROUP = "apiextensions.k8s.io"


class _CachedCrd(NamedTuple):
    """A stored CRD and what is derived from it. Cached until the CRD changes."""

    revision: Revision
    crd: dict[str, Any]
    resources: list[Resource]
    violations: dict[str, Any] | None  # of the rules for structural schemas

    @property
    def group(self) -> str:
        return str(self.crd["spec"]["group"])


def _parse_crd(revision: Revision, crd: dict[str, Any]) -> _CachedCrd:
    return _CachedCrd(revision, crd, resources.served_resources(crd), crd_conditions.non_structural_condition(crd))


def _versions(catalog: Catalog) -> dict[str, list[str]]:
    return {group: catalog.versions(group) for group in catalog.groups()}


class KindRegistry:
    """The kinds that are served and their rules. `catalog` is replaced as a whole, never modified."""

    def __init__(self, store: Store, builtin: Catalog, offload: Offload | None = None) -> None:
        self._offload = offload or InlineOffload()
        self.catalog = builtin
        self._store = store
        self._builtin = builtin
        crd_resource = builtin.find(GROUP, "v1", "customresourcedefinitions")
        if crd_resource is None:
            raise errors.InvariantViolation("the built-in catalog lacks CustomResourceDefinition")
        self._crd_resource = crd_resource
        self._cached: dict[str, _CachedCrd] = {}
        self._rules: dict[tuple[str, str, str], KindRules] = {}
        self._refreshing = asyncio.Lock()
        self._crd_rules = CrdKindRules(crd_resource)
        self._last: tuple[Resource, KindRules] = crd_resource, self._crd_rules  # the most recent result of `rules`
        self.on_versions_changed: Callable[[], Awaitable[None]] | None = None  # runs when the served groups or versions change

    def rules(self, resource: Resource) -> KindRules:
        """Returns the rules of a resource. Raises `NotFound` if it is no longer served."""
        if resource is self._last[0]:  # fast path: each request calls this several times
            return self._last[1]
        key = (resource.group, resource.version, resource.plural)
        rules = self._rules.get(key)
        if rules is None:
            rules = self._create_rules(resource)
            if self.catalog.find(*key) is not resource:  # resolved before the kind changed: not cached for other requests
                return rules
            self._rules[key] = rules
        self._last = resource, rules
        return rules

    def crds(self) -> Iterable[dict[str, Any]]:
        """Returns all CustomResourceDefinitions."""
        return [cached.crd for cached in self._cached.values()]

    def crd(self, resource: Resource) -> dict[str, Any]:
        """Returns the CRD of a custom resource. Raises `NotFound` if it no longer exists."""
        name = f"{resource.plural}.{resource.group}"
        crd = next((crd for crd in self.crds() if crd["metadata"]["name"] == name), None)
        if crd is None:
            raise api_errors.resource_not_found()
        return crd

    @property
    def documents_owner(self) -> object:
        """The owner of documents about the catalog: the catalog if it is the built-in one, which several registries may have."""
        return self.catalog if self.catalog is self._builtin else self

    def is_crd(self, resource: Resource) -> bool:
        """Whether the resource is customresourcedefinitions, whose changes alter what is served."""
        return resource.plural == self._crd_resource.plural and resource.group == GROUP

    async def refresh(self, *, now: str) -> None:
        """Reads all CRDs, updates their status, and serves the established ones. Calls are serialized."""
        async with self._refreshing:
            await self._refresh(now)

    async def ensure_served(self, crd: Record, *, now: str) -> None:
        """Blocks until this revision of a CRD, or a newer one, is served."""
        async with self._refreshing:
            cached = self._cached.get(crd.key)
            if cached is None or cached.revision < crd.revision:
                await self._refresh(now)

    async def _refresh(self, now: str) -> None:
        before = self.catalog
        await self._evaluate_all(now)
        if self.on_versions_changed is not None and _versions(before) != _versions(self.catalog):
            await self.on_versions_changed()

    async def _evaluate_all(self, now: str) -> None:
        pages = [page async for page in pagination.pages(self._store, storage_keys.resource_range(self._crd_resource))]
        crds = {record.key: await self._load(record) for page in pages for record in page.records}
        damaged = (record.key for page in pages for record in page.damaged_records)
        # A damaged CRD is not deleted: keep the last version that was read.
        crds |= {key: self._cached[key] for key in damaged if key in self._cached}
        changed = [crd for key, crd in crds.items() if self._cached.get(key) is not crd]
        changed += [crd for key, crd in self._cached.items() if crds.get(key) is not crd]
        for group in {crd.group for crd in changed}:
            for key in [key for key, crd in crds.items() if crd.group == group]:
                crds[key] = await self._update_status(key, crds, now)
        self._serve(crds)

    async def _load(self, record: Record) -> _CachedCrd:
        """Returns the cached entry if the CRD is unchanged, else parses it on a thread."""
        cached = self._cached.get(record.key)
        if cached is not None and cached.revision == record.revision:
            return cached
        return await self._offload.run(lambda: _parse_crd(record.revision, object_codec.loaded(record, self._crd_resource)))

    def _serve(self, crds: dict[str, _CachedCrd]) -> None:
        custom = [resource for cached in crds.values() for resource in cached.resources]
        catalog = Catalog([*self._builtin, *custom]) if crds else self._builtin
        self._cached = crds
        self._rules = {key: rules for key, rules in self._rules.items() if catalog.find(*key) is self.catalog.find(*key)}
        self._last = self._crd_resource, self._crd_rules
        self.catalog = catalog

    async def watch_crds(self, now: Callable[[], str], pause: Callable[[], Awaitable[None]]) -> None:
        """Refreshes after every change of a CRD, by any server. Never returns; after a failure waits for `pause`."""
        while True:
            try:
                async with self._store.watch(
                    storage_keys.resource_range(self._crd_resource), after=await self._store.revision()
                ) as changes:
                    await self.refresh(now=now())
                    async for _ in changes:
                        await self.refresh(now=now())
            except (errors.ApiError, errors.TooSlow) as error:
                log.warning("customresourcedefinition watch failed, restarting", extra=facts(error=str(error)))
            await pause()

    async def _update_status(self, key: str, crds: dict[str, _CachedCrd], now: str) -> _CachedCrd:
        """Writes the CRD's status if it has changed. A concurrent write wins: the next refresh reads what it wrote.

        A tenant cannot write the status of a CRD that the platform shares. The stored one counts: it was computed from all CRDs.
        """
        cached = crds[key]
        others = [crd.crd for crd in crds.values() if crd is not cached and crd.group == cached.group]
        status = crd_conditions.compute_status_with_violations(cached.crd, others, now, violations=cached.violations)
        if status == cached.crd.get("status"):
            return cached
        settled = {**cached.crd, "status": status}
        try:
            outcome = await self._store.commit(contract.update(key, object_codec.stored(settled), revision=cached.revision))
        except errors.Forbidden:
            return cached
        # If refused, the CRD has changed: without a revision, the next refresh reads it again.
        revision = NO_REVISION if isinstance(outcome, FailedGuards) else Revision(outcome)
        return cached._replace(revision=revision, crd=settled, resources=resources.served_resources(settled))

    def _create_rules(self, resource: Resource) -> KindRules:
        if self.is_crd(resource):
            return self._crd_rules
        if not resource.is_custom:
            return BuiltinKindRules(resource) if resource.storage_gvk is None else ConvertedKindRules(resource)
        return CustomKindRules(resource, self.crd(resource))
