"""Runs every test in this folder once on each engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from probate.store.contract import Store
from support import store_engines


@pytest.fixture(params=["model", "memory", "ownership", "sqlite", "etcd", "etcd-3.5"])
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
    return store_engines.ModelEngine()


@pytest.fixture
async def store(engine: store_engines.Engine) -> AsyncIterator[Store]:
    async with store_engines.open_store(engine) as store:
        yield store
