"""Defects that multi-tenancy by names has had elsewhere, named after what went wrong. None of them may happen here.

What other files show is left out: objects that are created while their tenant is deleted (`race/test_tenants`), tenants that come
back after a crash or with a second server (`crash/test_kill_during_tenant_deletion`, `crash/test_two_servers_and_a_tenant`), one
object that cannot be deleted and stops all others (`unit/controllers/namespaces/test_tenant_deletion`), credentials that outlive
their tenant (`kubectl/test_tenants`), platform objects that look like those of a tenant (`unit/server/verbs/test_tenants`), lists
that cost as much as all tenants have (`unit/tenants/test_tenant_costs`), and tenants that see or change what is not theirs
(`threats/test_hostile_tenant`, `threats/test_tenants_physical`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from probate.api import object_keys, tenants
from probate.store import contract
from support.in_process_server import Response
from support.tenant_lifecycle import delete_tenant, serving
from support.tenant_remains import contents, remains
from support.tenant_server import CRDS, TENANTS, TenantServer, user_of

ID = "111111"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MAPS = "/api/v1/namespaces/web/configmaps"
VOLUMES = "/api/v1/persistentvolumes"
HOLD = "example.com/hold"
MERGE = "application/merge-patch+json"
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
DISK = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}


@pytest.fixture
async def server() -> AsyncIterator[TenantServer]:
    async with serving(ID, "222222") as one:
        yield one


async def ask(server: TenantServer, method: str, path: str, body: Any = None, **options: Any) -> Response:
    """Sends a request as the tenant's administrator."""
    return await server.ask(user_of(ID), method, path, body=body, **options)


async def create(server: TenantServer, path: str, name: str, **fields: Any) -> dict[str, Any]:
    """Creates an object as the tenant's administrator."""
    meta = {"name": name, **fields.pop("metadata", {})}
    answer = await ask(server, "POST", path, {"metadata": meta, **fields})
    assert answer.code == 201, answer.body
    found: dict[str, Any] = answer.json
    return found


def definition(group: str) -> dict[str, Any]:
    return {"group": group, "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [VERSION]}


async def what_remains(server: TenantServer, tenant: str = ID) -> list[str]:
    return remains(await contents(server.engine), tenant)


async def test_tenant_was_gone_while_a_finalizer_still_held_an_object(server: TenantServer) -> None:
    await create(server, MAPS, "held", metadata={"finalizers": [HOLD]})
    assert (await server.request("DELETE", f"{TENANTS}/{ID}")).code == 200
    path = f"/api/v1/namespaces/{ID}-web/configmaps/held"
    while "deletionTimestamp" not in (await server.request("GET", path)).json["metadata"]:
        await server.yield_to_loop(1)
    assert (await server.request("GET", f"{TENANTS}/{ID}")).code == 200
    assert (await server.request("PATCH", path, {"metadata": {"finalizers": None}}, media=MERGE)).code == 200
    while (await server.request("GET", f"{TENANTS}/{ID}")).code == 200:
        await server.yield_to_loop(1)
    assert await what_remains(server) == []


@pytest.mark.parametrize("prefix", ["made-", "222222-x-"])
async def test_generated_name_had_no_prefix_or_that_of_another_tenant(server: TenantServer, prefix: str) -> None:
    answer = await ask(server, "POST", ROLES, {"metadata": {"generateName": prefix}})
    assert answer.code == 201
    assert answer.json["metadata"]["name"].startswith(prefix)
    assert (await server.request("GET", f"{ROLES}/{ID}-{answer.json['metadata']['name']}")).code == 200
    await delete_tenant(server, ID)
    assert not [key for key in await contents(server.engine) if prefix in key]


@pytest.mark.parametrize("policy", ["Retain", "Delete"])
async def test_provisioned_volume_stayed_because_its_name_has_no_prefix(server: TenantServer, policy: str) -> None:
    claim = {"namespace": f"{ID}-web", "name": "data"}
    spec = {**DISK, "claimRef": claim, "persistentVolumeReclaimPolicy": policy}
    volume = {"metadata": {"name": "pvc-1"}, "spec": spec}
    assert (await server.request("POST", VOLUMES, volume)).code == 201
    assert (await server.request("POST", VOLUMES, {"metadata": {"name": "pvc-2"}, "spec": DISK})).code == 201
    await server.request("PATCH", f"{VOLUMES}/pvc-1", {"metadata": {"finalizers": None}}, media=MERGE)
    await delete_tenant(server, ID)
    assert (await server.request("GET", f"{VOLUMES}/pvc-1")).code == 404
    assert (await server.request("GET", f"{VOLUMES}/pvc-2")).code == 200


async def test_quota_outlived_its_tenant(server: TenantServer) -> None:
    quota = {"spec": {"quota": {"hard": {"count/configmaps": "10"}}}}
    assert (await server.request("PATCH", f"{TENANTS}/{ID}", quota, media=MERGE)).code == 200
    await create(server, MAPS, "counted")
    await delete_tenant(server, ID)
    assert await what_remains(server) == []
    assert not [key for key in await contents(server.engine) if f"/{ID}" in key and "/events/" not in key]


async def test_object_of_a_kind_that_is_not_served_was_never_seen(server: TenantServer) -> None:
    """Also while an aggregated API does not answer, which is no reason to wait."""
    await create(server, CRDS, "foos.a.com", spec=definition("a.com"))
    await create(server, "/apis/a.com/v1/foos", "x", apiVersion="a.com/v1", kind="Foo")
    service = {"group": "broken.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    backend = {"service": {"namespace": "nowhere", "name": "nobody"}}
    broken = {"metadata": {"name": "v1.broken.example.com"}, "spec": {**service, **backend}}
    assert (await server.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", broken)).code == 201
    key = object_keys.object_key("customresourcedefinitions.apiextensions.k8s.io", "", f"foos.{ID}-a.com")
    current = await server.store.read(key)
    assert current is not None
    await server.store.commit(contract.delete(key, revision=current.revision))
    await delete_tenant(server, ID)
    assert await what_remains(server) == []


@pytest.mark.parametrize("tenant", ["defaul", "cluste", "kubern"])
async def test_tenant_took_platform_objects_whose_names_begin_alike(server: TenantServer, tenant: str) -> None:
    before = {key for key in await contents(server.engine) if key.startswith(("objects/clusterrole", "objects/namespaces"))}
    await server.create_tenant(tenant)
    await delete_tenant(server, tenant)
    assert before <= {*await contents(server.engine)}
    assert (await server.request("GET", f"{ROLES}/cluster-admin")).code == 200
    assert (await server.request("GET", "/api/v1/namespaces/default")).code == 200


async def test_tenant_was_named_like_what_the_platform_s_roles_begin_with(server: TenantServer) -> None:
    assert (await server.request("POST", TENANTS, {"metadata": {"name": "system"}})).code == 422


async def test_new_object_of_the_same_name_was_deleted_in_place_of_the_old_one(server: TenantServer) -> None:
    await create(server, MAPS, "a")
    await delete_tenant(server, ID)
    await server.create_tenant(ID)
    await create(server, MAPS, "a")
    await server.yield_to_loop()
    assert (await ask(server, "GET", f"{MAPS}/a")).code == 200


async def test_text_of_users_was_changed_because_it_looks_like_a_prefix(server: TenantServer) -> None:
    text = f"{ID}-web is the physical name, {ID}-{ID}-x is not; 222222-web is another one's"
    made = await create(server, MAPS, "text", data={"text": text}, metadata={"annotations": {"text": text}})
    assert made["data"]["text"] == made["metadata"]["annotations"]["text"] == text
    stored = await server.store.read(object_keys.object_key("configmaps", f"{ID}-web", "text"))
    assert stored is not None
    assert orjson.loads(stored.value)["data"]["text"] == text
    refused = await ask(server, "GET", f"{MAPS}/{ID}-x")
    assert refused.json["message"] == f'configmaps "{ID}-x" not found'


async def test_owner_of_a_custom_kind_was_shown_with_its_physical_group(server: TenantServer) -> None:
    await create(server, CRDS, "foos.a.com", spec=definition("a.com"))
    owner = await create(server, "/apis/a.com/v1/foos", "x", apiVersion="a.com/v1", kind="Foo")
    reference = {"apiVersion": "a.com/v1", "kind": "Foo", "name": "x", "uid": owner["metadata"]["uid"]}
    made = await create(server, MAPS, "owned", metadata={"ownerReferences": [reference]})
    assert made["metadata"]["ownerReferences"] == [reference]
    assert (await ask(server, "GET", f"{MAPS}/owned")).json["metadata"]["ownerReferences"] == [reference]
    physical = (await server.request("GET", f"/api/v1/namespaces/{ID}-web/configmaps/owned")).json["metadata"]["ownerReferences"]
    assert physical == [{**reference, "apiVersion": f"{ID}-a.com/v1", "name": f"{ID}-x"}]


async def test_owner_of_an_unknown_kind_made_a_whole_list_fail(server: TenantServer) -> None:
    reference = {"apiVersion": "nowhere.com/v1", "kind": "Ghost", "name": "x", "uid": "never"}
    await create(server, MAPS, "owned", metadata={"ownerReferences": [reference]})
    assert (await server.request("GET", f"/api/v1/namespaces/{ID}-web/configmaps/owned")).code == 200
    answer = await ask(server, "GET", MAPS)
    assert answer.code == 200
    assert [one["metadata"]["ownerReferences"] for one in answer.json["items"]] == [[reference]]


async def test_watch_of_one_name_showed_nothing(server: TenantServer) -> None:
    selector = {"fieldSelector": "metadata.name=web"}
    answer = await ask(server, "GET", "/api/v1/namespaces", query=selector)
    assert [one["metadata"]["name"] for one in answer.json["items"]] == ["web"]
    async with server.watching(user_of(ID), "/api/v1/namespaces", "watch=1&fieldSelector=metadata.name%3Dweb") as stream:
        while not stream.events:
            await server.yield_to_loop(1)
        assert [event["object"]["metadata"]["name"] for event in stream.events] == ["web"]


async def test_limit_of_a_name_was_reported_in_physical_terms(server: TenantServer) -> None:
    longest = "n" * (63 - len(tenants.prefix_of(ID)))
    await create(server, "/api/v1/namespaces", longest)
    answer = await ask(server, "POST", "/api/v1/namespaces", {"metadata": {"name": f"{longest}n"}})
    assert answer.code == 422
    assert f"{ID}-" not in answer.body.decode()
    assert str(len(longest)) in answer.json["message"]
