"""Bulk controllers do only what their roles grant: a revoked permission stops them until it is granted again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api.rbac import bootstrap_roles
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.rule_resolver import RuleResolver
from probate.api.rbac.user_rules import UserRules
from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS, EVENT_TTL, bulk_actor, get, user_of
from probate.gc import forbidden
from probate.settings import Settings
from support import bootstrap
from support.in_process_server import FakeClock, running
from support.rbac_server import RBAC, RbacServer

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
ROLE = f"{RBAC}/clusterroles/system:controller:"
COLLECTOR, NAMESPACES = "generic-garbage-collector", "namespace-controller"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@asynccontextmanager
async def server_with_rbac(**settings: Any) -> AsyncGenerator[RbacServer, None]:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        house.__class__ = RbacServer
        assert isinstance(house, RbacServer)
        await bootstrap.ensure_roles(house.api)
        async with run_all(house.api, clock, BULK_CONTROLLERS, settings=Settings(**settings)):
            yield house


@pytest.fixture
async def house() -> AsyncGenerator[RbacServer, None]:
    async with server_with_rbac() as house:
        yield house


async def replace_rules(house: RbacServer, role: str, *rules: dict[str, Any]) -> list[Any]:
    """Replaces the rules of a role. Returns those it had."""
    path = f"{ROLE}{role}"
    before = (await house.request("GET", path)).json["rules"]
    response = await house.request("PATCH", path, {"rules": list(rules)}, media=MERGE)
    assert response.code == 200, response.body
    return before  # type: ignore[no-any-return]


async def settle(house: RbacServer, seconds: float = 0.0) -> None:
    """Lets all tasks run, and time pass."""
    await house.yield_to_loop(400)
    if seconds:
        assert isinstance(house.clock, FakeClock)
        await house.clock.advance(seconds)
        await house.yield_to_loop(400)


async def existing(house: RbacServer, *names: str) -> list[str]:
    return [name for name in names if (await house.request("GET", f"{MAPS}/{name}")).code == 200]


async def delete_owner(house: RbacServer, policy: str, *, number: int = 2) -> None:
    """Creates an owner with dependents and deletes it."""
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
    for one in range(number):
        await house.create("configmaps", "default", {"metadata": {"name": f"child-{one}", "ownerReferences": [about]}})
    await settle(house, 0.1)  # nobody has to look at them because they are new
    assert (await house.request("DELETE", f"{MAPS}/owner", {"propagationPolicy": policy})).code in {200, 202}


def rule(verbs: str, **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [""], "resources": ["configmaps"], **more}


@pytest.mark.parametrize(
    ("policy", "left_alone", "rules"),
    [
        ("Background", ["child-0", "child-1"], [rule("patch get list")]),
        ("Foreground", ["owner", "child-0", "child-1"], [rule("patch")]),
        ("Foreground", ["owner"], [rule("delete")]),
        ("Orphan", ["owner", "child-0", "child-1"], [rule("delete")]),
        ("Background", ["child-0", "child-1"], []),
        ("Background", ["child-0", "child-1"], [rule("delete", resources=["secrets"])]),
        ("Background", ["child-1"], [rule("delete", resourceNames=["child-0"])]),
    ],
)
async def test_without_the_permission_nothing_is_done_and_with_it_everything_is(
    house: RbacServer, caplog: pytest.LogCaptureFixture, policy: str, left_alone: list[str], rules: list[Any]
) -> None:
    before = await replace_rules(house, COLLECTOR, *rules)
    await delete_owner(house, policy)
    await settle(house, 0.1)
    await settle(house, 5)
    everything = ("owner", "child-0", "child-1")
    assert await existing(house, *everything) == left_alone
    lines = [f"{record.getMessage()} {getattr(record, 'facts', {})}" for record in caplog.records]
    denials = [line for line in lines if "What is missing is a rule such as" in line]
    assert len(denials) == 1
    assert f'User "system:serviceaccount:kube-system:{COLLECTOR}" cannot' in denials[0]
    await replace_rules(house, COLLECTOR, *before)
    await settle(house, forbidden.CHECK_SECONDS)
    await settle(house, forbidden.CHECK_SECONDS)
    assert await existing(house, *everything) == (["child-0", "child-1"] if policy == "Orphan" else [])


async def test_denied_work_is_counted_and_waits_without_retries(house: RbacServer) -> None:
    await replace_rules(house, COLLECTOR)
    await delete_owner(house, "Background", number=20)
    await settle(house, 0.1)
    for _ in range(10):
        await settle(house, forbidden.CHECK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 20
    assert await figure(house, "probate_gc_queue_length") == 21  # with one appointment
    await replace_rules(house, "replicaset-controller")  # rights have changed, but not those
    await settle(house, forbidden.CHECK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 40
    assert len((await house.request("GET", MAPS)).json["items"]) == 20


async def test_an_owner_that_may_not_orphan_waits_without_retries(house: RbacServer) -> None:
    await replace_rules(house, COLLECTOR, rule("delete"))
    await delete_owner(house, "Orphan", number=3)
    for _ in range(5):
        await settle(house, forbidden.CHECK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 3


async def test_a_permission_for_one_verb_does_not_grant_another(house: RbacServer) -> None:
    """Of objects in one namespace, decided together, some are to be deleted and some to be patched."""
    await replace_rules(house, COLLECTOR, rule("patch"))
    one, two = [await house.create("configmaps", "default", {"metadata": {"name": name}}) for name in ("one", "two")]
    about = [
        {"apiVersion": "v1", "kind": "ConfigMap", **{key: of["metadata"][key] for key in ("name", "uid")}} for of in (one, two)
    ]
    for name, owners in (("a-lone", about[:1]), ("b-kept", about), ("c-lone", about[:1])):
        await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": owners}})
    await settle(house, 0.1)
    await house.request("DELETE", f"{MAPS}/one")
    await settle(house, 0.1)
    assert await existing(house, "a-lone", "b-kept", "c-lone") == ["a-lone", "b-kept", "c-lone"]
    kept = (await house.request("GET", f"{MAPS}/b-kept")).json["metadata"]["ownerReferences"]
    assert [one["name"] for one in kept] == ["two"]


async def test_a_deleted_binding_stops_the_collector_too(house: RbacServer) -> None:
    assert (await house.request("DELETE", f"{RBAC}/clusterrolebindings/system:controller:{COLLECTOR}")).code == 200
    await delete_owner(house, "Background")
    await settle(house, 0.1)
    assert await existing(house, "child-0", "child-1") == ["child-0", "child-1"]


async def test_a_permission_in_one_namespace_does_not_extend_to_others(house: RbacServer) -> None:
    await replace_rules(house, COLLECTOR)
    account = f"system:serviceaccount:kube-system:{COLLECTOR}"
    await house.grant(account.replace(":", "-"), rule("delete"), namespace="default")
    name = next(
        one["metadata"]["name"] for one in (await house.request("GET", f"{RBAC}/namespaces/default/rolebindings")).json["items"]
    )
    body = {"subjects": [{"kind": "ServiceAccount", "name": COLLECTOR, "namespace": "kube-system"}]}
    assert (await house.request("PATCH", f"{RBAC}/namespaces/default/rolebindings/{name}", body, media=MERGE)).code == 200
    await delete_owner(house, "Background")
    await settle(house, 0.1)
    assert await existing(house, "child-0", "child-1") == []


async def test_a_namespace_waits_for_the_permission_and_reports_what_failed(house: RbacServer) -> None:
    before = await replace_rules(house, NAMESPACES, rule("update", resources=["namespaces/finalize", "namespaces/status"]))
    await house.create("namespaces", "", {"metadata": {"name": "shop"}})
    for number in range(3):
        await house.create("configmaps", "shop", {"metadata": {"name": f"m{number}"}})
    await house.request("DELETE", "/api/v1/namespaces/shop")
    for _ in range(5):
        await settle(house, 1)
    conditions = {one["type"]: one for one in (await house.request("GET", "/api/v1/namespaces/shop")).json["status"]["conditions"]}
    assert conditions["NamespaceDeletionContentFailure"]["status"] == "True"
    assert (await figure(house, "probate_denied_actions_total", NAMESPACES)) == 3
    await replace_rules(house, NAMESPACES, *before)
    for _ in range(5):
        await settle(house, 1)
    assert (await house.request("GET", "/api/v1/namespaces/shop")).code == 404


async def figure(house: RbacServer, name: str, account: str = "") -> float:
    lines = (await house.request("GET", "/metrics")).body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and account in line)


async def test_events_and_crds_wait_for_their_permissions() -> None:
    async with server_with_rbac(event_ttl=10.0) as house:
        roles = ("probate-event-expiry", "probate-definitions")
        before = [await replace_rules(house, role) for role in roles]
        about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m"}
        await house.create("events", "default", {"metadata": {"name": "e"}, **about})
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
        await house.request("POST", CRDS, {"metadata": {"name": "things.example.com"}, "spec": spec})
        await house.create(
            "apis/example.com/v1/things", "", {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        )
        await house.request("DELETE", f"{CRDS}/things.example.com")
        paths = ("/api/v1/namespaces/default/events/e", f"{CRDS}/things.example.com")
        await settle(house, 11)
        await settle(house, 2)
        assert [(await house.request("GET", path)).code for path in paths] == [200, 200]
        for role, rules in zip(roles, before, strict=True):
            await replace_rules(house, role, *rules)
        for _ in range(4):
            await settle(house, 60)
        assert [(await house.request("GET", path)).code for path in paths] == [404, 404]


@pytest.mark.parametrize("may_tell", [True, False])
async def test_warning_events_need_permission(house: RbacServer, may_tell: bool) -> None:
    if not may_tell:
        await replace_rules(house, COLLECTOR, rule("delete patch"))
    await house.create("namespaces", "", {"metadata": {"name": "other"}})
    owner = await house.create("configmaps", "other", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await house.create("configmaps", "default", {"metadata": {"name": "child-0", "ownerReferences": [about]}})
    await settle(house, 0.1)
    assert await existing(house, "child-0") == []
    found = (await house.request("GET", "/api/v1/namespaces/default/events")).json["items"]
    assert [one["reason"] for one in found] == (["OwnerRefInvalidNamespace"] if may_tell else [])


async def test_an_insecure_server_does_not_check_bulk_controllers() -> None:
    async with server_with_rbac(insecure=True) as house:
        await replace_rules(house, COLLECTOR)
        await delete_owner(house, "Background")
        await settle(house, 0.1)
        assert await existing(house, "child-0", "child-1") == []


async def test_a_permission_that_is_granted_while_it_is_denied_is_not_missed(house: RbacServer) -> None:
    """Permissions change between the check and the recording of the denial."""
    before = await replace_rules(house, COLLECTOR)
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await house.create("configmaps", "default", {"metadata": {"name": "child-0", "ownerReferences": [about]}})
    deleting = asyncio.create_task(house.request("DELETE", f"{MAPS}/owner"))
    for turns in range(60):
        if turns == 20:
            await replace_rules(house, COLLECTOR, *before)
        await asyncio.sleep(0)
    await deleting
    await settle(house, forbidden.CHECK_SECONDS)
    await settle(house, forbidden.CHECK_SECONDS)
    assert await existing(house, "child-0") == []


@pytest.mark.parametrize("name", BULK_CONTROLLERS)
def test_each_bulk_controller_has_least_privileges(name: str) -> None:
    grants = RuleResolver()
    for resource, object_ in bootstrap_roles.bootstrap_objects():
        grants.put(resource, object_["metadata"].get("namespace", ""), object_["metadata"]["name"], object_=object_)
    rights, user = UserRules(grants, user_of(name)), user_of(name)
    assert rights.allow(ResourceAttributes("delete", "", "events", namespace="a", name="x"))
    assert rights.allow(ResourceAttributes("delete", "", "configmaps", namespace="a", name="x")) is (name != EVENT_TTL)
    assert not user.is_superuser
    assert bulk_actor(name, is_checked=True).trigger is get(name).trigger
    for verb in ("create", "escalate", "bind", "impersonate"):
        assert not rights.allow(ResourceAttributes(verb, "rbac.authorization.k8s.io", "clusterroles", name="cluster-admin")), verb
