"""Tests of the simulator: it must find each deliberate defect of the deletion of tenants within three hundred seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from probate.api import object_keys, tenants
from probate.api.object_keys import Key
from probate.api.ownership import KeyPage
from probate.controllers.namespaces.content_deletion import ContentDeletion
from probate.server.objects import deletion
from probate.server.ownership import tenant_content
from probate.server.verbs import create
from probate.store import pagination
from probate.store.contract import EmptyRange, Guard, Store, Txn, Unchanged
from probate.tenants.ownership import owned_transactions, stored_labels
from simulation import faults, seeds

pytestmark = pytest.mark.long
STEPS = 500
SEEDS = range(300)


def first_failure() -> str:
    """Returns the first failure in one of the seeds with tenants."""
    with_tenants = [seed for seed in SEEDS if faults.fault_rates(seed).tenant_users]
    report = seeds.first_failure(with_tenants, STEPS)
    assert report is not None, "nothing was found"
    assert seeds.play(report.seed, STEPS) == report, "the failure cannot be played again"
    return report.failure


def replace_result(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, change: Any) -> None:
    function = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *given, **more: change(function(*given, **more)))


def without_guard_of_openness(plan: Any) -> Any:
    """Returns the plan without the guard that the tenant is open."""
    if not isinstance(plan, Txn):
        return plan
    kept = tuple(one for one in plan.guards if not (isinstance(one, Unchanged) and one.key.startswith("tenant-open/")))
    return msgspec.structs.replace(plan, guards=kept)


def test_creation_without_the_guard_that_the_tenant_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_result(monkeypatch, owned_transactions, "owned_create", without_guard_of_openness)
    assert "was created in a closed tenant" in first_failure()


def test_tenant_that_is_removed_without_the_guard_that_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its controller believes what it has listed. Without the guard, it must also believe that a page is all there is."""
    monkeypatch.setattr(ContentDeletion, "is_over", property(lambda content: len(content._stages) < 3))
    replace_result(monkeypatch, deletion, "removal_guards", lambda guards: () if _is_of_tenant(guards) else guards)
    assert "was removed although it was not empty" in first_failure()


def _is_of_tenant(guards: tuple[Guard, ...]) -> bool:
    return any(isinstance(one, EmptyRange) and one.prefix.startswith("tenant/") for one in guards)


def test_sweep_by_a_prefix_without_the_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    async def keys_named_like(store: Store, tenant: str, continue_entry: str, **_: Any) -> KeyPage:
        pages = [page.keys async for page in pagination.pages(store, "objects/") if not continue_entry]
        return KeyPage([Key(key) for keys in pages for key in keys if _name(key).startswith(tenant) and not _is_tenant(key)])

    monkeypatch.setattr(tenant_content, "list_keys", keys_named_like)
    assert "was swept away although it belongs to no tenant that is being deleted" in first_failure()


def _name(key: str) -> str:
    """Returns the namespace, or the name of a cluster-scoped object."""
    _, _, namespace, name = key.split("/")
    return name if namespace == "-" else namespace


def _is_tenant(key: str) -> bool:
    return key.startswith(tenants.TENANTS_RANGE)


def test_sweep_of_an_object_between_two_tenants_that_looks_at_names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The volumes of claims have other names: by their names alone, they stay when their tenant is gone."""
    monkeypatch.setattr(stored_labels, "claiming_tenant", lambda _: "")
    assert "has the label of" in first_failure()


@pytest.mark.parametrize("resource", ["configmaps", "clusterroles.rbac.authorization.k8s.io", "orbs.sim.example.com"])
def test_objects_of_one_kind_that_are_not_in_the_index(monkeypatch: pytest.MonkeyPatch, resource: str) -> None:
    changed = owned_transactions._changed

    def forgetful(txn: Txn, *, owners: Iterable[str] = (), **more: Any) -> Txn:
        return changed(txn, owners=() if object_keys.resource_in(txn.key) == resource else owners, **more)

    monkeypatch.setattr(owned_transactions, "_changed", forgetful)
    assert "index entries of tenants are wrong" in first_failure()


def test_objects_of_one_kind_whose_entries_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    removed = owned_transactions.owned_delete

    def forgetful(txn: Txn, owners: Iterable[str]) -> Txn:
        return removed(txn, () if object_keys.resource_in(txn.key) == "secrets" else owners)

    monkeypatch.setattr(owned_transactions, "owned_delete", forgetful)
    assert "index entries of tenants are wrong" in first_failure()


def test_tenant_that_is_created_although_its_names_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any, **__: Any) -> list[Key]:
        return []

    monkeypatch.setattr(tenant_content, "find_objects_in_the_way", nothing)
    monkeypatch.setattr(create, "EmptyRange", lambda _: EmptyRange("nothing/"))
    assert "was created although there is" in first_failure()
