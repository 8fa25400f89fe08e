"""The kind Tenant through the API: what a create adds and needs, what no request may change, and what a delete does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api import tenants
from probate.core.clock import FakeClock
from probate.store import contract
from support.in_process_server import InProcessServer, Response, running

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
ONE = f"{TENANTS}/111111"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock(), collects=False) as house:
        yield house


async def make(server: InProcessServer, name: str = "111111", **fields: Any) -> Response:
    return await server.request("POST", TENANTS, {"metadata": {"name": name}, **fields})


async def is_open(server: InProcessServer, name: str = "111111") -> bool:
    return await server.store.read(tenants.open_entry(name)) is not None


async def test_a_new_tenant_is_pending_held_and_open(server: InProcessServer) -> None:
    made = (await make(server, spec={"id": 7, "quota": {"hard": {"cpu": "1000m"}}}, status={"phase": "Active"})).json
    assert (made["apiVersion"], made["kind"]) == ("tenant.kubezoo.io/v1alpha1", "Tenant")
    assert (made["metadata"]["finalizers"], made["metadata"]["generation"]) == ([tenants.FINALIZER], 1)
    assert (made["spec"], made["status"]) == ({"id": 7, "quota": {"hard": {"cpu": "1"}}}, {"phase": "Pending"})
    assert await is_open(server)


async def test_a_tenant_that_is_created_by_an_apply_is_held_too(server: InProcessServer) -> None:
    document = {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "Tenant", "metadata": {"name": "111111"}}
    made = await server.request("PATCH", ONE, document, query={"fieldManager": "me"}, media=APPLY)
    assert (made.code, made.json["metadata"]["finalizers"]) == (201, [tenants.FINALIZER])
    assert await is_open(server)
    again = await server.request("PATCH", ONE, document, query={"fieldManager": "me"}, media=APPLY)
    assert again.json["metadata"]["finalizers"] == [tenants.FINALIZER]


async def test_a_dry_run_opens_nothing(server: InProcessServer) -> None:
    made = await server.request("POST", TENANTS, {"metadata": {"name": "111111"}}, query={"dryRun": "All"})
    assert (made.code, made.json["metadata"]["finalizers"]) == (201, [tenants.FINALIZER])
    assert not await is_open(server)


async def test_the_name_of_a_tenant_is_not_generated(server: InProcessServer) -> None:
    answer = await server.request("POST", TENANTS, {"metadata": {"generateName": "1"}})
    assert (answer.code, answer.json["reason"]) == (422, "Invalid")
    assert "metadata.generateName: Forbidden: the ID of a tenant is part of many names" in answer.json["message"]


@pytest.mark.parametrize("name", ["11111", "-11111", "11111-", "system", "kube-1"])
async def test_a_tenant_with_another_name_is_refused(server: InProcessServer, name: str) -> None:
    answer = await make(server, name)
    assert (answer.code, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.name")


async def test_the_generation_counts_changes_of_the_spec(server: InProcessServer) -> None:
    await make(server)
    changed = await server.request("PATCH", ONE, {"spec": {"preventDeletion": True}}, media=MERGE)
    assert changed.json["metadata"]["generation"] == 2
    labelled = await server.request("PATCH", ONE, {"metadata": {"labels": {"a": "b"}}}, media=MERGE)
    assert labelled.json["metadata"]["generation"] == 2


async def test_an_update_needs_a_resource_version(server: InProcessServer) -> None:
    made = (await make(server)).json
    del made["metadata"]["resourceVersion"]
    assert (await server.request("PUT", ONE, made)).code == 422


async def test_status_is_written_through_its_subresource_only(server: InProcessServer) -> None:
    await make(server)
    patch = {"status": {"phase": "Active", "objects": 4}}
    assert (await server.request("PATCH", ONE, patch, media=MERGE)).json["status"] == {"phase": "Pending"}
    written = await server.request("PATCH", f"{ONE}/status", {**patch, "spec": {"id": 3}}, media=MERGE)
    assert (written.json["status"], written.json["spec"]) == ({"phase": "Active", "objects": 4}, {})
    assert (await server.request("GET", f"{ONE}/status")).json["status"]["objects"] == 4


async def test_conditions_are_merged_by_type(server: InProcessServer) -> None:
    await make(server)
    for type_ in ("A", "B"):
        condition = {"type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        patch = {"status": {"conditions": [condition]}}
        media = "application/strategic-merge-patch+json"
        answer = await server.request("PATCH", f"{ONE}/status", patch, media=media)
        assert answer.code == 200, answer.body
    assert {one["type"] for one in answer.json["status"]["conditions"]} == {"A", "B"}


@pytest.mark.parametrize("path", [ONE, f"{ONE}/status"])
@pytest.mark.parametrize("is_deleting", [False, True])
async def test_nobody_removes_the_finalizer(server: InProcessServer, path: str, is_deleting: bool) -> None:
    """Not even an administrator: this server allows everything to everybody."""
    made = (await make(server)).json
    if is_deleting:
        made = (await server.request("DELETE", ONE)).json
    replaced = {**made, "metadata": {**made["metadata"], "finalizers": []}}
    merge, media = {"metadata": {"finalizers": None}}, MERGE
    patch = [{"op": "remove", "path": "/metadata/finalizers"}]
    answers = [
        await server.request("PUT", path, replaced),
        await server.request("PATCH", path, merge, media=media),
        await server.request("PATCH", path, patch, media="application/json-patch+json"),
        await server.request("PATCH", path, merge, media=media, query={"dryRun": "All"}),
    ]
    assert [answer.code for answer in answers] == [403] * 4, [answer.body for answer in answers]
    assert "the finalizer kubezoo.io/tenant cannot be removed by a request" in answers[0].json["message"]
    assert tenants.FINALIZER in (await server.request("GET", ONE)).json["metadata"]["finalizers"]


async def test_other_finalizers_come_and_go(server: InProcessServer) -> None:
    await make(server)
    for finalizers in ([tenants.FINALIZER, "example.com/mine"], [tenants.FINALIZER]):
        answer = await server.request("PATCH", ONE, {"metadata": {"finalizers": finalizers}}, media=MERGE)
        assert (answer.code, answer.json["metadata"]["finalizers"]) == (200, finalizers)


async def test_a_protected_tenant_is_not_deleted(server: InProcessServer) -> None:
    await make(server, spec={"preventDeletion": True})
    for path, query in ((ONE, {}), (ONE, {"dryRun": "All"}), (TENANTS, {})):
        answer = await server.request("DELETE", path, query=query)
        assert answer.code == 403
        assert "spec.preventDeletion is true. To delete the tenant and all its objects, set it to false" in answer.json["message"]
    assert "deletionTimestamp" not in (await server.request("GET", ONE)).json["metadata"]
    await server.request("PATCH", ONE, {"spec": {"preventDeletion": False}}, media=MERGE)
    assert (await server.request("DELETE", ONE)).code == 200


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        (None, [tenants.FINALIZER]),
        ("Background", [tenants.FINALIZER]),
        ("Foreground", ["foregroundDeletion", tenants.FINALIZER]),
        ("Orphan", ["orphan", tenants.FINALIZER]),
    ],
)
async def test_a_delete_closes_the_tenant(server: InProcessServer, policy: str | None, finalizers: list[str]) -> None:
    await make(server)
    answer = await server.request("DELETE", ONE, None if policy is None else {"propagationPolicy": policy})
    assert (answer.code, answer.json["kind"]) == (200, "Tenant")
    assert answer.json["metadata"]["finalizers"] == finalizers
    assert "deletionTimestamp" in answer.json["metadata"]
    assert answer.json["status"]["phase"] == "Terminating"
    assert not await is_open(server)
    again = await server.request("DELETE", ONE)
    assert (again.code, again.json["metadata"]) == (200, answer.json["metadata"])


async def test_a_dry_run_of_a_delete_closes_nothing(server: InProcessServer) -> None:
    await make(server)
    assert (await server.request("DELETE", ONE, query={"dryRun": "All"})).code == 200
    assert await is_open(server)


async def test_a_tenant_that_is_being_deleted_keeps_its_name(server: InProcessServer) -> None:
    await make(server)
    await server.request("DELETE", ONE)
    assert (await make(server)).json["reason"] == "AlreadyExists"


@pytest.mark.parametrize("query", [{}, {"dryRun": "All"}])
async def test_a_tenant_that_exists_already_exists_although_its_names_are_its_own(
    server: InProcessServer, query: dict[str, str]
) -> None:
    await make(server)
    await server.create("namespaces", "", {"metadata": {"name": "111111-web"}})
    answer = await server.request("POST", TENANTS, {"metadata": {"name": "111111"}}, query=query)
    assert (answer.code, answer.json["reason"]) == (409, "AlreadyExists")
    assert answer.json["message"] == 'tenants.tenant.kubezoo.io "111111" already exists'


async def test_a_tenant_whose_names_are_taken_is_refused(server: InProcessServer) -> None:
    """The objects may be older than the index that lists them."""
    await server.create("namespaces", "", {"metadata": {"name": "gitlab-runner"}})
    await server.create("namespaces", "", {"metadata": {"name": "gitlab"}})
    await server.create("namespaces", "", {"metadata": {"name": "gitla-b"}})
    answer = await make(server, "gitlab")
    assert (answer.code, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.name")
    assert (
        'names that begin with "gitlab-" would belong to the tenant, and there are namespaces gitlab-runner.'
        in (answer.json["message"])
    )
    assert (await server.request("POST", TENANTS, {"metadata": {"name": "gitlab"}}, query={"dryRun": "All"})).code == 422
    assert not await is_open(server, "gitlab")
    await server.request("DELETE", "/api/v1/namespaces/gitlab-runner")
    assert (await make(server, "gitla0")).code == 201


RULE = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.mark.parametrize("other", ["111111,x", "111111.x", "111111x", "11111", "111112-x", "x-111111-"])
async def test_similar_names_are_not_in_the_way(server: InProcessServer, other: str) -> None:
    assert (await server.request("POST", RULE, {"metadata": {"name": other}})).code == 201
    assert (await make(server)).code == 201


async def test_any_cluster_scoped_object_is_in_the_way(server: InProcessServer) -> None:
    for name in ("111111,x", "111111-", "111111-a", "111111-b", "111111-c", "111111-d"):
        assert (await server.request("POST", RULE, {"metadata": {"name": name}})).code == 201
    message = (await make(server)).json["message"]
    roles = [f"clusterroles.rbac.authorization.k8s.io 111111-{letter}" for letter in ("", "a", "b")]
    assert f"there are {', '.join(roles)} and others. Delete them, or choose another ID" in message


def definition(group: str) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "foos", "kind": "Foo"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"foos.{group}"}, "spec": spec}


async def test_a_kind_of_the_tenants_group_is_in_the_way(server: InProcessServer) -> None:
    for group in ("111111-a.com", "x.111111-b.com"):
        await server.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", definition(group))
    message = (await make(server)).json["message"]
    assert "there are customresourcedefinitions.apiextensions.k8s.io foos.111111-a.com. Delete them" in message


async def test_what_the_index_lists_is_in_the_way(server: InProcessServer) -> None:
    """Its key alone does not say so: a volume that was provisioned for a tenant."""
    key = "objects/persistentvolumes/-/pvc-1"
    await server.store.commit(contract.create(key, b"{}", add_entries=[tenants.content_entry("111111", key)]))
    assert "there are persistentvolumes pvc-1." in (await make(server)).json["message"]


async def test_an_object_that_is_created_at_the_same_time_is_in_the_way(server: InProcessServer) -> None:
    """The transaction finds it, not the search before."""
    entry = tenants.content_entry("111111", "objects/persistentvolumes/-/pvc-1")
    commit, keys = server.store.commit, list[str]()

    async def late(txn: contract.Txn) -> contract.CommitResult:
        if txn.key == tenants.tenant_key("111111") and not keys:
            keys.append("objects/persistentvolumes/-/pvc-1")
            await commit(contract.create(keys[0], b"{}", add_entries=[entry]))
        return await commit(txn)

    server.store.commit = late  # type: ignore[method-assign]
    answer = await make(server)
    assert (answer.code, keys != []) == (422, True)
    assert "there are persistentvolumes pvc-1." in answer.json["message"]


async def test_a_tenant_is_sent_in_json_and_yaml_but_not_in_protobuf(server: InProcessServer) -> None:
    await make(server)
    protobuf = "application/vnd.kubernetes.protobuf"
    assert (await server.request("GET", ONE, accept=protobuf)).code == 406
    assert (await server.request("GET", ONE, accept=f"{protobuf},application/json")).json["kind"] == "Tenant"
    sent = await server.send("POST", TENANTS, b"k8s\x00", media=protobuf)
    assert sent.code == 415
    assert b"kind: Tenant" in (await server.request("GET", ONE, accept="application/yaml")).body


async def test_a_table_of_tenants(server: InProcessServer) -> None:
    await make(server)
    table = (await server.request("GET", TENANTS, accept="application/json;as=Table;g=meta.k8s.io;v=v1")).json
    assert [column["name"] for column in table["columnDefinitions"]][:3] == ["Name", "Phase", "Objects"]
    assert table["rows"][0]["cells"][:2] == ["111111", "Pending"]


async def test_discovery_and_openapi_have_the_kind(server: InProcessServer) -> None:
    rows = (await server.request("GET", "/apis/tenant.kubezoo.io/v1alpha1")).json["resources"]
    assert {row["name"]: row["kind"] for row in rows} == {
        "tenants": "Tenant",
        "tenants/kubeconfig": "TenantKubeconfig",
        "tenants/status": "Tenant",
    }
    assert rows[0]["storageVersionHash"]
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    groups = {item["metadata"]["name"] for item in (await server.request("GET", "/apis", accept=aggregated)).json["items"]}
    assert "tenant.kubezoo.io" in groups
    document = (await server.request("GET", "/openapi/v3/apis/tenant.kubezoo.io/v1alpha1")).json
    assert "io.kubezoo.tenant.v1alpha1.TenantStatus" in document["components"]["schemas"]
    assert f"{TENANTS}/{{name}}/status" in document["paths"]
    assert f"{TENANTS}/{{name}}" in (await server.request("GET", "/openapi/v2")).json["paths"]


async def test_the_kind_cannot_be_defined_again(server: InProcessServer) -> None:
    """A definition would replace it."""
    answer = await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(tenants.GROUP))
    assert (answer.code, answer.json["details"]["causes"][0]["field"]) == (422, "spec.group")


async def test_unknown_fields_are_reported(server: InProcessServer) -> None:
    body = {"metadata": {"name": "111111"}, "spec": {"color": "red"}}
    answer = await server.request("POST", TENANTS, body, query={"fieldValidation": "Strict"})
    assert (answer.code, 'unknown field "spec.color"' in answer.json["message"]) == (400, True)


async def damage(server: InProcessServer, key: str) -> None:
    """Changes the stored value of an object, without the knowledge of the server."""
    record = await server.store.read(key)
    assert record is not None
    statement = "UPDATE log SET value = CAST('?' || substr(value, 2) AS BLOB) WHERE rev = ?"
    server.engine.database.writer.execute(statement, (record.revision,))  # type: ignore[attr-defined]


FORCE = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}


async def test_a_damaged_object_of_a_tenant_that_is_removed_by_force_leaves_the_index(server: InProcessServer) -> None:
    key = "objects/configmaps/default/c"
    entry = tenants.content_entry("111111", key)
    await server.store.commit(contract.create(key, b'{"metadata":{"name":"c"}}', add_entries=[entry]))
    await damage(server, key)
    assert (await server.request("DELETE", "/api/v1/namespaces/default/configmaps/c", FORCE)).code == 200
    assert await server.store.read(entry) is None


async def test_a_damaged_tenant_that_is_removed_by_force_is_closed(server: InProcessServer) -> None:
    await make(server)
    await damage(server, tenants.tenant_key("111111"))
    assert (await server.request("DELETE", ONE, FORCE)).code == 200
    assert not await is_open(server)


async def test_a_damaged_tenant_that_was_removed_by_force_left_objects_without_a_tenant(server: InProcessServer) -> None:
    await make(server)
    await server.create("namespaces", "", {"metadata": {"name": "111111-web"}})
    await damage(server, tenants.tenant_key("111111"))
    refused = await server.request("DELETE", ONE, FORCE)
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    assert "still has objects" in refused.json["message"]
    assert await is_open(server)
    namespace = await server.store.read("objects/namespaces/-/111111-web")
    assert namespace is not None
    await server.store.commit(contract.delete(namespace.key, revision=namespace.revision))
    assert (await server.request("DELETE", ONE, FORCE)).code == 200
