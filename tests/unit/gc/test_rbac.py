"""The collector and its like do what their roles grant and nothing else: who takes a right away stops them, until it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.api.rbac import bootstrap_roles
from probate.api.rbac.grants import Grants
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.user_rules import Rights
from probate.controllers.manager import EVENTS, IN_BULK, LEADS, at_work, doer, user_of
from probate.gc import forbidden
from probate.server.bootstrap import rbac_roles
from probate.settings import Settings
from support.in_process_server import FakeClock, running
from support.rbac_server import RBAC, Guarded

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
ROLE = f"{RBAC}/clusterroles/system:controller:"
COLLECTOR, NAMESPACES = "generic-garbage-collector", "namespace-controller"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@asynccontextmanager
async def governed(**settings: Any) -> AsyncGenerator[Guarded, None]:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as house:
        house.__class__ = Guarded
        assert isinstance(house, Guarded)
        await rbac_roles.ensure_roles(house.api)
        async with at_work(house.api, clock, IN_BULK, Settings(**settings)):
            yield house


@pytest.fixture
async def house() -> AsyncGenerator[Guarded, None]:
    async with governed() as house:
        yield house


async def narrow(house: Guarded, role: str, *rules: dict[str, Any]) -> list[Any]:
    """Give a role these rules, and no others. Returns those it had."""
    path = f"{ROLE}{role}"
    before = (await house.ask("GET", path)).json["rules"]
    told = await house.ask("PATCH", path, {"rules": list(rules)}, media=MERGE)
    assert told.code == 200, told.body
    return before  # type: ignore[no-any-return]


async def settle(house: Guarded, seconds: float = 0.0) -> None:
    """Let everybody go on, and time pass."""
    await house.turns(400)
    if seconds:
        assert isinstance(house.clock, FakeClock)
        await house.clock.advance(seconds)
        await house.turns(400)


async def there(house: Guarded, *names: str) -> list[str]:
    return [name for name in names if (await house.ask("GET", f"{MAPS}/{name}")).code == 200]


async def family(house: Guarded, policy: str, *, number: int = 2) -> None:
    """An owner with dependents, which was deleted."""
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
    for one in range(number):
        await house.create("configmaps", "default", {"metadata": {"name": f"child-{one}", "ownerReferences": [about]}})
    await settle(house, 0.1)  # nobody has to look at them because they are new
    assert (await house.ask("DELETE", f"{MAPS}/owner", {"propagationPolicy": policy})).code in {200, 202}


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
async def test_without_the_right_nothing_is_done_and_with_it_all_is(
    house: Guarded, caplog: pytest.LogCaptureFixture, policy: str, left_alone: list[str], rules: list[Any]
) -> None:
    before = await narrow(house, COLLECTOR, *rules)
    await family(house, policy)
    await settle(house, 0.1)
    await settle(house, 5)
    everybody = ("owner", "child-0", "child-1")
    assert await there(house, *everybody) == left_alone
    told = [one.getMessage() for one in caplog.records if "is not granted to them, and waits until it is" in one.getMessage()]
    assert len(told) == 1
    assert f'User "system:serviceaccount:kube-system:{COLLECTOR}" cannot' in told[0]
    assert "What is missing is a rule such as" in told[0]
    await narrow(house, COLLECTOR, *before)
    await settle(house, forbidden.LOOK_SECONDS)
    await settle(house, forbidden.LOOK_SECONDS)
    assert await there(house, *everybody) == (["child-0", "child-1"] if policy == "Orphan" else [])


async def test_what_is_denied_is_counted_and_waits_without_being_tried(house: Guarded) -> None:
    await narrow(house, COLLECTOR)
    await family(house, "Background", number=20)
    await settle(house, 0.1)
    for _ in range(10):
        await settle(house, forbidden.LOOK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 20
    assert await figure(house, "probate_gc_queue_length") == 21  # with one appointment
    await narrow(house, "replicaset-controller")  # rights have changed, but not those
    await settle(house, forbidden.LOOK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 40
    assert len((await house.ask("GET", MAPS)).json["items"]) == 20


async def test_an_owner_that_may_not_let_go_waits_without_trying(house: Guarded) -> None:
    await narrow(house, COLLECTOR, rule("delete"))
    await family(house, "Orphan", number=3)
    for _ in range(5):
        await settle(house, forbidden.LOOK_SECONDS)
    assert await figure(house, "probate_denied_actions_total", COLLECTOR) == 3


async def test_a_right_to_one_thing_is_none_to_another(house: Guarded) -> None:
    """Of objects in one folder, looked at together, some are to be deleted and some to be changed."""
    await narrow(house, COLLECTOR, rule("patch"))
    one, two = [await house.create("configmaps", "default", {"metadata": {"name": name}}) for name in ("one", "two")]
    about = [
        {"apiVersion": "v1", "kind": "ConfigMap", **{key: of["metadata"][key] for key in ("name", "uid")}} for of in (one, two)
    ]
    for name, owners in (("a-lone", about[:1]), ("b-kept", about), ("c-lone", about[:1])):
        await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": owners}})
    await settle(house, 0.1)
    await house.ask("DELETE", f"{MAPS}/one")
    await settle(house, 0.1)
    assert await there(house, "a-lone", "b-kept", "c-lone") == ["a-lone", "b-kept", "c-lone"]
    kept = (await house.ask("GET", f"{MAPS}/b-kept")).json["metadata"]["ownerReferences"]
    assert [one["name"] for one in kept] == ["two"]


async def test_a_binding_that_is_deleted_stops_it_too(house: Guarded) -> None:
    assert (await house.ask("DELETE", f"{RBAC}/clusterrolebindings/system:controller:{COLLECTOR}")).code == 200
    await family(house, "Background")
    await settle(house, 0.1)
    assert await there(house, "child-0", "child-1") == ["child-0", "child-1"]


async def test_a_right_in_one_namespace_is_for_that_one(house: Guarded) -> None:
    await narrow(house, COLLECTOR)
    account = f"system:serviceaccount:kube-system:{COLLECTOR}"
    await house.grant(account.replace(":", "-"), rule("delete"), namespace="default")
    name = next(
        one["metadata"]["name"] for one in (await house.ask("GET", f"{RBAC}/namespaces/default/rolebindings")).json["items"]
    )
    body = {"subjects": [{"kind": "ServiceAccount", "name": COLLECTOR, "namespace": "kube-system"}]}
    assert (await house.ask("PATCH", f"{RBAC}/namespaces/default/rolebindings/{name}", body, media=MERGE)).code == 200
    await family(house, "Background")
    await settle(house, 0.1)
    assert await there(house, "child-0", "child-1") == []


async def test_a_namespace_waits_for_the_right_and_says_what_failed(house: Guarded) -> None:
    before = await narrow(house, NAMESPACES, rule("update", resources=["namespaces/finalize", "namespaces/status"]))
    await house.create("namespaces", "", {"metadata": {"name": "shop"}})
    for number in range(3):
        await house.create("configmaps", "shop", {"metadata": {"name": f"m{number}"}})
    await house.ask("DELETE", "/api/v1/namespaces/shop")
    for _ in range(5):
        await settle(house, 1)
    conditions = {one["type"]: one for one in (await house.ask("GET", "/api/v1/namespaces/shop")).json["status"]["conditions"]}
    assert conditions["NamespaceDeletionContentFailure"]["status"] == "True"
    assert (await figure(house, "probate_denied_actions_total", NAMESPACES)) == 3
    await narrow(house, NAMESPACES, *before)
    for _ in range(5):
        await settle(house, 1)
    assert (await house.ask("GET", "/api/v1/namespaces/shop")).code == 404


async def figure(house: Guarded, name: str, account: str = "") -> float:
    lines = (await house.ask("GET", "/metrics")).body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and account in line)


async def test_events_and_definitions_wait_for_their_rights() -> None:
    async with governed(event_ttl=10.0) as house:
        roles = ("probate-event-expiry", "probate-definitions")
        before = [await narrow(house, role) for role in roles]
        about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m"}
        await house.create("events", "default", {"metadata": {"name": "e"}, **about})
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
        await house.ask("POST", CRDS, {"metadata": {"name": "things.example.com"}, "spec": spec})
        await house.create(
            "apis/example.com/v1/things", "", {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        )
        await house.ask("DELETE", f"{CRDS}/things.example.com")
        paths = ("/api/v1/namespaces/default/events/e", f"{CRDS}/things.example.com")
        await settle(house, 11)
        await settle(house, 2)
        assert [(await house.ask("GET", path)).code for path in paths] == [200, 200]
        for role, rules in zip(roles, before, strict=True):
            await narrow(house, role, *rules)
        for _ in range(4):
            await settle(house, 60)
        assert [(await house.ask("GET", path)).code for path in paths] == [404, 404]


@pytest.mark.parametrize("may_tell", [True, False])
async def test_it_warns_by_events_if_it_may(house: Guarded, may_tell: bool) -> None:
    if not may_tell:
        await narrow(house, COLLECTOR, rule("delete patch"))
    await house.create("namespaces", "", {"metadata": {"name": "other"}})
    owner = await house.create("configmaps", "other", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await house.create("configmaps", "default", {"metadata": {"name": "child-0", "ownerReferences": [about]}})
    await settle(house, 0.1)
    assert await there(house, "child-0") == []
    found = (await house.ask("GET", "/api/v1/namespaces/default/events")).json["items"]
    assert [one["reason"] for one in found] == (["OwnerRefInvalidNamespace"] if may_tell else [])


async def test_a_server_that_asks_nobody_asks_not_them() -> None:
    async with governed(insecure=True) as house:
        await narrow(house, COLLECTOR)
        await family(house, "Background")
        await settle(house, 0.1)
        assert await there(house, "child-0", "child-1") == []


async def test_a_right_that_comes_while_it_is_denied_is_not_missed(house: Guarded) -> None:
    """Rights that change between the question and the note that it was denied."""
    before = await narrow(house, COLLECTOR)
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await house.create("configmaps", "default", {"metadata": {"name": "child-0", "ownerReferences": [about]}})
    deleting = asyncio.create_task(house.ask("DELETE", f"{MAPS}/owner"))
    for turns in range(60):
        if turns == 20:
            await narrow(house, COLLECTOR, *before)
        await asyncio.sleep(0)
    await deleting
    await settle(house, forbidden.LOOK_SECONDS)
    await settle(house, forbidden.LOOK_SECONDS)
    assert await there(house, "child-0") == []


@pytest.mark.parametrize("name", IN_BULK)
def test_each_has_what_it_needs_and_no_more(name: str) -> None:
    grants = Grants()
    for resource, object_ in bootstrap_roles.seeds():
        grants.put(resource, object_["metadata"].get("namespace", ""), object_["metadata"]["name"], object_)
    rights, user = Rights(grants, user_of(name)), user_of(name)
    assert rights.allow(Ask("delete", "", "events", namespace="a", name="x"))
    assert rights.allow(Ask("delete", "", "configmaps", namespace="a", name="x")) is (name != EVENTS)
    assert not user.is_master
    assert doer(name, is_checked=True).leads is LEADS[name]
    for verb in ("create", "escalate", "bind", "impersonate"):
        assert not rights.allow(Ask(verb, "rbac.authorization.k8s.io", "clusterroles", name="cluster-admin")), verb
