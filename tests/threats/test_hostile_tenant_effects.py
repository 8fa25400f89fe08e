"""A tenant's user with all rights in the tenant tries to affect others: by owners, volumes, labels, shared objects and load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.rbac.users import AUTHENTICATED, User
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.storage import index_entries
from probate.tenants import context_factory
from support.tenant_server import TenantServer, running_with_tenants, user_of

ADMIN, VICTIM = user_of("111111"), user_of("222222")
MAPS, VOLUMES = "/api/v1/namespaces/web/configmaps", "/api/v1/persistentvolumes"
NODES = "/api/v1/nodes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE, JSON, APPLY = "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"
SHARED = {"kubezoo.io/shared": "true"}


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with running_with_tenants("111111", "222222") as one:
        await one.create("nodes", "", {"metadata": {"name": "node-1"}})
        shared = {"metadata": {"name": "standard", "labels": SHARED}, "provisioner": "a.com/p"}
        await one.create(CLASSES[1:], "", shared)
        yield one


def crd(plural: str, group: str, scope: str = "Namespaced", **labels: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {"group": group, "scope": scope, "names": {"plural": plural, "kind": plural.title()}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    return {"metadata": {"name": f"{plural}.{group}", "labels": labels}, "spec": {**spec, "versions": versions}}


def volume(name: str, **spec: Any) -> dict[str, Any]:
    about = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/v"}, "storageClassName": ""}
    return {"metadata": {"name": name}, "spec": {**about, **spec}}


async def reference_to(server: TenantServer, user: User | None, path: str, **fields: Any) -> dict[str, Any]:
    """Returns an owner reference to an object as its owner sees it; `user` is None for the platform."""
    found = (await (server.request("GET", path) if user is None else server.ask(user, "GET", path))).json
    meta = found["metadata"]
    kind = {"apiVersion": found["apiVersion"], "kind": found["kind"]}
    return {**kind, "name": meta["name"], "uid": meta["uid"], "blockOwnerDeletion": True, **fields}


SHARED_OWNERS = (f"{NODES}/node-1", f"{CLASSES}/standard")


@pytest.mark.parametrize("path", SHARED_OWNERS)
async def test_shared_owner_waits_for_an_object_of_a_tenant(server: TenantServer, path: str) -> None:
    """The object would have a finalizer that nobody removes, so the node would never go."""
    owner = await reference_to(server, ADMIN, path)
    body = {"metadata": {"name": "m", "ownerReferences": [owner], "finalizers": ["a.com/x"]}}
    refused = await server.ask(ADMIN, "POST", MAPS, body=body)
    assert (refused.code, "belongs to the platform" in refused.json["message"]) == (422, True)
    free = {**body, "metadata": {**body["metadata"], "ownerReferences": [{**owner, "blockOwnerDeletion": False}]}}
    assert (await server.ask(ADMIN, "POST", MAPS, body=free)).code == 201
    for media, change in (
        (MERGE, body),
        (JSON, [{"op": "add", "path": "/metadata/ownerReferences/0/blockOwnerDeletion", "value": True}]),
    ):
        assert (await server.ask(ADMIN, "PATCH", f"{MAPS}/m", body=change, media=media)).code == 422
    assert not await server.store.nonempty_ranges([index_entries.blocking_range(owner["uid"], "")])


@pytest.mark.parametrize("path", SHARED_OWNERS)
async def test_service_account_of_the_tenant_is_no_controller_of_the_server(server: TenantServer, path: str) -> None:
    """Those refer to owners that may be gone. In its kube-system it would block by uid alone, under a name of its own."""
    robot = user_of("111111")._replace(name="system:serviceaccount:111111-kube-system:robot")
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "111111-cluster-admin"}
    account = {"kind": "ServiceAccount", "name": "robot", "namespace": "111111-kube-system"}
    binding = {"metadata": {"name": "111111-robot"}, "roleRef": reference, "subjects": [account]}
    await server.create("apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "", binding)
    owner = await reference_to(server, ADMIN, path, name="own")
    refused = await server.ask(robot, "POST", MAPS, body={"metadata": {"name": "m", "ownerReferences": [owner]}})
    assert refused.code == 422
    assert not await server.store.nonempty_ranges([index_entries.blocking_range(owner["uid"], "")])


@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/222222-web", "/apis/tenant.kubezoo.io/v1alpha1/tenants/222222", "/api/v1/namespaces/a"]
)
async def test_owner_that_the_tenant_does_not_see_cannot_be_blocked(server: TenantServer, path: str) -> None:
    owner = await reference_to(server, None, path)
    for name in (owner["name"], owner["name"].removeprefix("222222-")):
        body = {"metadata": {"name": "m", "ownerReferences": [{**owner, "name": name}]}}
        assert (await server.ask(ADMIN, "POST", MAPS, body=body)).code == 422
    assert not await server.store.nonempty_ranges([index_entries.blocking_range(owner["uid"], "")])


@pytest.mark.parametrize("path", ["/api/v1/namespaces/222222-web", f"{NODES}/node-1", f"{CLASSES}/standard"])
@pytest.mark.parametrize("is_impersonated", [True, False], ids=["impersonated", "own account"])
async def test_account_named_like_a_controller_blocked_any_owner(server: TenantServer, path: str, is_impersonated: bool) -> None:
    """The server does not check that the owners exist to which its own controllers refer. Their accounts are in kube-system."""
    account = "system:serviceaccount:kube-system:replicaset-controller"
    groups = ("system:serviceaccounts", "system:serviceaccounts:111111-kube-system", AUTHENTICATED)
    sender = ADMIN if is_impersonated else User(account.replace("kube-system", "111111-kube-system"), groups, tenant="111111")
    headers = [(b"impersonate-user", account.encode())] if is_impersonated else []
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subjects = [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": AUTHENTICATED}]
    bound = {"metadata": {"name": "all"}, "roleRef": reference, "subjects": subjects}
    assert (await server.ask(ADMIN, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body=bound)).code == 201
    uid = (await server.request("GET", path)).json["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "PersistentVolume", "name": "another", "uid": uid, "blockOwnerDeletion": True}
    body = {"metadata": {"name": "m", "ownerReferences": [owner]}}
    refused = await server.ask(sender, "POST", MAPS, body=body, headers=headers)
    assert (refused.code, "there is no PersistentVolume another" in refused.json["message"]) == (422, True)
    assert not await server.store.nonempty_ranges([index_entries.blocking_range(uid, "")])


KINDS = (
    "Foo.bar com",
    "Foo.x.y z",
    "Foo. a.com",
    "ResourceSlice.resource.k8s io",
    f"Foo {'g' * 120}",
    f"Foo {'g' * 128}",
    "Foo -a",
    "Foo a.com",
)


@pytest.mark.parametrize("kind", KINDS)
async def test_index_kept_entries_of_deleted_objects(server: TenantServer, kind: str) -> None:
    """An entry that is converted in another way than its object would stay for ever when the platform deletes the object."""
    name, _, group = kind.partition(" ")
    owner = {"apiVersion": f"{group}/v1", "kind": name, "name": "n", "uid": "1-2"}
    body = {"metadata": {"name": "m", "ownerReferences": [owner]}}
    assert (await server.ask(ADMIN, "POST", MAPS, body=body)).code == 201
    assert (await server.request("DELETE", "/api/v1/namespaces/111111-web/configmaps/m")).code == 200
    for family in ("custom/", "owned/", "blocking/", "tenant/111111/"):
        page = await server.store.scan(family, limit=400)
        assert not [entry for entry in page.keys if entry.endswith("/111111-web/m")]


def test_references_of_tenants_are_checked_even_if_those_of_others_are_not() -> None:
    checked = [context_factory.owner_checks(physical) for physical in OwnerChecks]
    assert checked == [OwnerChecks.BLOCKING, OwnerChecks.BLOCKING, OwnerChecks.ALL]


CHANGES: tuple[tuple[str, str, Any], ...] = (
    ("DELETE", MERGE, None),
    ("PATCH", MERGE, {"metadata": {"labels": {"a": "b"}}}),
    ("PATCH", MERGE, {"metadata": {"finalizers": ["a.com/x"]}}),
    ("PATCH", MERGE, {"metadata": {"labels": {"kubezoo.io/shared": None}}}),
    ("PATCH", MERGE, {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}),
)


@pytest.mark.parametrize("path", [f"{NODES}/node-1", f"{CLASSES}/standard"])
async def test_shared_object_was_changed(server: TenantServer, path: str) -> None:
    before = (await server.request("GET", path)).body
    for method, media, change in CHANGES:
        response = await server.ask(ADMIN, method, path, body=change, media=media)
        assert response.code in {403, 405}, (method, change)
    for method in ("DELETE", "POST"):
        collection = path.rpartition("/")[0]
        code = (await server.ask(ADMIN, method, collection, body={"metadata": {"name": "standard"}, "provisioner": "x"})).code
        assert code in {403, 405, 409}
    for subresource in ("status", "proxy", "finalizers", "scale"):
        assert (await server.ask(ADMIN, "PATCH", f"{path}/{subresource}", body={}, media=MERGE)).code in {404, 405}
    assert (await server.request("GET", path)).body == before


async def test_shared_crd_and_the_objects_of_others_were_changed(server: TenantServer) -> None:
    for definition in (crd("spaces", "p.com", **SHARED), crd("globes", "p.com", "Cluster", **SHARED)):
        await server.create(CRDS[1:], "", definition)
    names = {"metadata": {"name": "x"}, "apiVersion": "p.com/v1"}
    assert (await server.request("POST", "/apis/p.com/v1/globes", {**names, "kind": "Globes"})).code == 201
    assert (await server.ask(VICTIM, "POST", "/apis/p.com/v1/globes", body={**names, "kind": "Globes"})).code == 201
    victim = {**names, "kind": "Spaces"}
    assert (await server.ask(VICTIM, "POST", "/apis/p.com/v1/namespaces/web/spaces", body=victim)).code == 201
    assert (await server.ask(ADMIN, "GET", "/apis/p.com/v1/globes/x")).code == 404
    for path in (f"{CRDS}/spaces.p.com", CRDS):
        assert (await server.ask(ADMIN, "DELETE", path)).code == 403
    assert (
        await server.ask(ADMIN, "PATCH", f"{CRDS}/spaces.p.com/status", body={"status": {"conditions": []}}, media=MERGE)
    ).code == 403
    assert (await server.ask(ADMIN, "POST", CRDS, body=crd("spaces", "p.com"))).code == 409
    for path in ("globes", "namespaces/web/spaces"):
        assert (await server.ask(ADMIN, "DELETE", f"/apis/p.com/v1/{path}")).code == 200
    assert len((await server.request("GET", "/apis/p.com/v1/globes")).json["items"]) == 2
    assert len((await server.request("GET", "/apis/p.com/v1/spaces")).json["items"]) == 1


@pytest.mark.parametrize("path", [CLASSES, PRIORITIES, CRDS])
async def test_object_that_a_tenant_calls_shared_is_not(server: TenantServer, path: str) -> None:
    bodies: dict[str, dict[str, Any]] = {CLASSES: {"provisioner": "x"}, PRIORITIES: {"value": 1}, CRDS: crd("foos", "a.com")}
    name = "foos.a.com" if path == CRDS else "mine"
    made = await server.ask(ADMIN, "POST", path, body={**bodies[path], "metadata": {"name": name, "labels": SHARED}})
    assert made.code == 201, made.body
    listed = (await server.ask(VICTIM, "GET", path)).json["items"]
    assert name not in [one["metadata"]["name"] for one in listed]
    for user in (VICTIM, user_of("222222", "nobody")):
        assert (await server.ask(user, "GET", f"{path}/{name}")).code in {403, 404}


LABELLED: tuple[tuple[str, str, Any], ...] = (
    ("POST", JSON, {"metadata": {"name": "n", "labels": {"kubezoo.io/tenant": "222222"}}}),
    ("POST", JSON, {"metadata": {"name": "n", "labels": {"kubezoo.io/tenant": ""}}}),
    ("PATCH", MERGE, {"metadata": {"labels": {"kubezoo.io/tenant": "222222"}}}),
    ("PATCH", JSON, [{"op": "add", "path": "/metadata/labels", "value": {"kubezoo.io/tenant": "222222"}}]),
    (
        "PATCH",
        APPLY,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "labels": {"kubezoo.io/tenant": "222222"}}},
    ),
)


@pytest.mark.parametrize("change", LABELLED, ids=[f"{method} {media}" for method, media, _ in LABELLED])
async def test_label_of_another_tenant_was_accepted(server: TenantServer, change: tuple[str, str, Any]) -> None:
    method, media, body = change
    assert (await server.ask(ADMIN, "POST", MAPS, body={"metadata": {"name": "m"}})).code == 201
    path = MAPS if method == "POST" else f"{MAPS}/m"
    media = "application/json" if method == "POST" else media
    query = {"fieldManager": "x", "force": "true"} if media == APPLY else {}
    refused = await server.ask(ADMIN, method, path, body=body, media=media, query=query)
    assert (refused.code, "leave it out" in refused.json["message"]) == (422, True)
    stored = (await server.request("GET", "/api/v1/namespaces/111111-web/configmaps/m")).json
    assert stored["metadata"]["labels"] == {"kubezoo.io/tenant": "111111"}


async def test_own_label_is_accepted_and_not_shown(server: TenantServer) -> None:
    body = {"metadata": {"name": "m", "labels": {"kubezoo.io/tenant": "111111"}}}
    assert (await server.ask(ADMIN, "POST", MAPS, body=body)).code == 201
    assert "labels" not in (await server.ask(ADMIN, "GET", f"{MAPS}/m")).json["metadata"]


@pytest.mark.parametrize("namespace", ["222222-web", "a"])
async def test_volume_for_a_claim_of_others_is_for_an_own_one(server: TenantServer, namespace: str) -> None:
    claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": "c"}
    assert (await server.ask(ADMIN, "POST", VOLUMES, body=volume("v", claimRef=claim))).code == 201
    stored = (await server.request("GET", f"{VOLUMES}/111111-v")).json
    assert stored["spec"]["claimRef"]["namespace"] == f"111111-{namespace}"
    change = {"spec": {"claimRef": {**claim, "uid": "1-2"}}}
    await server.ask(ADMIN, "PATCH", f"{VOLUMES}/v", body=change, media=MERGE)
    stored = (await server.request("GET", f"{VOLUMES}/111111-v")).json
    assert stored["spec"]["claimRef"]["namespace"] == f"111111-{namespace}"


@pytest.mark.parametrize("named", ["v", "222222-v", "platform"])
async def test_claim_and_attachment_name_own_volumes_only(server: TenantServer, named: str) -> None:
    assert (await server.ask(VICTIM, "POST", VOLUMES, body=volume("v"))).code == 201
    await server.create("persistentvolumes", "", volume("platform"))
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}, "volumeName": named}
    claims = "/api/v1/namespaces/web/persistentvolumeclaims"
    assert (await server.ask(ADMIN, "POST", claims, body={"metadata": {"name": "c"}, "spec": spec})).code == 201
    stored = await server.request("GET", "/api/v1/namespaces/111111-web/persistentvolumeclaims/c")
    assert stored.json["spec"]["volumeName"] == f"111111-{named}"
    attachments = "/apis/storage.k8s.io/v1/volumeattachments"
    source = {"attacher": "x", "nodeName": "node-1", "source": {"persistentVolumeName": named}}
    assert (await server.ask(ADMIN, "POST", attachments, body={"metadata": {"name": "a"}, "spec": source})).code == 201
    stored = await server.request("GET", f"{attachments}/111111-a")
    assert stored.json["spec"]["source"]["persistentVolumeName"] == f"111111-{named}"


async def test_everything_was_deleted(server: TenantServer) -> None:
    for namespace in ("default", "222222-web", "a"):
        await server.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "kept"}})
    before = await server.store.count("objects/configmaps/")
    for resource in ("configmaps", "secrets", "serviceaccounts", "pods", "services", "events"):
        for namespace in ("222222-web", "a", "default", "web"):
            assert (await server.ask(ADMIN, "DELETE", f"/api/v1/namespaces/{namespace}/{resource}")).code == 200
    for path in ("/api/v1/namespaces/a", "/api/v1/namespaces/222222-web", f"{VOLUMES}/platform"):
        assert (await server.ask(ADMIN, "DELETE", path)).code == 404
    assert await server.store.count("objects/configmaps/") == before


async def test_lease_and_priority_of_the_platform_are_out_of_reach(server: TenantServer) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/a/leases"
    held = {"metadata": {"name": "probate"}, "spec": {"holderIdentity": "platform"}}
    assert (await server.request("POST", leases, held)).code == 201
    for method, path in (("GET", f"{leases}/probate"), ("DELETE", f"{leases}/probate"), ("POST", leases)):
        assert (await server.ask(ADMIN, method, path, body=held)).code == 404
    assert (await server.ask(ADMIN, "GET", leases)).json["items"] == []
    huge = {"metadata": {"name": "huge"}, "value": 1_000_000_001}
    assert (await server.ask(ADMIN, "POST", PRIORITIES, body=huge)).code == 422
    assert (await server.ask(ADMIN, "POST", PRIORITIES, body={"metadata": {"name": "system-x"}, "value": 1})).code == 422
    for resource in ("flowcontrol.apiserver.k8s.io/v1/flowschemas", "networking.k8s.io/v1/servicecidrs"):
        assert (await server.ask(ADMIN, "POST", f"/apis/{resource}", body={"metadata": {"name": "x"}})).code == 404
    assert (await server.ask(ADMIN, "POST", "/apis/apiregistration.k8s.io/v1/apiservices", body={})).code == 405
