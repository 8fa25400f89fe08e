"""What the collector and its like delete is in the audit log, each object for itself, with whoever's request led to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from probate.controllers.manager import EVENTS, IN_BULK, at_work
from probate.core.clock import Clock, FakeClock
from probate.server.audit import deletion_causes
from probate.server.audit.deletion_causes import Fall, Falls, Lead
from probate.server.bootstrap import rbac_roles
from probate.settings import Settings
from support.audit_logs import METADATA, Log, audited
from support.in_process_server import running
from support.rbac_server import RBAC, Guarded

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
ANYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


@asynccontextmanager
async def governed(clock: Clock | None = None, names: tuple[str, ...] = IN_BULK, **settings: Any) -> AsyncGenerator[Guarded, None]:
    """A server with its roles, and with those at work who act in bulk."""
    async with running(clock=clock, collects=False) as house:
        house.__class__ = Guarded
        assert isinstance(house, Guarded)
        await rbac_roles.ensure_roles(house.api)
        async with at_work(house.api, house.clock, names, Settings(**settings)):
            yield house


@pytest.fixture
async def house() -> AsyncGenerator[Guarded, None]:
    async with governed() as house:
        await house.grant("ann", ANYTHING)
        yield house


@pytest.fixture
async def log(house: Guarded, quick_path: Path) -> AsyncGenerator[Log, None]:
    async with audited(house, quick_path) as log:
        yield log


def owned(name: str, *owners: Any, blocks: bool = False, **more: Any) -> dict[str, Any]:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            **{key: one["metadata"][key] for key in ("name", "uid")},
            "blockOwnerDeletion": blocks,
        }
        for one in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references, **more}}


async def gone(house: Guarded, path: str) -> None:
    await until(lambda: _is_gone(house, path))


async def _is_gone(house: Guarded, path: str) -> bool:
    return (await house.ask("GET", path)).code == 404


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110 nobody tells
            await asyncio.sleep(0.001)


def cause(event: Any) -> list[Any]:
    return json.loads(event["annotations"]["probate.dev/cause"])  # type: ignore[no-any-return]


async def by(log: Log, account: str, verb: str = "delete", *, about: str = "", number: int = 1) -> list[Any]:
    """What one of our own did, all of it or to one object: so much at least. It is seen to be done before it is told."""
    found: list[Any] = []

    async def is_told() -> bool:
        events = [one for one in await log.events(verb=verb) if one["user"]["username"].endswith(f":kube-system:{account}")]
        found[:] = [one for one in events if about in {"", one["objectRef"]["name"]}]
        return len(found) >= number

    await until(is_told)
    return found


async def test_a_collected_object_is_told_with_the_request_that_led_to_it(house: Guarded, log: Log) -> None:
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    child = await house.create("configmaps", "default", owned("child", owner))
    asked = await house.ask_as("ann", "DELETE", f"{MAPS}/owner")
    await gone(house, f"{MAPS}/child")
    [event] = await by(log, "generic-garbage-collector")
    meta = child["metadata"]
    assert event["objectRef"] == {
        "resource": "configmaps",
        "namespace": "default",
        "name": "child",
        "uid": meta["uid"],
        "apiVersion": "v1",
        "resourceVersion": meta["resourceVersion"],
    }
    assert (event["stage"], event["level"], event["requestURI"]) == ("ResponseComplete", "Metadata", f"{MAPS}/child")
    assert event["responseStatus"] == {"metadata": {}, "status": "Success", "code": 200}
    assert cause(event) == [
        {
            "resource": "configmaps",
            "namespace": "default",
            "name": "owner",
            "uid": owner["metadata"]["uid"],
            "user": "ann",
            "auditID": asked.headers["audit-id"],
        }
    ]
    annotations = event["annotations"]
    assert annotations["probate.dev/because"] == f"owner ConfigMap owner ({owner['metadata']['uid']}) is gone"
    assert annotations["probate.dev/effect"] == "removed"
    assert annotations["authorization.k8s.io/decision"] == "allow"
    assert annotations["authorization.k8s.io/reason"].startswith(
        'RBAC: allowed by ClusterRoleBinding "system:controller:generic-garbage'
    )
    assert event["user"]["groups"] == ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_a_chain_goes_from_the_object_to_the_root(house: Guarded, log: Log, policy: str) -> None:
    made = [await house.create("configmaps", "default", {"metadata": {"name": "m0"}})]
    for number in range(1, 5):
        made.append(await house.create("configmaps", "default", owned(f"m{number}", made[-1], blocks=True)))
    asked = await house.ask_as("ann", "DELETE", f"{MAPS}/m0", {"propagationPolicy": policy})
    await gone(house, f"{MAPS}/m4")
    await gone(house, f"{MAPS}/m0")
    [last] = await by(log, "generic-garbage-collector", about="m4")
    assert [one["name"] for one in cause(last)] == ["m3", "m2", "m1", "m0"]
    assert [one.get("auditID") for one in cause(last)] == [None, None, None, asked.headers["audit-id"]]
    if policy == "Foreground":
        [root] = await by(log, "generic-garbage-collector", "patch", about="m0")
        assert cause(root) == [cause(last)[-1]]
        assert root["annotations"]["probate.dev/effect"] == "removed"


async def test_what_a_collection_deletes_leads_to_that_request(house: Guarded, log: Log) -> None:
    """Its dependents go while it is not answered yet."""
    owners = [
        await house.create("configmaps", "default", {"metadata": {"name": f"o{one}", "labels": {"a": "b"}}}) for one in range(5)
    ]
    for one in owners:
        await house.create("configmaps", "default", owned(f"of-{one['metadata']['name']}", one))
    asked = await house.ask_as("ann", "DELETE", MAPS, query={"labelSelector": "a=b"})
    await gone(house, f"{MAPS}/of-o4")
    told = await by(log, "generic-garbage-collector", number=5)
    assert {one[0]["auditID"] for one in map(cause, told)} == {asked.headers["audit-id"]}


async def test_an_owner_nobody_saw_go_is_said_not_to_be_known(house: Guarded, log: Log) -> None:
    lost = {"metadata": {"name": "lost", "uid": "never-seen"}}
    await house.create("configmaps", "default", owned("child", lost))
    await gone(house, f"{MAPS}/child")
    [event] = await by(log, "generic-garbage-collector")
    assert cause(event) == [{"kind": "ConfigMap", "name": "lost", "uid": "never-seen", "deletedBy": deletion_causes.UNKNOWN}]


async def test_who_is_not_audited_is_named_all_the_same(house: Guarded, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", "rules: [{level: None, users: [system:unsecured]}, ")
    async with audited(house, quick_path, policy) as log:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await house.create("configmaps", "default", owned("child", owner))
        await house.ask_as("ann", "DELETE", f"{MAPS}/owner")
        await gone(house, f"{MAPS}/child")
        [event] = await by(log, "generic-garbage-collector")
        assert await log.events() == [event]
        assert cause(event)[0]["user"] == "ann"
        assert "auditID" not in cause(event)[0]


async def test_the_policy_decides_on_what_the_collector_does_too(house: Guarded, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", f'rules: [{{level: None, users: ["{COLLECTOR}"]}}, ')
    async with audited(house, quick_path, policy) as log:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await house.create("configmaps", "default", owned("child", owner))
        await house.ask("DELETE", f"{MAPS}/owner")
        await gone(house, f"{MAPS}/child")
        assert [one["objectRef"]["name"] for one in await log.events(verb="delete")] == ["owner"]


async def test_references_that_are_dropped_are_told_too(house: Guarded, log: Log) -> None:
    one, two = [await house.create("configmaps", "default", {"metadata": {"name": name}}) for name in ("one", "two")]
    await house.create("configmaps", "default", owned("child", one, two))
    asked = await house.ask_as("ann", "DELETE", f"{MAPS}/one")
    await until(lambda: _is_let_go(house))
    [event] = await by(log, "generic-garbage-collector", "patch")
    assert (event["objectRef"]["name"], event["annotations"]["probate.dev/effect"]) == ("child", "changed")
    assert [one["auditID"] for one in cause(event)] == [asked.headers["audit-id"]]


async def _is_let_go(house: Guarded) -> bool:
    return len((await house.ask("GET", f"{MAPS}/child")).json["metadata"]["ownerReferences"]) == 1


async def test_what_goes_with_its_namespace_is_told_with_who_deleted_that(house: Guarded, log: Log) -> None:
    space = await house.create("namespaces", "", {"metadata": {"name": "shop"}})
    await house.create("configmaps", "shop", {"metadata": {"name": "m"}})
    asked = await house.ask_as("ann", "DELETE", "/api/v1/namespaces/shop")
    await gone(house, "/api/v1/namespaces/shop")
    [event] = await by(log, "namespace-controller")
    assert (event["objectRef"]["name"], event["objectRef"]["namespace"]) == ("m", "shop")
    assert cause(event) == [
        {
            "resource": "namespaces",
            "name": "shop",
            "uid": space["metadata"]["uid"],
            "user": "ann",
            "auditID": asked.headers["audit-id"],
        }
    ]
    concluded = (await by(log, "namespace-controller", "update"))[-1]
    assert concluded["objectRef"]["subresource"] == "finalize"
    assert concluded["requestURI"] == "/api/v1/namespaces/shop/finalize"
    assert concluded["annotations"]["probate.dev/effect"] == "removed"


async def test_what_goes_with_its_definition_is_told_with_who_deleted_that(house: Guarded, log: Log) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    assert (await house.ask("POST", CRDS, {"metadata": {"name": "things.example.com"}, "spec": spec})).code == 201
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    await house.create("apis/example.com/v1/things", "default", thing)
    asked = await house.ask_as("ann", "DELETE", f"{CRDS}/things.example.com")
    await gone(house, f"{CRDS}/things.example.com")
    [event] = await by(log, "probate-definitions")
    assert event["requestURI"] == "/apis/example.com/v1/namespaces/default/things/t"
    assert [one["auditID"] for one in cause(event)] == [asked.headers["audit-id"]]


async def test_events_whose_time_is_over_are_told(quick_path: Path) -> None:
    clock = FakeClock()
    async with governed(clock, (EVENTS,), event_ttl=10.0) as house, audited(house, quick_path) as log:
        about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m"}
        await house.create("events", "default", {"metadata": {"name": "e"}, **about})
        await house.turns()
        await clock.advance(11)
        await house.turns()
        [event] = await by(log, "probate-event-expiry")
        assert (event["objectRef"]["name"], cause(event)) == ("e", [])
        assert event["annotations"]["probate.dev/because"] == "nobody has written it for 10 s"


async def test_a_server_that_asks_nobody_tells_it_too(quick_path: Path) -> None:
    async with governed(insecure=True) as house, audited(house, quick_path) as log:
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await house.create("configmaps", "default", owned("child", owner))
        await house.ask("DELETE", f"{MAPS}/owner")
        await gone(house, f"{MAPS}/child")
        [event] = await by(log, "generic-garbage-collector")
        assert [one["user"] for one in cause(event)] == ["system:unsecured"]


async def test_what_is_denied_is_told_once_for_a_kind_and_namespace(house: Guarded, log: Log) -> None:
    role = f"{RBAC}/clusterroles/system:controller:generic-garbage-collector"
    assert (await house.ask("PATCH", role, {"rules": []}, media="application/merge-patch+json")).code == 200
    owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
    for name in ("a", "b"):
        await house.create("configmaps", "default", owned(name, owner))
    await house.ask_as("ann", "DELETE", f"{MAPS}/owner")
    [event] = await by(log, "generic-garbage-collector")
    assert (event["responseStatus"]["code"], event["responseStatus"]["reason"]) == (403, "Forbidden")
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert "probate.dev/effect" not in event["annotations"]
    assert [one["user"] for one in cause(event)] == ["ann"]


def test_a_long_chain_is_cut_in_the_middle() -> None:
    known = Falls()
    known.note("0", Fall("maps", "a", "m0", user="ann", request="r"))
    for number in range(1, 1_000):
        known.note(str(number), Fall("maps", "a", f"m{number}", *known.below([Lead(str(number - 1))])))
    told = json.loads(known.chain([Lead("999")]))
    assert [one.get("name") for one in told] == [
        *(f"m{number}" for number in range(999, 999 - deletion_causes.NEAREST, -1)),
        None,
        "m0",
    ]
    assert told[-2] == {"more": 1_000 - deletion_causes.NEAREST - 1}
    assert told[-1] == {"resource": "maps", "namespace": "a", "name": "m0", "uid": "0", "user": "ann", "auditID": "r"}
    assert (
        len(json.loads(known.chain([Lead(str(deletion_causes.NEAREST))]))) == deletion_causes.NEAREST + 1
    )  # where nothing is left out


def test_where_a_large_cascade_began_is_not_forgotten() -> None:
    known = Falls()
    known.note("root", Fall("maps", "a", "root", user="ann"))
    for number in range(3 * deletion_causes.REMEMBERED):
        known.note(str(number), Fall("maps", "a", "m", *known.below([Lead("root")])))
        if number % 1_000 == 0:
            assert "ann" in known.chain([Lead("root")])
    assert "ann" in known.chain([Lead("root")])


def test_the_first_reason_counts() -> None:
    known = Falls()
    known.note("x", Fall("maps", "a", "x", user="ann"))
    known.note("x", Fall("maps", "a", "x", user="bob"))
    known.note("x", Fall("maps", "a", "x"))
    assert "ann" in known.chain([Lead("other"), Lead("x")])
