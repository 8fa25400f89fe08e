"""Audit events of the garbage collector and other actors: one per object, with the request that caused the deletion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from probate.controllers.manager import run_all
from probate.controllers.registry import BULK_CONTROLLERS, EVENT_TTL
from probate.core.clock import Clock, FakeClock
from probate.server.audit import deletion_causes
from probate.server.audit.deletion_causes import CauseRef, DeletionCauses, DeletionRecord
from probate.settings import Settings
from support import bootstrap
from support.audit_logs import METADATA, AuditLogReader, with_audit_log
from support.in_process_server import running
from support.rbac_server import RBAC, RbacServer

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
ANYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


@asynccontextmanager
async def running_with_controllers(
    clock: Clock | None = None, names: tuple[str, ...] = BULK_CONTROLLERS, **settings: Any
) -> AsyncGenerator[RbacServer, None]:
    """Runs a server with default roles and with the controllers that act in bulk."""
    async with running(clock=clock, collects=False) as server:
        server.__class__ = RbacServer
        assert isinstance(server, RbacServer)
        await bootstrap.ensure_roles(server.api)
        async with run_all(server.api, server.clock, names, settings=Settings(**settings)):
            yield server


@pytest.fixture
async def server() -> AsyncGenerator[RbacServer, None]:
    async with running_with_controllers() as server:
        await server.grant("ann", ANYTHING)
        yield server


@pytest.fixture
async def log(server: RbacServer, quick_path: Path) -> AsyncGenerator[AuditLogReader, None]:
    async with with_audit_log(server, quick_path) as log:
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


async def wait_until_gone(server: RbacServer, path: str) -> None:
    await wait_until(lambda: _is_gone(server, path))


async def _is_gone(server: RbacServer, path: str) -> bool:
    return (await server.request("GET", path)).code == 404


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110 there is no event to wait for
            await asyncio.sleep(0.001)


def cause(event: Any) -> list[Any]:
    return json.loads(event["annotations"]["probate.dev/cause"])  # type: ignore[no-any-return]


async def events_by(
    log: AuditLogReader, account: str, verb: str = "delete", *, name_wanted: str = "", number: int = 1
) -> list[Any]:
    """Returns the events of one controller, for all objects or for one, once there are enough: events follow the actions."""
    result: list[Any] = []

    async def are_recorded() -> bool:
        events = [one for one in await log.events(verb=verb) if one["user"]["username"].endswith(f":kube-system:{account}")]
        result[:] = [one for one in events if name_wanted in {"", one["objectRef"]["name"]}]
        return len(result) >= number

    await wait_until(are_recorded)
    return result


async def test_collected_object_is_recorded_with_the_request_that_caused_it(server: RbacServer, log: AuditLogReader) -> None:
    owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
    child = await server.create("configmaps", "default", owned("child", owner))
    asked = await server.ask_as("ann", "DELETE", f"{MAPS}/owner")
    await wait_until_gone(server, f"{MAPS}/child")
    [event] = await events_by(log, "generic-garbage-collector")
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
async def test_chain_leads_from_the_object_to_the_root(server: RbacServer, log: AuditLogReader, policy: str) -> None:
    created = [await server.create("configmaps", "default", {"metadata": {"name": "m0"}})]
    for number in range(1, 5):
        created.append(await server.create("configmaps", "default", owned(f"m{number}", created[-1], blocks=True)))
    asked = await server.ask_as("ann", "DELETE", f"{MAPS}/m0", body={"propagationPolicy": policy})
    await wait_until_gone(server, f"{MAPS}/m4")
    await wait_until_gone(server, f"{MAPS}/m0")
    [last] = await events_by(log, "generic-garbage-collector", name_wanted="m4")
    assert [one["name"] for one in cause(last)] == ["m3", "m2", "m1", "m0"]
    assert [one.get("auditID") for one in cause(last)] == [None, None, None, asked.headers["audit-id"]]
    if policy == "Foreground":
        [root] = await events_by(log, "generic-garbage-collector", "patch", name_wanted="m0")
        assert cause(root) == [cause(last)[-1]]
        assert root["annotations"]["probate.dev/effect"] == "removed"


async def test_dependents_of_a_deleted_collection_lead_to_its_request(server: RbacServer, log: AuditLogReader) -> None:
    """Its dependents are deleted before the request is answered."""
    owners = [
        await server.create("configmaps", "default", {"metadata": {"name": f"o{one}", "labels": {"a": "b"}}}) for one in range(5)
    ]
    for one in owners:
        await server.create("configmaps", "default", owned(f"of-{one['metadata']['name']}", one))
    asked = await server.ask_as("ann", "DELETE", MAPS, query={"labelSelector": "a=b"})
    await wait_until_gone(server, f"{MAPS}/of-o4")
    response = await events_by(log, "generic-garbage-collector", number=5)
    assert {one[0]["auditID"] for one in map(cause, response)} == {asked.headers["audit-id"]}


async def test_unrecorded_owner_deletion_is_reported_as_unknown(server: RbacServer, log: AuditLogReader) -> None:
    lost = {"metadata": {"name": "lost", "uid": "never-seen"}}
    await server.create("configmaps", "default", owned("child", lost))
    await wait_until_gone(server, f"{MAPS}/child")
    [event] = await events_by(log, "generic-garbage-collector")
    assert cause(event) == [{"kind": "ConfigMap", "name": "lost", "uid": "never-seen", "deletedBy": deletion_causes.UNKNOWN}]


async def test_user_excluded_by_the_policy_is_still_named_as_cause(server: RbacServer, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", "rules: [{level: None, users: [system:unsecured]}, ")
    async with with_audit_log(server, quick_path, policy) as log:
        owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await server.create("configmaps", "default", owned("child", owner))
        await server.ask_as("ann", "DELETE", f"{MAPS}/owner")
        await wait_until_gone(server, f"{MAPS}/child")
        [event] = await events_by(log, "generic-garbage-collector")
        assert await log.events() == [event]
        assert cause(event)[0]["user"] == "ann"
        assert "auditID" not in cause(event)[0]


async def test_policy_applies_to_the_collector(server: RbacServer, quick_path: Path) -> None:
    policy = METADATA.replace("rules: [", f'rules: [{{level: None, users: ["{COLLECTOR}"]}}, ')
    async with with_audit_log(server, quick_path, policy) as log:
        owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await server.create("configmaps", "default", owned("child", owner))
        await server.request("DELETE", f"{MAPS}/owner")
        await wait_until_gone(server, f"{MAPS}/child")
        assert [one["objectRef"]["name"] for one in await log.events(verb="delete")] == ["owner"]


async def test_removed_owner_references_are_recorded(server: RbacServer, log: AuditLogReader) -> None:
    one, two = [await server.create("configmaps", "default", {"metadata": {"name": name}}) for name in ("one", "two")]
    await server.create("configmaps", "default", owned("child", one, two))
    asked = await server.ask_as("ann", "DELETE", f"{MAPS}/one")
    await wait_until(lambda: _is_let_go(server))
    [event] = await events_by(log, "generic-garbage-collector", "patch")
    assert (event["objectRef"]["name"], event["annotations"]["probate.dev/effect"]) == ("child", "changed")
    assert [one["auditID"] for one in cause(event)] == [asked.headers["audit-id"]]


async def _is_let_go(server: RbacServer) -> bool:
    return len((await server.request("GET", f"{MAPS}/child")).json["metadata"]["ownerReferences"]) == 1


async def test_namespace_content_is_recorded_with_the_user_who_deleted_the_namespace(
    server: RbacServer, log: AuditLogReader
) -> None:
    space = await server.create("namespaces", "", {"metadata": {"name": "shop"}})
    await server.create("configmaps", "shop", {"metadata": {"name": "m"}})
    asked = await server.ask_as("ann", "DELETE", "/api/v1/namespaces/shop")
    await wait_until_gone(server, "/api/v1/namespaces/shop")
    [event] = await events_by(log, "namespace-controller")
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
    concluded = (await events_by(log, "namespace-controller", "update"))[-1]
    assert concluded["objectRef"]["subresource"] == "finalize"
    assert concluded["requestURI"] == "/api/v1/namespaces/shop/finalize"
    assert concluded["annotations"]["probate.dev/effect"] == "removed"


async def test_custom_resources_are_recorded_with_the_user_who_deleted_the_crd(server: RbacServer, log: AuditLogReader) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    assert (await server.request("POST", CRDS, {"metadata": {"name": "things.example.com"}, "spec": spec})).code == 201
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    await server.create("apis/example.com/v1/things", "default", thing)
    asked = await server.ask_as("ann", "DELETE", f"{CRDS}/things.example.com")
    await wait_until_gone(server, f"{CRDS}/things.example.com")
    [event] = await events_by(log, "probate-definitions")
    assert event["requestURI"] == "/apis/example.com/v1/namespaces/default/things/t"
    assert [one["auditID"] for one in cause(event)] == [asked.headers["audit-id"]]


async def test_expired_events_are_recorded(quick_path: Path) -> None:
    clock = FakeClock()
    async with running_with_controllers(clock, (EVENT_TTL,), event_ttl=10.0) as server, with_audit_log(server, quick_path) as log:
        name_wanted = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R", "message": "m"}
        await server.create("events", "default", {"metadata": {"name": "e"}, **name_wanted})
        await server.yield_to_loop()
        await clock.advance(11)
        await server.yield_to_loop()
        [event] = await events_by(log, "probate-event-expiry")
        assert (event["objectRef"]["name"], cause(event)) == ("e", [])
        assert event["annotations"]["probate.dev/because"] == "it was not written for 10 s"


async def test_insecure_server_records_bulk_actions(quick_path: Path) -> None:
    async with running_with_controllers(insecure=True) as server, with_audit_log(server, quick_path) as log:
        owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
        await server.create("configmaps", "default", owned("child", owner))
        await server.request("DELETE", f"{MAPS}/owner")
        await wait_until_gone(server, f"{MAPS}/child")
        [event] = await events_by(log, "generic-garbage-collector")
        assert [one["user"] for one in cause(event)] == ["system:unsecured"]


async def test_denied_actions_are_recorded_once_per_resource_and_namespace(server: RbacServer, log: AuditLogReader) -> None:
    role = f"{RBAC}/clusterroles/system:controller:generic-garbage-collector"
    assert (await server.request("PATCH", role, {"rules": []}, media="application/merge-patch+json")).code == 200
    owner = await server.create("configmaps", "default", {"metadata": {"name": "owner"}})
    for name in ("a", "b"):
        await server.create("configmaps", "default", owned(name, owner))
    await server.ask_as("ann", "DELETE", f"{MAPS}/owner")
    [event] = await events_by(log, "generic-garbage-collector")
    assert (event["responseStatus"]["code"], event["responseStatus"]["reason"]) == (403, "Forbidden")
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert "probate.dev/effect" not in event["annotations"]
    assert [one["user"] for one in cause(event)] == ["ann"]


def test_long_chain_is_shortened_in_the_middle() -> None:
    known = DeletionCauses()
    known.record("0", DeletionRecord("maps", "a", "m0", user="ann", request="r"))
    for number in range(1, 1_000):
        known.record(str(number), DeletionRecord("maps", "a", f"m{number}", *known.position_below([CauseRef(str(number - 1))])))
    response = json.loads(known.chain([CauseRef("999")]))
    assert [one.get("name") for one in response] == [
        *(f"m{number}" for number in range(999, 999 - deletion_causes.MAX_NEAREST_STEPS, -1)),
        None,
        "m0",
    ]
    assert response[-2] == {"more": 1_000 - deletion_causes.MAX_NEAREST_STEPS - 1}
    assert response[-1] == {"resource": "maps", "namespace": "a", "name": "m0", "uid": "0", "user": "ann", "auditID": "r"}
    assert (
        len(json.loads(known.chain([CauseRef(str(deletion_causes.MAX_NEAREST_STEPS))]))) == deletion_causes.MAX_NEAREST_STEPS + 1
    )  # the longest chain that is recorded completely


def test_root_of_a_large_cascade_stays_recorded() -> None:
    known = DeletionCauses()
    known.record("root", DeletionRecord("maps", "a", "root", user="ann"))
    for number in range(3 * deletion_causes.MAX_RECORDS):
        known.record(str(number), DeletionRecord("maps", "a", "m", *known.position_below([CauseRef("root")])))
        if number % 1_000 == 0:
            assert "ann" in known.chain([CauseRef("root")])
    assert "ann" in known.chain([CauseRef("root")])


def test_first_record_of_an_object_counts() -> None:
    known = DeletionCauses()
    known.record("x", DeletionRecord("maps", "a", "x", user="ann"))
    known.record("x", DeletionRecord("maps", "a", "x", user="bob"))
    known.record("x", DeletionRecord("maps", "a", "x"))
    assert "ann" in known.chain([CauseRef("other"), CauseRef("x")])
