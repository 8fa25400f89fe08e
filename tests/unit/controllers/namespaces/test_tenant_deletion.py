"""The deletion of a tenant: what belongs to it goes in stages, and the Tenant last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api import tenants
from probate.api.ownership import Finalize, Outcome
from probate.controllers.namespaces.crd_deletion import CustomResourceDefinitions
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import ScopeDeletion
from probate.controllers.namespaces.tenant_deletion import Tenants
from probate.controllers.runtime.reconcile import ChangeFeedLoop
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.store.sqlite.store import open_memory
from support import bootstrap
from support.namespace_controller import NAMESPACES, FailingStore, Site, settle
from support.wait_for_objects import condition

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ONE = f"{TENANTS}/111111"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VOLUMES = "/api/v1/persistentvolumes"
WEB = f"{NAMESPACES}/111111-web"
HOLD = "example.com/hold"
POD = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    store = await open_memory()
    made = Site(FailingStore(store), FakeClock(), Tenants())
    await bootstrap.ensure_namespaces(made.api)
    for name in ("111111", "222222"):
        await made.make(TENANTS, name)
        await made.make(NAMESPACES, f"{name}-web")
    yield made
    await made.http.aclose()
    await store.close()


@asynccontextmanager
async def running(site: Site) -> AsyncIterator[None]:
    """Runs the controllers of all three kinds of scopes."""
    others = [ScopeDeletion(kind, site.backend, site.clock) for kind in (Namespaces(), CustomResourceDefinitions())]
    loops = [ChangeFeedLoop(f"scope {number}", one, site.backend, clock=site.clock) for number, one in enumerate(others)]
    async with site.running():
        started = [tasks.start_supervised(loop.run(), name="scope", on_failure=lambda _: None) for loop in loops]
        try:
            yield
        finally:
            await tasks.stop(*started)


async def tenant(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = (await site.http.get(ONE)).json()
    return found


async def until(site: Site, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Returns the Tenant, or the Status of a failed GET, once `holds` is true for it. Lets time pass."""
    for _ in range(100):
        await settle()
        now = await tenant(site)
        if holds(now):
            return now
        await site.clock.advance(1)
    raise AssertionError(now)


async def until_gone(site: Site) -> None:
    await until(site, lambda now: now.get("code") == 404)


async def until_reported(site: Site, text: str) -> dict[str, Any]:
    """Returns the Tenant once its status says that it waits for this."""
    return await until(site, lambda now: text in now["status"].get("waitingFor", ""))


async def post(site: Site, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await site.http.post(path, json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def exists(site: Site, path: str) -> bool:
    return (await site.http.get(path)).status_code == 200


async def is_marked(site: Site, path: str) -> bool:
    return "deletionTimestamp" in (await site.http.get(path)).json()["metadata"]


async def keys_of(site: Site, owner: str) -> list[str]:
    return [record.key for record in (await site.store.scan(tenants.content_range(owner), limit=100)).records]


def definition(group: str, scope: str = "Cluster") -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": group, "scope": scope, "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    return {"metadata": {"name": f"foos.{group}"}, "spec": spec}


async def fill(site: Site, owner: str) -> None:
    """Creates objects of many kinds in a tenant."""
    web = f"{NAMESPACES}/{owner}-web"
    for path in (f"{web}/configmaps", f"{web}/secrets", f"{web}/serviceaccounts", f"{web}/events"):
        body = {"involvedObject": {"namespace": f"{owner}-web"}} if path.endswith("events") else {}
        await post(site, path, {"metadata": {"name": "a"}, **body})
    await post(site, f"{web}/pods", {"metadata": {"name": "p"}, "spec": {**POD, "nodeName": ""}})
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    await post(site, f"/apis/apps/v1/namespaces/{owner}-web/deployments", {"metadata": {"name": "d"}, "spec": spec})
    await site.make(ROLES, f"{owner}-admin")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{owner}-admin"}
    await post(site, BINDINGS, {"metadata": {"name": f"{owner}-admin"}, "roleRef": role, "subjects": []})
    await post(site, CRDS, definition(f"{owner}-a.com"))
    foo = {"apiVersion": f"{owner}-a.com/v1", "kind": "Foo", "metadata": {"name": f"{owner}-x"}}
    await post(site, f"/apis/{owner}-a.com/v1/foos", foo)


def volume(name: str, claim: dict[str, str]) -> dict[str, Any]:
    disk = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    return {"metadata": {"name": name}, "spec": {**disk, "claimRef": claim}}


async def test_a_tenant_goes_with_all_that_belongs_to_it_and_nothing_else(site: Site) -> None:
    for owner in ("111111", "222222"):
        await fill(site, owner)
    for number, owner in enumerate(("111111", "222222")):
        await post(site, VOLUMES, volume(f"pvc-{number}", {"namespace": f"{owner}-web", "name": "c"}))
        await site.release(f"{VOLUMES}/pvc-{number}")
    await site.make(NAMESPACES, "111111")
    others = await keys_of(site, "222222")
    async with running(site):
        assert (await site.http.delete(ONE)).status_code == 200
        await until_gone(site)
    assert await keys_of(site, "111111") == []
    assert await keys_of(site, "222222") == others
    assert await exists(site, f"{NAMESPACES}/111111")
    assert not await exists(site, WEB)
    assert not await exists(site, f"{VOLUMES}/pvc-0")
    assert await exists(site, f"{VOLUMES}/pvc-1")
    all_keys = (await site.store.scan("objects/", limit=1000)).keys
    assert [key for key in all_keys if "111111" in tenants.ids_in_key(key)] == []
    await site.make(TENANTS, "111111")


async def test_an_empty_tenant_goes_at_once(site: Site) -> None:
    await site.make(TENANTS, "333333")
    async with running(site):
        await site.http.delete(f"{TENANTS}/333333")
        await settle()
        assert not await exists(site, f"{TENANTS}/333333")
        assert await exists(site, ONE)


async def test_a_tenant_that_is_not_deleted_is_left_alone(site: Site) -> None:
    await fill(site, "111111")
    before = await keys_of(site, "111111")
    async with running(site):
        await site.http.patch(ONE, json={"spec": {"id": 2}}, headers={"Content-Type": "application/merge-patch+json"})
        await site.clock.advance(3600)
        await settle()
    assert await keys_of(site, "111111") == before
    assert await tenant(site) == {**await tenant(site), "status": {"phase": "Pending"}}


async def test_pods_end_before_what_they_use_goes(site: Site) -> None:
    """A pod on a node ends in its own time. Access goes last of all."""
    await fill(site, "111111")
    await post(site, f"{WEB}/pods", {"metadata": {"name": "slow"}, "spec": POD})
    async with running(site):
        await site.http.delete(ONE)
        await settle()
        assert await is_marked(site, f"{WEB}/pods/slow")
        assert not await exists(site, "/apis/apps/v1/namespaces/111111-web/deployments/d")
        assert await exists(site, f"{WEB}/secrets/a")
        reported = await until_reported(site, "pods")
        remaining = {(one["group"], one["resource"]): one["count"] for one in reported["status"]["remaining"]}
        assert (remaining["", "pods"], remaining["", "secrets"], remaining["", "namespaces"]) == (1, 1, 1)
        assert reported["status"]["objects"] == sum(remaining.values()) == len(await keys_of(site, "111111"))
        answer = await site.http.request("DELETE", f"{WEB}/pods/slow", json={"gracePeriodSeconds": 0})
        assert answer.status_code == 200
        await until_gone(site)


async def test_a_foreign_finalizer_is_respected_and_reported(site: Site) -> None:
    """What it holds keeps the namespaces and the access of users, and nothing else."""
    await fill(site, "111111")
    await site.make(f"{WEB}/configmaps", "held", finalizers=[HOLD])
    async with running(site):
        await site.http.delete(ONE)
        reported = await until_reported(site, f"finalizer {HOLD} (1)")
        assert await is_marked(site, f"{WEB}/configmaps/held")
        assert not await exists(site, f"{WEB}/configmaps/a")
        assert not await is_marked(site, WEB)
        assert await exists(site, f"{ROLES}/111111-admin")
        assert await exists(site, f"{WEB}/serviceaccounts/a")
        row = next(one for one in reported["status"]["remaining"] if one["resource"] == "configmaps")
        assert row == {"group": "", "resource": "configmaps", "count": 1, "finalizers": [{"name": HOLD, "count": 1}]}
        assert reported["status"]["phase"] == "Terminating"
        held = condition(reported, "TenantFinalizersRemaining")
        assert (held["status"], held["reason"]) == ("True", "SomeFinalizersRemain")
        assert held["message"] == f"Some finalizers are remaining: {HOLD} in 1 resource instances"
        assert "configmaps has 1 resource instances" in condition(reported, "TenantContentRemaining")["message"]
        assert condition(reported, "TenantContentDeletionFailure")["status"] == "False"
        await site.release(f"{WEB}/configmaps/held")
        await until_gone(site)


async def test_a_stage_that_only_finalizers_hold_does_not_stop_the_next_ones(site: Site) -> None:
    """A pod with a finalizer that nobody removes: volumes and custom resources go all the same."""
    await fill(site, "111111")
    await post(site, f"{WEB}/pods", {"metadata": {"name": "held", "finalizers": [HOLD]}, "spec": {**POD, "nodeName": ""}})
    await post(site, VOLUMES, volume("pvc-0", {"namespace": "111111-web", "name": "c"}))
    async with running(site):
        await site.http.delete(ONE)
        await until_reported(site, HOLD)
        assert not await exists(site, "/apis/111111-a.com/v1/foos/111111-x")
        assert await is_marked(site, f"{VOLUMES}/pvc-0")
        assert not await is_marked(site, f"{CRDS}/foos.111111-a.com")
        await site.release(f"{WEB}/pods/held")
        await site.release(f"{VOLUMES}/pvc-0")
        await until_gone(site)


@pytest.mark.parametrize("finalizer", ["orphan", "foregroundDeletion"])
async def test_finalizers_of_the_collector_hold_nothing(site: Site, finalizer: str) -> None:
    await site.make(f"{WEB}/configmaps", "c", finalizers=[finalizer])
    async with running(site):
        await site.http.delete(ONE)
        await until_gone(site)


async def test_a_namespace_waited_for_the_tenant_that_it_owns(site: Site) -> None:
    namespace = (await site.http.get(WEB)).json()["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "111111-web", "uid": namespace, "blockOwnerDeletion": True}
    patch = {"metadata": {"ownerReferences": [owner]}}
    media = {"Content-Type": "application/merge-patch+json"}
    assert (await site.http.patch(ONE, json=patch, headers=media)).status_code == 200
    assert (await site.http.request("DELETE", WEB, json={"propagationPolicy": "Foreground"})).status_code == 200
    async with running(site):
        assert (await site.http.delete(ONE)).status_code == 200
        await until_gone(site)


async def test_other_finalizers_of_the_tenant_are_waited_for(site: Site) -> None:
    """Nothing else is left then, and the tenant's own finalizer goes last."""
    media = {"Content-Type": "application/merge-patch+json"}
    finalizers = [tenants.FINALIZER, HOLD]
    await site.http.patch(ONE, json={"metadata": {"finalizers": finalizers}}, headers=media)
    async with running(site):
        await site.http.delete(ONE)
        reported = await until_reported(site, f"finalizers of the Tenant: {HOLD}")
        assert set(reported["metadata"]["finalizers"]) == set(finalizers)
        assert reported["status"]["objects"] == 0
        assert "remaining" not in reported["status"]
        assert condition(reported, "TenantFinalizersRemaining")["message"] == f"The Tenant has finalizers: {HOLD}"
        revision = await site.backend.revision()
        await site.clock.advance(60)
        await settle()
        assert (await site.backend.revision(), site.loop.is_idle) == (revision, True)
        await site.http.patch(ONE, json={"metadata": {"finalizers": [tenants.FINALIZER]}}, headers=media)
        await until_gone(site)


async def test_a_provisioned_volume_that_changes_is_read_again(site: Site) -> None:
    """Its name does not say whose it is."""
    await post(site, VOLUMES, volume("pvc-0", {"namespace": "111111-web", "name": "c"}))
    media = {"Content-Type": "application/merge-patch+json"}
    await site.http.patch(f"{VOLUMES}/pvc-0", json={"metadata": {"finalizers": [HOLD]}}, headers=media)
    async with running(site):
        await site.http.delete(ONE)
        await until_reported(site, HOLD)
        await site.release(f"{VOLUMES}/pvc-0")
        await settle()
        assert not await exists(site, f"{VOLUMES}/pvc-0")
        await until_gone(site)


async def test_an_object_that_cannot_be_deleted_is_reported_and_stops_nothing_else(site: Site) -> None:
    await fill(site, "111111")
    site.store.undeletable = "objects/configmaps/111111-web/a"
    async with running(site):
        await site.http.delete(ONE)
        reported = await until_reported(site, "1 configmaps that cannot be deleted")
        assert condition(reported, "TenantContentDeletionFailure")["status"] == "True"
        assert not await exists(site, f"{WEB}/secrets/a")
        site.store.undeletable = ""
        await until_gone(site)


async def test_a_tenant_with_held_content_causes_no_work(site: Site) -> None:
    await site.make(f"{WEB}/configmaps", "held", finalizers=[HOLD])
    async with running(site):
        await site.http.delete(ONE)
        await until_reported(site, HOLD)
        await site.clock.advance(60)
        await settle()
        revision = await site.backend.revision()
        site.store.reads.clear()
        await site.make(f"{NAMESPACES}/222222-web/configmaps", "other")
        await site.clock.advance(3600)
        await settle()
        assert site.loop.is_idle
        assert await site.backend.revision() == revision + 1
        assert site.store.reads == []


async def test_missed_changes_are_found_after_a_restart(site: Site) -> None:
    await site.make(f"{WEB}/configmaps", "held", finalizers=[HOLD])
    async with running(site):
        await site.http.delete(ONE)
        await until_reported(site, HOLD)
    await site.release(f"{WEB}/configmaps/held")
    async with running(site):
        await until_gone(site)


async def test_a_tenant_with_content_cannot_be_finalized(site: Site) -> None:
    await site.http.delete(ONE)
    dying = await site.backend.get_object(str(tenants.TENANTS), "", "111111")
    assert dying is not None
    assert await site.backend.execute([Finalize(dying.item, {}, "it is said to be empty")]) == [Outcome.HELD]
    assert (await tenant(site))["metadata"]["finalizers"] == [tenants.FINALIZER]


async def test_a_tenant_is_not_ready_from_the_beginning_of_its_deletion(site: Site) -> None:
    """Conditions of others stay."""
    since = {"reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ready, other = {"type": "Ready", "status": "True", **since}, {"type": "Other", "status": "True", **since}
    media = {"Content-Type": "application/merge-patch+json"}
    await site.http.patch(f"{ONE}/status", json={"status": {"phase": "Active", "conditions": [ready, other]}}, headers=media)
    await site.make(f"{WEB}/configmaps", "held", finalizers=[HOLD])
    await site.make(f"{WEB}/configmaps", "held-too", finalizers=["example.com/other"])
    async with running(site):
        await site.http.delete(ONE)
        now = condition(await tenant(site), "Ready")
        reported = await until_reported(site, "example.com/other (1)")
        assert condition(reported, "Ready") == now
        assert (now["status"], now["reason"]) == ("False", "Terminating")
        assert now["lastTransitionTime"] != ready["lastTransitionTime"]
        assert condition(reported, "Other") == other
        assert reported["status"]["observedGeneration"] == 1
        await site.release(f"{WEB}/configmaps/held-too")
        assert condition(await until_reported(site, f"finalizer {HOLD} (1)"), "Ready") == now


async def test_forced_finalizers_are_removed_and_that_is_recorded(site: Site) -> None:
    """Only those that are named, only from objects that are being deleted, and only while the Tenant is."""
    media = {"Content-Type": "application/merge-patch+json"}
    force = {"spec": {"forceFinalizers": [HOLD]}}
    await site.make(f"{WEB}/configmaps", "held", finalizers=[HOLD])
    await site.make(f"{WEB}/configmaps", "both", finalizers=[HOLD, "example.com/other"])
    await site.make(f"{NAMESPACES}/222222-web/configmaps", "held", finalizers=[HOLD])
    await site.http.patch(ONE, json=force, headers=media)
    async with running(site):
        await settle()
        assert (await site.http.get(f"{WEB}/configmaps/held")).json()["metadata"]["finalizers"] == [HOLD]
        await site.http.delete(ONE)
        await until_reported(site, "finalizer example.com/other (1)")
        assert not await exists(site, f"{WEB}/configmaps/held")
        [event] = (await site.http.get(f"{NAMESPACES}/default/events")).json()["items"]
        assert (event["type"], event["reason"]) == ("Warning", "FinalizersRemoved")
        assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("Tenant", "111111")
        assert event["source"]["component"] == "tenant-deletion-controller"
        named = "configmaps/111111-web/both, configmaps/111111-web/held"
        assert event["message"] == f"finalizers in spec.forceFinalizers were removed from {named}"
        await site.http.patch(ONE, json={"spec": {"forceFinalizers": [HOLD, "example.com/other"]}}, headers=media)
        await until_gone(site)
    assert (await site.http.get(f"{NAMESPACES}/222222-web/configmaps/held")).json()["metadata"]["finalizers"] == [HOLD]


async def test_many_forced_finalizers_are_recorded_in_several_events(site: Site) -> None:
    for number in range(30):
        await site.make(f"{WEB}/configmaps", f"c{number}", finalizers=[HOLD])
    media = {"Content-Type": "application/merge-patch+json"}
    await site.http.patch(ONE, json={"spec": {"forceFinalizers": [HOLD]}}, headers=media)
    async with running(site):
        await site.http.delete(ONE)
        await until_gone(site)
    messages = [event["message"] for event in (await site.http.get(f"{NAMESPACES}/default/events")).json()["items"]]
    assert sorted(message.count("configmaps/") for message in messages) == [10, 20]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_of_what_belongs_to_a_tenant(site: Site, limit: int) -> None:
    await fill(site, "111111")
    everything = [tenants.content_entry("111111", key) for key in await all_pages(site, limit)]
    assert everything == await keys_of(site, "111111")
    chosen = await all_pages(site, limit, resources=("secrets", "configmaps", "leases.coordination.k8s.io"))
    assert chosen == ["objects/configmaps/111111-web/a", "objects/secrets/111111-web/a"]
    rest = await all_pages(site, limit, but=("secrets", "configmaps"))
    assert sorted([*chosen, *rest]) == sorted(await all_pages(site, limit))
    assert sum((await site.backend.count_tenant("111111")).values()) == len(everything)


async def all_pages(site: Site, limit: int, **options: Any) -> list[str]:
    found: list[str] = []
    token = ""
    while True:
        page = await site.backend.list_tenant("111111", token, limit=limit, **options)
        assert len(page.keys) <= limit
        found += page.keys
        token = page.continue_token
        if not token:
            return found
