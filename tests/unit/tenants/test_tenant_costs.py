"""What a tenant's reads cost depends on what the tenant has, not on how many others there are. Counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from probate.api import tenants
from probate.store import contract
from probate.store.contract import Page, ReadResult, Revision
from probate.tenants.store_view.tenant_store import TenantStore
from support import store_operations as steps
from support import tenant_stores

CRDS = "objects/customresourcedefinitions.apiextensions.k8s.io"
CLASSES = "objects/storageclasses.storage.k8s.io"
PREFIXES = [
    "objects/pods/",
    "objects/pods/web/",
    "objects/namespaces/",
    "objects/foos.a.com/",
    "objects/persistentvolumes/",
    f"{CRDS}/",
    f"{CLASSES}/",
    "objects/",
    "owned/u/web/",
]


class CountingStore:
    """Counts the calls of a store, and the records that it returns."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.costs: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def scan(self, prefix: str, *, after: str = "", limit: int, at: Revision | None = None) -> Page:
        page: Page = await self._store.scan(prefix, after=after, limit=limit, at=at)
        self.costs.update(scans=1, records=len(page.records))
        return page

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        self.costs.update(reads=1, records=len(keys))
        found: list[ReadResult] = await self._store.read_many(keys)
        return found

    async def child_prefixes(self, prefix: str) -> list[str]:
        found: list[str] = await self._store.child_prefixes(prefix)
        self.costs.update(children=len(found))
        return found


async def fill(view: TenantStore) -> None:
    for number in range(3):
        key = f"objects/pods/web/{number}"
        value = orjson.dumps({"metadata": {"name": str(number), "namespace": "web"}})
        await steps.commit(view, contract.create(key, value, add_entries=[f"owned/u/web/{key}"]))
        for folder in ("objects/namespaces", "objects/foos.a.com", "objects/persistentvolumes", CLASSES):
            await steps.create(view, f"{folder}/-/{number}", orjson.dumps({"metadata": {"name": str(number)}}))
        await steps.create(view, f"{CRDS}/-/foos{number}.a.com", orjson.dumps({"metadata": {"name": f"foos{number}.a.com"}}))


async def costs_with(others: int, prefix: str) -> tuple[list[str], dict[str, int]]:
    """Returns what a tenant with this many others finds in a range, and what it costs."""
    async with tenant_stores.cluster() as cluster:
        shared = orjson.dumps({"metadata": {"name": "fast", "labels": {tenants.SHARED_LABEL: "true"}}})
        await steps.create(cluster.physical, f"{CLASSES}/-/fast", shared)
        for number in range(others):
            await fill(cluster.view(f"o{number:05}"))
        await fill(cluster.view())
        counting: Any = CountingStore(cluster.physical)
        view = TenantStore(counting, "111111", cluster.platform)
        listed = await steps.list_keys(view, prefix)
        assert await view.count(prefix) == len(listed)
        await view.child_prefixes(prefix)
        await view.nonempty_ranges([prefix])
        await view.scan(prefix, limit=2)
        return listed, dict(counting.costs)


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_list_costs_the_same_with_fifty_other_tenants_as_with_none(prefix: str) -> None:
    alone, among_others = await costs_with(0, prefix), await costs_with(50, prefix)
    assert among_others == alone
    assert len(alone[0]) >= 3


async def test_crds_at_a_past_revision_cost_what_the_tenant_has_as_long_as_none_has_changed() -> None:
    async with tenant_stores.cluster() as cluster:
        for number in range(20):
            await fill(cluster.view(f"o{number:05}"))
        await fill(cluster.view())
        counting: Any = CountingStore(cluster.physical)
        view = TenantStore(counting, "111111", cluster.platform)
        view.unchanged_since(f"{CRDS}/-/")  # the store tracks the range from now on
        at = await view.revision()
        await steps.create(cluster.physical, "objects/pods/default/p")
        page = await view.scan(f"{CRDS}/", limit=10, at=at)
        assert len(page.records) == 3
        assert counting.costs == {"scans": 1, "reads": 1, "records": 2 * len(page.records)}
