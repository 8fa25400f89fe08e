"""KindRegistry as CRDs are created and deleted: entries of unchanged CRDs are reused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.storage import storage_keys
from probate.store import contract
from probate.store.contract import Revision, Store, Txn
from probate.store.sqlite.store import open_memory

NOW = "2024-01-01T00:00:00Z"


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await open_memory()
    yield opened
    await opened.close()


def key(plural: str, group: str) -> str:
    return f"objects/{storage_keys.CRDS}/{object_keys.NO_NAMESPACE}/{plural}.{group}"


async def create_crd(store: Store, plural: str, group: str, kind: str, **schema: Any) -> Revision:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", **schema}}}
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    object_ = {"metadata": {"name": f"{plural}.{group}"}, "spec": spec}
    outcome = await store.commit(contract.create(key(plural, group), object_codec.stored(object_)))
    assert isinstance(outcome, int)
    return Revision(outcome)


async def delete_crd(store: Store, plural: str, group: str) -> None:
    found = await store.read(key(plural, group))
    assert found is not None
    await store.commit(contract.delete(found.key, revision=found.revision))


def apples(kinds: KindRegistry) -> Resource:
    found = kinds.catalog.find("fruit.example.com", "v1", "apples")
    assert found is not None
    return found


async def test_other_crd_leaves_resources_and_rules_unchanged(store: Store) -> None:
    kinds = KindRegistry(store, catalog.load())
    await create_crd(store, "apples", "fruit.example.com", "Apple")
    await kinds.refresh(now=NOW)
    resource = apples(kinds)
    rules = kinds.rules(resource)
    await create_crd(store, "pears", "fruit.example.com", "Pear")
    await kinds.refresh(now=NOW)
    assert kinds.catalog.find("fruit.example.com", "v1", "pears") is not None
    assert apples(kinds) is resource
    assert kinds.rules(resource) is rules


async def test_names_that_become_free_go_to_the_next_crd(store: Store) -> None:
    kinds = KindRegistry(store, catalog.load())
    await create_crd(store, "apples", "fruit.example.com", "Apple")
    await kinds.refresh(now=NOW)
    await create_crd(store, "others", "fruit.example.com", "Apple")
    await kinds.refresh(now=NOW)
    assert kinds.catalog.find("fruit.example.com", "v1", "others") is None
    await delete_crd(store, "apples", "fruit.example.com")
    await kinds.refresh(now=NOW)
    assert kinds.catalog.find("fruit.example.com", "v1", "apples") is None
    assert kinds.catalog.find("fruit.example.com", "v1", "others") is not None


async def test_crd_whose_status_could_not_be_written_is_updated_by_the_next_refresh(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = KindRegistry(store, catalog.load())
    await create_crd(store, "apples", "fruit.example.com", "Apple")

    async def fail(_: Txn) -> Any:
        raise errors.StoreUnavailable("not now")

    with monkeypatch.context() as broken:
        broken.setattr(store, "commit", fail)
        with pytest.raises(errors.StoreUnavailable):
            await kinds.refresh(now=NOW)
    await kinds.refresh(now=NOW)
    assert kinds.catalog.find("fruit.example.com", "v1", "apples") is not None


async def test_request_for_a_kind_that_went_meanwhile_finds_nothing(store: Store) -> None:
    kinds = KindRegistry(store, catalog.load())
    await create_crd(store, "apples", "fruit.example.com", "Apple")
    await kinds.refresh(now=NOW)
    resource = apples(kinds)
    await delete_crd(store, "apples", "fruit.example.com")
    await kinds.refresh(now=NOW)
    with pytest.raises(errors.NotFound):
        kinds.rules(resource)


async def test_request_resolved_before_a_crd_change_does_not_cache_old_rules(store: Store) -> None:
    kinds = KindRegistry(store, catalog.load())
    await create_crd(store, "apples", "fruit.example.com", "Apple")
    await kinds.refresh(now=NOW)
    resource = apples(kinds)
    await delete_crd(store, "apples", "fruit.example.com")
    await create_crd(store, "apples", "fruit.example.com", "Apple", required=["taste"])
    await kinds.refresh(now=NOW)
    apple = {"metadata": {"name": "one", "namespace": "a"}}
    assert kinds.rules(resource).validate_create(apple) == []
    assert [problem.field for problem in kinds.rules(apples(kinds)).validate_create(apple)] == ["taste"]
