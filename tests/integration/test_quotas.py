"""ResourceQuotas: never exceeded under concurrency, rejected in Kubernetes' words, reported in status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.core import errors
from probate.store.contract import Store
from probate.store.sqlite.store import open_memory
from support.in_process_server import FakeClock, InProcessServer, running

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncGenerator[InProcessServer, None]:
    async with running() as server:
        yield server


async def limit(server: InProcessServer, hard: dict[str, str], name: str = "q", **spec: Any) -> None:
    await server.create("resourcequotas", "default", {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})


def pod(name: str, requests: Any = None, limits: Any = None, **spec: Any) -> Any:
    resources = {"resources": {"requests": requests or {}, "limits": limits or {}}} if requests or limits else {}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", **resources}], **spec}}


def claim(name: str, size: str, **spec: Any) -> Any:
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
    }


async def told(server: InProcessServer, expected: dict[str, str], name: str = "q") -> None:
    """Waits until the quota's status has these values."""
    async with asyncio.timeout(60):
        while True:
            found = (await server.request("GET", f"{QUOTAS}/{name}")).json
            if found.get("status", {}).get("used") == expected:
                assert found["status"]["hard"] == found["spec"]["hard"]
                return
            await asyncio.sleep(0.001)


async def test_object_over_the_quota_is_rejected_in_kubernetes_words(server: InProcessServer) -> None:
    await limit(server, {"pods": "1"})
    assert (await server.request("POST", PODS, pod("a"))).code == 201
    refused = await server.request("POST", PODS, pod("b"))
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert refused.json["message"] == 'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    await told(server, {"pods": "1"})


async def test_amounts_are_summed_and_every_exceeded_resource_is_named(server: InProcessServer) -> None:
    await limit(server, {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "10"})
    assert (await server.request("POST", PODS, pod("a", {"cpu": "600m"}, {"memory": "512Mi"}))).code == 201
    refused = await server.request("POST", PODS, pod("b", {"cpu": "500m"}, {"memory": "600Mi"}))
    assert refused.json["message"].endswith(
        "exceeded quota: q, requested: limits.memory=600Mi,requests.cpu=500m, used: limits.memory=512Mi,requests.cpu=600m, "
        "limited: limits.memory=1Gi,requests.cpu=1"
    )
    assert (await server.request("POST", PODS, pod("c", {"cpu": "400m"}, {"memory": "512Mi"}))).code == 201
    await told(server, {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"})


async def test_missing_resources_are_named_by_container(server: InProcessServer) -> None:
    await limit(server, {"limits.cpu": "1", "memory": "1Gi"})
    two = pod("a", {"memory": "1Mi"})
    two["spec"]["containers"].append({"name": "d", "image": "i"})
    refused = await server.request("POST", PODS, two)
    assert refused.json["message"] == 'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c,d; memory for: d'


async def test_deleted_or_finished_pod_releases_its_quota(server: InProcessServer) -> None:
    await limit(server, {"pods": "1", "count/pods": "2"})
    await server.create("pods", "default", pod("a"))
    assert (await server.request("POST", PODS, pod("b"))).code == 403
    await server.request("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, media=MERGE)
    assert (await server.request("POST", PODS, pod("b"))).code == 201
    assert "count/pods=1" in (await server.request("POST", PODS, pod("c"))).json["message"]
    await server.request("DELETE", f"{PODS}/b", {"gracePeriodSeconds": 0})
    await told(server, {"pods": "0", "count/pods": "1"})
    assert (await server.request("POST", PODS, pod("c"))).code == 201


async def test_sixty_four_concurrent_creates_use_exactly_the_quota(server: InProcessServer) -> None:
    await limit(server, {"requests.cpu": "1"})
    answers = await asyncio.gather(*(server.request("POST", PODS, pod(f"p{number}", {"cpu": "100m"})) for number in range(64)))
    assert sorted(one.code for one in answers) == [201] * 10 + [403] * 54
    assert len((await server.request("GET", PODS)).json["items"]) == 10
    await told(server, {"requests.cpu": "1"})


async def test_objects_older_than_the_quota_are_counted(server: InProcessServer) -> None:
    for number in range(3):
        await server.create("configmaps", "default", {"metadata": {"name": f"m{number}"}})
    await limit(server, {"count/configmaps": "3", "configmaps": "5"})
    refused = await server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "more"}})
    assert "requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3" in refused.json["message"]
    assert (await server.request("POST", "/api/v1/namespaces/kube-public/configmaps", {"metadata": {"name": "more"}})).code == 201


async def test_service_updates_change_counted_ports_and_load_balancers(server: InProcessServer) -> None:
    await limit(server, {"services": "2", "services.nodeports": "2", "services.loadbalancers": "0"})
    spec = {"selector": {"a": "b"}, "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]}
    await server.create("services", "default", {"metadata": {"name": "a"}, "spec": spec})
    path = "/api/v1/namespaces/default/services/a"
    assert (await server.request("PATCH", path, {"spec": {"type": "NodePort"}}, media=MERGE)).code == 200
    refused = await server.request("PATCH", path, {"spec": {"type": "LoadBalancer"}}, media=MERGE)
    assert (
        "requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0"
        in refused.json["message"]
    )
    await told(server, {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"})
    assert (await server.request("PATCH", path, {"metadata": {"labels": {"l": "m"}}}, media=MERGE)).code == 200


async def test_resized_pod_and_grown_claim_are_recounted(server: InProcessServer) -> None:
    await limit(server, {"requests.cpu": "1", "requests.storage": "3Gi"})
    await server.create("pods", "default", pod("a", {"cpu": "500m"}))
    wider = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    strategic = "application/strategic-merge-patch+json"
    refused = await server.request("PATCH", f"{PODS}/a/resize", wider, media=strategic)
    assert "requested: requests.cpu=1500m, used: requests.cpu=500m, limited: requests.cpu=1" in refused.json["message"], (
        refused.body
    )
    wider["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert (await server.request("PATCH", f"{PODS}/a/resize", wider, media=strategic)).code == 200
    gold = {"metadata": {"name": "gold"}, "provisioner": "example.com/p", "allowVolumeExpansion": True}
    await server.create("apis/storage.k8s.io/v1/storageclasses", "", gold)
    await server.create("persistentvolumeclaims", "default", claim("c", "2Gi", storageClassName="gold", volumeName="v"))
    await server.request("PATCH", f"{CLAIMS}/c/status", {"status": {"phase": "Bound"}}, media=MERGE)
    grown = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
    refused = await server.request("PATCH", f"{CLAIMS}/c", grown, media=MERGE)
    assert "requested: requests.storage=3Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi" in refused.json["message"]
    grown["spec"]["resources"]["requests"]["storage"] = "3Gi"
    assert (await server.request("PATCH", f"{CLAIMS}/c", grown, media=MERGE)).code == 200
    await told(server, {"requests.cpu": "1", "requests.storage": "3Gi"})


async def test_storage_is_counted_by_class(server: InProcessServer) -> None:
    gold = "gold.storageclass.storage.k8s.io"
    await limit(server, {"requests.storage": "10Gi", f"{gold}/requests.storage": "3Gi", f"{gold}/persistentvolumeclaims": "5"})
    assert (await server.request("POST", CLAIMS, claim("a", "2Gi", storageClassName="gold"))).code == 201
    assert (await server.request("POST", CLAIMS, claim("b", "2Gi", storageClassName="gold"))).code == 403
    assert (await server.request("POST", CLAIMS, claim("c", "2Gi", storageClassName="lead"))).code == 201
    await told(server, {"requests.storage": "4Gi", f"{gold}/requests.storage": "2Gi", f"{gold}/persistentvolumeclaims": "1"})


SCOPES: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("BestEffort", {"scopes": ["BestEffort"]}, {}, {"requests": {"cpu": "1m"}}),
    ("NotBestEffort", {"scopes": ["NotBestEffort"]}, {"requests": {"cpu": "1m"}}, {}),
    ("Terminating", {"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, {}),
    ("NotTerminating", {"scopes": ["NotTerminating"]}, {}, {"activeDeadlineSeconds": 5}),
    (
        "PriorityClass",
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}},
        {"priorityClassName": "high"},
        {},
    ),
    (
        "CrossNamespacePodAffinity",
        {"scopes": ["CrossNamespacePodAffinity"]},
        {
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "k", "namespaces": ["other"], "labelSelector": {"matchLabels": {"a": "b"}}}
                    ]
                }
            }
        },
        {},
    ),
]


@pytest.mark.parametrize(("_name", "spec", "counted", "free"), SCOPES, ids=[one[0] for one in SCOPES])
async def test_scope_counts_only_matching_objects(server: InProcessServer, _name: str, spec: Any, counted: Any, free: Any) -> None:
    await server.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "high"}, "value": 1})
    await limit(server, {"pods": "0"}, **spec)
    assert (await server.request("POST", PODS, pod("a", **counted))).code == 403
    response = await server.request("POST", PODS, pod("b", **free))
    assert response.code == 201, response.body


async def test_claims_are_counted_by_their_attributes_class(server: InProcessServer) -> None:
    chosen = [{"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["fast"]}]
    await limit(server, {"persistentvolumeclaims": "0"}, scopeSelector={"matchExpressions": chosen})
    assert (await server.request("POST", CLAIMS, claim("a", "1Gi", volumeAttributesClassName="fast"))).code == 403
    assert (await server.request("POST", CLAIMS, claim("b", "1Gi"))).code == 201


async def test_devices_and_custom_kinds_are_counted(server: InProcessServer) -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    definition = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    resource = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await server.create(resource, "", {"metadata": {"name": "widgets.example.com"}, "spec": definition})
    await limit(server, {"count/widgets.example.com": "1", "requests.example.com/gpu": "1"})
    widget = {"apiVersion": "example.com/v1", "kind": "Widget"}
    path = "/apis/example.com/v1/namespaces/default/widgets"
    assert (await server.request("POST", path, {**widget, "metadata": {"name": "a"}})).code == 201
    assert (await server.request("POST", path, {**widget, "metadata": {"name": "b"}})).code == 403
    two = {"example.com/gpu": "2"}
    assert "requests.example.com/gpu=2" in (await server.request("POST", PODS, pod("p", two, two))).json["message"]


async def test_dry_run_is_checked_against_the_quota_and_charges_nothing(server: InProcessServer) -> None:
    await limit(server, {"pods": "1"})
    assert (await server.request("POST", PODS, pod("a"), query={"dryRun": "All"})).code == 201
    assert (await server.request("POST", PODS, pod("a"))).code == 201
    assert (await server.request("POST", PODS, pod("b"), query={"dryRun": "All"})).code == 403


async def test_raised_or_deleted_quota_no_longer_limits(server: InProcessServer) -> None:
    await limit(server, {"pods": "0"})
    assert (await server.request("POST", PODS, pod("a"))).code == 403
    await server.request("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"pods": "1"}}}, media=MERGE)
    assert (await server.request("POST", PODS, pod("a"))).code == 201
    assert (await server.request("POST", PODS, pod("b"))).code == 403
    await server.request("DELETE", f"{QUOTAS}/q")
    assert (await server.request("POST", PODS, pod("b"))).code == 201
    assert server.api.admission.chain.validators == ()


async def test_rejected_create_releases_its_reservation(server: InProcessServer) -> None:
    await limit(server, {"configmaps": "5"})
    await server.create("configmaps", "default", {"metadata": {"name": "a"}})
    path = "/api/v1/namespaces/default/configmaps"
    assert (await server.request("POST", path, {"metadata": {"name": "a"}})).code == 409
    assert (await server.request("POST", path, {"metadata": {"name": "b"}})).code == 201


async def test_deleted_namespace_leaves_no_quota_entry(server: InProcessServer) -> None:
    await server.create("namespaces", "", {"metadata": {"name": "n"}, "spec": {"finalizers": []}})
    await server.create("resourcequotas", "n", {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "5"}}})
    await server.create("configmaps", "n", {"metadata": {"name": "a"}})
    assert await server.store.read("quota/n") is not None
    for path in ("configmaps/a", "resourcequotas/q", ""):
        await server.request("DELETE", f"/api/v1/namespaces/n/{path}".rstrip("/"))
    await server.request("PUT", "/api/v1/namespaces/n/finalize", {"metadata": {"name": "n"}, "spec": {"finalizers": []}})
    assert (await server.request("GET", "/api/v1/namespaces/n")).code == 404
    assert await server.store.read("quota/n") is None


class Cut:
    """A store whose watch ends when the test says so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.cuts = 0
        self.is_cut = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def watch(self, prefix: str, *, after: Any) -> AsyncGenerator[Any, None]:
        if prefix != "objects/" or self.cuts:
            async with self._store.watch(prefix, after=after) as watch:
                yield watch
            return
        self.cuts += 1
        yield Ending(self.is_cut)


class Ending:
    """A watch without events that ends."""

    revision = 0

    def __init__(self, end: asyncio.Event) -> None:
        self._end = end

    def set_handler(self, handler: Any) -> None:
        pass

    def wake(self) -> None:
        pass

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        await self._end.wait()
        raise errors.TooSlow("cut", revision=0)


async def test_interrupted_watch_loses_no_counted_object() -> None:
    store, clock = Cut(await open_memory()), FakeClock()
    async with running(store, clock, collects=False) as server:
        await limit(server, {"configmaps": "1"})
        path = "/api/v1/namespaces/default/configmaps"
        assert (await server.request("POST", path, {"metadata": {"name": "a"}})).code == 201
        second = asyncio.ensure_future(server.request("POST", path, {"metadata": {"name": "b"}}))
        await server.yield_to_loop()
        assert not second.done()  # the usage is not known yet
        store.is_cut.set()
        while not second.done():
            await clock.advance(1)
            await server.yield_to_loop(20)
        assert (await second).code == 403


async def test_large_cascade_releases_its_quota(server: InProcessServer) -> None:
    owner = await server.create("secrets", "default", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"]}
    await limit(server, {"count/configmaps": "600"})
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(600):
        await server.create("configmaps", "default", {"metadata": {"name": f"m{number}", "ownerReferences": [reference]}})
    assert (await server.request("POST", path, {"metadata": {"name": "more"}})).code == 403
    await server.request("DELETE", "/api/v1/namespaces/default/secrets/owner", {"propagationPolicy": "Background"})
    await server.wait_until_idle()
    assert (await server.request("POST", path, {"metadata": {"name": "more"}})).code == 201
    await told(server, {"count/configmaps": "1"})


@pytest.mark.parametrize(
    "edit", [{"used": {"pods": "7"}}, {"hard": {"pods": "100"}}, {"used": None}, None], ids=["used", "hard", "no-used", "no-status"]
)
async def test_a_status_that_somebody_edited_is_restored(server: InProcessServer, edit: Any) -> None:
    await limit(server, {"pods": "5"})
    await server.create("pods", "default", pod("a"))
    await told(server, {"pods": "1"})
    assert (await server.request("PATCH", f"{QUOTAS}/q/status", {"status": edit}, media=MERGE)).code == 200
    await told(server, {"pods": "1"})


async def test_claim_counts_for_its_desired_and_its_current_attributes_class(server: InProcessServer) -> None:
    for name in ("gold", "silver"):
        chosen = [{"scopeName": "VolumeAttributesClass", "operator": "In", "values": [name]}]
        await limit(server, {"persistentvolumeclaims": "1"}, name, scopeSelector={"matchExpressions": chosen})
    await server.create("persistentvolumeclaims", "default", claim("a", "1Gi", volumeAttributesClassName="gold"))
    bound = {"status": {"phase": "Bound", "currentVolumeAttributesClassName": "gold"}}
    assert (await server.request("PATCH", f"{CLAIMS}/a/status", bound, media=MERGE)).code == 200
    change = {"spec": {"volumeAttributesClassName": "silver"}}
    assert (await server.request("PATCH", f"{CLAIMS}/a", change, media=MERGE)).code == 200
    await told(server, {"persistentvolumeclaims": "1"}, "silver")
    for name in ("gold", "silver"):  # the statuses come later: whether there is room is known at once
        assert (await server.request("POST", CLAIMS, claim("b", "1Gi", volumeAttributesClassName=name))).code == 403, name
    await told(server, {"persistentvolumeclaims": "1"}, "gold")
    current = {"status": {"currentVolumeAttributesClassName": "silver"}}
    assert (await server.request("PATCH", f"{CLAIMS}/a/status", current, media=MERGE)).code == 200
    await told(server, {"persistentvolumeclaims": "0"}, "gold")
