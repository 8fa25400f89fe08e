"""ResourceQuotas have the last word on a write: what it uses must fit into each quota that counts it.

Two that come at once are counted one after the other: each write that uses more goes under the guard that no other has come in
between since the sum was reckoned (an index entry of the namespace, `quota/<namespace>`, which each of them renews). So no quota
is ever exceeded, whatever servers there are. What uses less just goes.
"""

from __future__ import annotations

import asyncio
from typing import Any

from probate.api.catalog import Resource
from probate.core import errors
from probate.kinds.core.quota import quantity_sums, quota_rules, usage
from probate.kinds.core.quota.quantity_sums import Amounts
from probate.kinds.core.quota.quota_rules import Quota
from probate.kinds.core.quota.usage import Counted
from probate.server import api_errors
from probate.server.admission.attributes import CREATE, NO_TERMS, UPDATE, Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.admission.quotas.quota_status import Statuses
from probate.server.admission.quotas.usage_ledger import Ledger
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Absent, Guard, Unchanged

Object = dict[str, Any]

_WAYS_OF_PODS = frozenset({(CREATE, ""), (UPDATE, "resize")})
_WAYS = frozenset({(CREATE, ""), (UPDATE, "")})
"""How an object can come to use more."""


def install(api: Api) -> None:
    """Hold writes to the quotas there are."""
    plugin = Quotas(api)
    api.configured.tell("", "v1", "resourcequotas", plugin.configure)
    api.at_the_end(plugin.close)


class Quotas:
    """All quotas."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._quotas: dict[str, list[Quota]] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self._statuses = Statuses(api.store, api.clock, self._used)
        self._ledger = Ledger(api.store, api.clock, self._statuses.note)

    def configure(self, objects: dict[str, Object]) -> None:
        """From now on these are the quotas."""
        found: dict[str, list[Quota]] = {}
        for key, object_ in objects.items():
            found.setdefault(object_["metadata"]["namespace"], []).append(quota_rules.compiled(key, object_))
        if found != self._quotas:
            self._quotas = found
            self._turns = {space: self._turns.get(space) or asyncio.Lock() for space in found}
            self._ledger.keep(found)
        self._statuses.look_at(objects)
        if found:
            self._api.admission.wake(Place.QUOTA, self)
        else:
            self._api.admission.rest(Place.QUOTA)

    async def close(self) -> None:
        """Stop counting."""
        await self._statuses.close()
        await self._ledger.close()

    def wants(self, operation: str, at: Target) -> bool:
        if at.namespace not in self._quotas:
            return False
        resource = _name(at.resource)
        handled = _WAYS_OF_PODS if resource == usage.PODS else _WAYS
        return (operation, at.subresource) in handled and any(resource in one.resources for one in self._quotas[at.namespace])

    async def validate(self, write: Attributes) -> Terms:
        resource, namespace = _name(write.at.resource), write.namespace
        new, old = await self._api.apart(write.size, lambda: _counted(resource, write))
        quotas = [one for one in quota_rules.about(self._quotas.get(namespace, ()), new) if _increase(one, new, old)]
        if not quotas:
            return NO_TERMS
        if resource == usage.PODS:
            await self._api.apart(write.size, lambda: self._check_says_all(write, quotas))
        if write.act.is_dry_run:
            await self._check(write, quotas, new, old, at=0)
            return NO_TERMS
        turn = self._turns[namespace]
        await turn.acquire()
        try:
            entry = storage_keys.of_quotas(namespace)
            found = await self._api.store.read(entry)
            calm = self._api.store.calm("objects/")
            await self._check(write, quotas, new, old, at=max(found.revision if found else 0, calm.now if calm else 0))
        except BaseException:
            turn.release()
            raise
        guard: Guard = Absent(entry) if found is None else Unchanged(entry, found.revision)
        return Terms((entry,), (guard,), (turn.release,))

    def _check_says_all(self, write: Attributes, quotas: list[Quota]) -> None:
        for quota in quotas:
            missing = quota_rules.missing(quota, write.object or {})
            if missing:
                raise _forbidden(write, f"failed quota: {quota.name}: must specify {missing}")

    async def _check(self, write: Attributes, quotas: list[Quota], new: Counted, old: Counted | None, *, at: int) -> None:
        for quota in quotas:
            used = await self._ledger.used(write.namespace, quota, at=at)
            if told := quota_rules.exceeded(quota, used, _increase(quota, new, old)):
                raise _forbidden(write, told)

    async def _used(self, quota: Quota, at: int) -> Amounts:
        return await self._ledger.used(quota.key.split("/")[2], quota, at=at)


def _counted(resource: str, write: Attributes) -> tuple[Counted, Counted | None]:
    """What the object counts for, and what it did before."""
    old = None if write.old is None else usage.count(resource, write.old)
    return usage.count(resource, write.object or {}), old


def _increase(quota: Quota, new: Counted, old: Counted | None) -> Amounts:
    """How much more of the quota is used; empty if it is not more of anything."""
    before = old.usage if old is not None and quota_rules.counts(quota, old) else {}
    more = quantity_sums.less(quota_rules.share(quota, new.usage), quota_rules.share(quota, before))
    return more if any(one.size > 0 for one in more.values()) else {}


def _forbidden(write: Attributes, why: str) -> errors.ApiError:
    name = write.name or str((write.object or {}).get("metadata", {}).get("name", ""))
    return api_errors.forbidden(write.at.resource, name, why)


def _name(resource: Resource) -> str:
    return storage_keys.everywhere(resource).split("/")[1]
