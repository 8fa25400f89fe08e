"""ResourceQuotas: never exceeded, whoever comes at once; refused in Kubernetes' words; told in the status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.core import errors
from probate.store.contract import Store
from probate.store.sqlite.store import open_memory
from support.in_process_server import FakeClock, House, running

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def house() -> AsyncGenerator[House, None]:
    async with running() as house:
        yield house


async def limit(house: House, hard: dict[str, str], name: str = "q", **spec: Any) -> None:
    await house.create("resourcequotas", "default", {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})


def pod(name: str, requests: Any = None, limits: Any = None, **spec: Any) -> Any:
    resources = {"resources": {"requests": requests or {}, "limits": limits or {}}} if requests or limits else {}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", **resources}], **spec}}


def claim(name: str, size: str, **spec: Any) -> Any:
    return {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
    }


async def told(house: House, expected: dict[str, str], name: str = "q") -> None:
    """Wait until the status says this."""
    async with asyncio.timeout(60):
        while True:
            found = (await house.ask("GET", f"{QUOTAS}/{name}")).json
            if found.get("status", {}).get("used") == expected:
                assert found["status"]["hard"] == found["spec"]["hard"]
                return
            await asyncio.sleep(0.001)


async def test_one_too_many_is_refused_in_kubernetes_words(house: House) -> None:
    await limit(house, {"pods": "1"})
    assert (await house.ask("POST", PODS, pod("a"))).code == 201
    refused = await house.ask("POST", PODS, pod("b"))
    assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
    assert refused.json["message"] == 'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
    await told(house, {"pods": "1"})


async def test_amounts_are_summed_and_all_that_are_over_are_named(house: House) -> None:
    await limit(house, {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "10"})
    assert (await house.ask("POST", PODS, pod("a", {"cpu": "600m"}, {"memory": "512Mi"}))).code == 201
    refused = await house.ask("POST", PODS, pod("b", {"cpu": "500m"}, {"memory": "600Mi"}))
    assert refused.json["message"].endswith(
        "exceeded quota: q, requested: limits.memory=600Mi,requests.cpu=500m, used: limits.memory=512Mi,requests.cpu=600m, "
        "limited: limits.memory=1Gi,requests.cpu=1"
    )
    assert (await house.ask("POST", PODS, pod("c", {"cpu": "400m"}, {"memory": "512Mi"}))).code == 201
    await told(house, {"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"})


async def test_what_has_to_be_said_is_named_by_container(house: House) -> None:
    await limit(house, {"limits.cpu": "1", "memory": "1Gi"})
    two = pod("a", {"memory": "1Mi"})
    two["spec"]["containers"].append({"name": "d", "image": "i"})
    refused = await house.ask("POST", PODS, two)
    assert refused.json["message"] == 'pods "a" is forbidden: failed quota: q: must specify limits.cpu for: c,d; memory for: d'


async def test_a_deleted_or_ended_pod_makes_room(house: House) -> None:
    await limit(house, {"pods": "1", "count/pods": "2"})
    await house.create("pods", "default", pod("a"))
    assert (await house.ask("POST", PODS, pod("b"))).code == 403
    await house.ask("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, media=MERGE)
    assert (await house.ask("POST", PODS, pod("b"))).code == 201
    assert "count/pods=1" in (await house.ask("POST", PODS, pod("c"))).json["message"]
    await house.ask("DELETE", f"{PODS}/b", {"gracePeriodSeconds": 0})
    await told(house, {"pods": "0", "count/pods": "1"})
    assert (await house.ask("POST", PODS, pod("c"))).code == 201


async def test_sixty_four_at_once_take_exactly_what_there_is(house: House) -> None:
    await limit(house, {"requests.cpu": "1"})
    answers = await asyncio.gather(*(house.ask("POST", PODS, pod(f"p{number}", {"cpu": "100m"})) for number in range(64)))
    assert sorted(one.code for one in answers) == [201] * 10 + [403] * 54
    assert len((await house.ask("GET", PODS)).json["items"]) == 10
    await told(house, {"requests.cpu": "1"})


async def test_what_is_there_before_the_quota_is_counted(house: House) -> None:
    for number in range(3):
        await house.create("configmaps", "default", {"metadata": {"name": f"m{number}"}})
    await limit(house, {"count/configmaps": "3", "configmaps": "5"})
    refused = await house.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "more"}})
    assert "requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=3" in refused.json["message"]
    assert (await house.ask("POST", "/api/v1/namespaces/kube-public/configmaps", {"metadata": {"name": "more"}})).code == 201


async def test_services_count_ports_and_balancers_also_when_they_change(house: House) -> None:
    await limit(house, {"services": "2", "services.nodeports": "2", "services.loadbalancers": "0"})
    spec = {"selector": {"a": "b"}, "ports": [{"name": "x", "port": 1}, {"name": "y", "port": 2}]}
    await house.create("services", "default", {"metadata": {"name": "a"}, "spec": spec})
    path = "/api/v1/namespaces/default/services/a"
    assert (await house.ask("PATCH", path, {"spec": {"type": "NodePort"}}, media=MERGE)).code == 200
    refused = await house.ask("PATCH", path, {"spec": {"type": "LoadBalancer"}}, media=MERGE)
    assert (
        "requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0"
        in refused.json["message"]
    )
    await told(house, {"services": "1", "services.nodeports": "2", "services.loadbalancers": "0"})
    assert (await house.ask("PATCH", path, {"metadata": {"labels": {"l": "m"}}}, media=MERGE)).code == 200


async def test_a_pod_that_is_resized_and_a_claim_that_grows_are_counted_anew(house: House) -> None:
    await limit(house, {"requests.cpu": "1", "requests.storage": "3Gi"})
    await house.create("pods", "default", pod("a", {"cpu": "500m"}))
    wider = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    strategic = "application/strategic-merge-patch+json"
    refused = await house.ask("PATCH", f"{PODS}/a/resize", wider, media=strategic)
    assert "requested: requests.cpu=1500m, used: requests.cpu=500m, limited: requests.cpu=1" in refused.json["message"], (
        refused.body
    )
    wider["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert (await house.ask("PATCH", f"{PODS}/a/resize", wider, media=strategic)).code == 200
    gold = {"metadata": {"name": "gold"}, "provisioner": "example.com/p", "allowVolumeExpansion": True}
    await house.create("apis/storage.k8s.io/v1/storageclasses", "", gold)
    await house.create("persistentvolumeclaims", "default", claim("c", "2Gi", storageClassName="gold", volumeName="v"))
    await house.ask("PATCH", f"{CLAIMS}/c/status", {"status": {"phase": "Bound"}}, media=MERGE)
    grown = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
    refused = await house.ask("PATCH", f"{CLAIMS}/c", grown, media=MERGE)
    assert "requested: requests.storage=3Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi" in refused.json["message"]
    grown["spec"]["resources"]["requests"]["storage"] = "3Gi"
    assert (await house.ask("PATCH", f"{CLAIMS}/c", grown, media=MERGE)).code == 200
    await told(house, {"requests.cpu": "1", "requests.storage": "3Gi"})


async def test_storage_is_counted_by_class_too(house: House) -> None:
    gold = "gold.storageclass.storage.k8s.io"
    await limit(house, {"requests.storage": "10Gi", f"{gold}/requests.storage": "3Gi", f"{gold}/persistentvolumeclaims": "5"})
    assert (await house.ask("POST", CLAIMS, claim("a", "2Gi", storageClassName="gold"))).code == 201
    assert (await house.ask("POST", CLAIMS, claim("b", "2Gi", storageClassName="gold"))).code == 403
    assert (await house.ask("POST", CLAIMS, claim("c", "2Gi", storageClassName="lead"))).code == 201
    await told(house, {"requests.storage": "4Gi", f"{gold}/requests.storage": "2Gi", f"{gold}/persistentvolumeclaims": "1"})


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
async def test_a_scope_counts_only_what_is_in_it(house: House, _name: str, spec: Any, counted: Any, free: Any) -> None:
    await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "high"}, "value": 1})
    await limit(house, {"pods": "0"}, **spec)
    assert (await house.ask("POST", PODS, pod("a", **counted))).code == 403
    told = await house.ask("POST", PODS, pod("b", **free))
    assert told.code == 201, told.body


async def test_claims_are_counted_by_their_attributes(house: House) -> None:
    chosen = [{"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["fast"]}]
    await limit(house, {"persistentvolumeclaims": "0"}, scopeSelector={"matchExpressions": chosen})
    assert (await house.ask("POST", CLAIMS, claim("a", "1Gi", volumeAttributesClassName="fast"))).code == 403
    assert (await house.ask("POST", CLAIMS, claim("b", "1Gi"))).code == 201


async def test_devices_and_custom_kinds_are_counted(house: House) -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    definition = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    resource = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await house.create(resource, "", {"metadata": {"name": "widgets.example.com"}, "spec": definition})
    await limit(house, {"count/widgets.example.com": "1", "requests.example.com/gpu": "1"})
    widget = {"apiVersion": "example.com/v1", "kind": "Widget"}
    path = "/apis/example.com/v1/namespaces/default/widgets"
    assert (await house.ask("POST", path, {**widget, "metadata": {"name": "a"}})).code == 201
    assert (await house.ask("POST", path, {**widget, "metadata": {"name": "b"}})).code == 403
    two = {"example.com/gpu": "2"}
    assert "requests.example.com/gpu=2" in (await house.ask("POST", PODS, pod("p", two, two))).json["message"]


async def test_a_dry_run_is_held_to_the_quota_and_charges_nothing(house: House) -> None:
    await limit(house, {"pods": "1"})
    assert (await house.ask("POST", PODS, pod("a"), query={"dryRun": "All"})).code == 201
    assert (await house.ask("POST", PODS, pod("a"))).code == 201
    assert (await house.ask("POST", PODS, pod("b"), query={"dryRun": "All"})).code == 403


async def test_a_quota_that_is_raised_or_goes_holds_nobody(house: House) -> None:
    await limit(house, {"pods": "0"})
    assert (await house.ask("POST", PODS, pod("a"))).code == 403
    await house.ask("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"pods": "1"}}}, media=MERGE)
    assert (await house.ask("POST", PODS, pod("a"))).code == 201
    assert (await house.ask("POST", PODS, pod("b"))).code == 403
    await house.ask("DELETE", f"{QUOTAS}/q")
    assert (await house.ask("POST", PODS, pod("b"))).code == 201
    assert house.api.admission.validators == ()


async def test_a_refused_create_gives_its_turn_back(house: House) -> None:
    await limit(house, {"configmaps": "5"})
    await house.create("configmaps", "default", {"metadata": {"name": "a"}})
    path = "/api/v1/namespaces/default/configmaps"
    assert (await house.ask("POST", path, {"metadata": {"name": "a"}})).code == 409
    assert (await house.ask("POST", path, {"metadata": {"name": "b"}})).code == 201


async def test_a_namespace_that_goes_leaves_no_entry_behind(house: House) -> None:
    await house.create("namespaces", "", {"metadata": {"name": "n"}, "spec": {"finalizers": []}})
    await house.create("resourcequotas", "n", {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "5"}}})
    await house.create("configmaps", "n", {"metadata": {"name": "a"}})
    assert await house.store.read("quota/n") is not None
    for path in ("configmaps/a", "resourcequotas/q", ""):
        await house.ask("DELETE", f"/api/v1/namespaces/n/{path}".rstrip("/"))
    await house.ask("PUT", "/api/v1/namespaces/n/finalize", {"metadata": {"name": "n"}, "spec": {"finalizers": []}})
    assert (await house.ask("GET", "/api/v1/namespaces/n")).code == 404
    assert await house.store.read("quota/n") is None


class Cut:
    """A store whose watch of everything ends when the test says so."""

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
    """A watch that tells nothing, and ends."""

    revision = 0

    def __init__(self, end: asyncio.Event) -> None:
        self._end = end

    def hand_to(self, _: Any) -> None:
        pass

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        await self._end.wait()
        raise errors.TooSlow("cut", revision=0)


async def test_a_watch_that_ends_loses_nothing_that_a_quota_counts() -> None:
    store, clock = Cut(await open_memory()), FakeClock()
    async with running(store, clock, collects=False) as house:
        await limit(house, {"configmaps": "1"})
        path = "/api/v1/namespaces/default/configmaps"
        assert (await house.ask("POST", path, {"metadata": {"name": "a"}})).code == 201
        second = asyncio.ensure_future(house.ask("POST", path, {"metadata": {"name": "b"}}))
        await house.turns()
        assert not second.done()  # nobody knows how much is used
        store.is_cut.set()
        while not second.done():
            await clock.advance(1)
            await house.turns(20)
        assert (await second).code == 403


async def test_a_cascade_of_many_makes_room_for_as_many(house: House) -> None:
    owner = await house.create("secrets", "default", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"]}
    await limit(house, {"count/configmaps": "600"})
    path = "/api/v1/namespaces/default/configmaps"
    for number in range(600):
        await house.create("configmaps", "default", {"metadata": {"name": f"m{number}", "ownerReferences": [reference]}})
    assert (await house.ask("POST", path, {"metadata": {"name": "more"}})).code == 403
    await house.ask("DELETE", "/api/v1/namespaces/default/secrets/owner", {"propagationPolicy": "Background"})
    await house.rest()
    assert (await house.ask("POST", path, {"metadata": {"name": "more"}})).code == 201
    await told(house, {"count/configmaps": "1"})


@pytest.mark.parametrize(
    "edit", [{"used": {"pods": "7"}}, {"hard": {"pods": "100"}}, {"used": None}, None], ids=["used", "hard", "no-used", "no-status"]
)
async def test_a_status_that_somebody_edited_is_restored(house: House, edit: Any) -> None:
    await limit(house, {"pods": "5"})
    await house.create("pods", "default", pod("a"))
    await told(house, {"pods": "1"})
    assert (await house.ask("PATCH", f"{QUOTAS}/q/status", {"status": edit}, media=MERGE)).code == 200
    await told(house, {"pods": "1"})


async def test_a_claim_counts_for_its_wanted_and_for_its_current_attributes_class(house: House) -> None:
    for name in ("gold", "silver"):
        chosen = [{"scopeName": "VolumeAttributesClass", "operator": "In", "values": [name]}]
        await limit(house, {"persistentvolumeclaims": "2"}, name, scopeSelector={"matchExpressions": chosen})
    await house.create("persistentvolumeclaims", "default", claim("a", "1Gi", volumeAttributesClassName="gold"))
    bound = {"status": {"phase": "Bound", "currentVolumeAttributesClassName": "gold"}}
    assert (await house.ask("PATCH", f"{CLAIMS}/a/status", bound, media=MERGE)).code == 200
    change = {"spec": {"volumeAttributesClassName": "silver"}}
    assert (await house.ask("PATCH", f"{CLAIMS}/a", change, media=MERGE)).code == 200
    await told(house, {"persistentvolumeclaims": "1"}, "gold")
    await told(house, {"persistentvolumeclaims": "1"}, "silver")
    current = {"status": {"currentVolumeAttributesClassName": "silver"}}
    assert (await house.ask("PATCH", f"{CLAIMS}/a/status", current, media=MERGE)).code == 200
    await told(house, {"persistentvolumeclaims": "0"}, "gold")
