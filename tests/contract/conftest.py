"""Runs every test in this folder once on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probate.store.contract import Store
from support import store_engines, tenant_stores

DIFFERENT_FOR_TENANTS = {
    "test_partial_ranges": "a tenant has no tenants: its ranges are of whole segments",
    "test_tenant_erasure": "a tenant has no tenants",
    "test_longest_key_can_be_an_object_an_entry_and_a_guard": "a tenant's keys are shorter by its prefix",
    "test_child_prefixes_are_the_nonempty_ranges_one_segment_below": "creates a node: those are the platform's",
    "test_empty_range_sees_index_entries": "guards a family of entries: those of all tenants are in it",
    "test_any_path_under_objects_can_be_an_object[tenant-objects/x]": "lists go by resources, and this key has none",
}
"""The few tests, by module or name, that ask what the view of a tenant answers in another way."""


def skip_if_not_for_tenants(request: pytest.FixtureRequest) -> None:
    node = request.node
    for name in (node.path.stem, node.originalname, node.name):
        if name in DIFFERENT_FOR_TENANTS:
            pytest.skip(DIFFERENT_FOR_TENANTS[name])


@pytest.fixture(params=["model", "memory", "ownership", "sqlite", "etcd", "etcd-3.5", "tenant"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> store_engines.Engine:
    match request.param:
        case "memory":
            return store_engines.Memory()
        case "ownership":
            return store_engines.Owned()
        case "sqlite":
            return store_engines.File(tmp_path)
        case "etcd":
            return store_engines.Etcd(request.getfixturevalue("etcd_member").endpoint)
        case "etcd-3.5":
            return store_engines.Etcd(request.getfixturevalue("newer_etcd_member").endpoint)
        case "tenant":
            skip_if_not_for_tenants(request)
            return tenant_stores.TenantEngine()
    return store_engines.ModelEngine()


@pytest.fixture
async def store(engine: store_engines.Engine) -> AsyncIterator[Store]:
    async with store_engines.open_store(engine) as store:
        yield store
