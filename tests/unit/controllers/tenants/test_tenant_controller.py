"""Each tenant has the namespaces, roles and bindings of a new cluster, as long as it is not being deleted."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest

from probate.api import tenants
from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.client.objects import TENANT_TERMINATING, GroupVersionResource, has_cause
from probate.client.resources import NAMESPACES
from probate.controllers.tenants.tenant_controller import RESOURCES, RESYNC_SECONDS, TENANTS, TITLE
from probate.controllers.tenants.tenant_objects import tenant_objects
from probate.core import errors
from probate.store import contract
from support.workload_cluster import WorkloadCluster, condition, name_of, workload_cluster

ROLES, BINDINGS = RESOURCES["clusterroles"], RESOURCES["clusterrolebindings"]
ID, OTHER = "team-a", "team-b"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
NOT_NOW = errors.StoreUnavailable("not now")


@pytest.fixture
async def stage() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster(TITLE, "clusterrole-aggregation-controller") as one:
        yield one


async def create_tenant(stage: WorkloadCluster, name: str = ID) -> Object:
    """Creates a tenant, and returns it as it is when the controllers are idle."""
    await stage.client.create(TENANTS, "", {"metadata": {"name": name}})
    await stage.settle()
    return await read(stage, TENANTS, name)


async def read(stage: WorkloadCluster, kind: GroupVersionResource, name: str) -> Object:
    found = await stage.client.get(kind, "", name)
    assert found is not None, f"there is no {name} among {kind.plural}"
    return found


async def names(stage: WorkloadCluster, tenant: str = ID) -> dict[str, set[str]]:
    """Returns the names of a tenant's objects, as the tenant sees them, by resource."""
    found = {}
    for kind in RESOURCES.values():
        listed = [name_of(one) for one in (await stage.client.list(kind)).items]
        found[kind.plural] = {name.removeprefix(f"{tenant}-") for name in listed if name.startswith(f"{tenant}-")}
    return found


async def remove(stage: WorkloadCluster, kind: GroupVersionResource, name: str) -> None:
    """Deletes an object until it is gone."""
    await stage.client.delete(kind, "", name)
    await stage.settle()
    if kind is NAMESPACES:
        await finalize(stage, name)


async def finalize(stage: WorkloadCluster, namespace: str) -> None:
    """Does what the controller of namespaces does once a namespace is empty."""
    found = await read(stage, NAMESPACES, namespace)
    await stage.client.update(NAMESPACES, {**found, "spec": {}}, "finalize")
    await stage.settle()


def expected(tenant: str = ID) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for resource, object_ in tenant_objects(tenant):
        found.setdefault(resource, set()).add(name_of(object_).removeprefix(f"{tenant}-"))
    return found


async def reasons(stage: WorkloadCluster, tenant: str = ID) -> list[str]:
    """Returns the reasons of the Events about the tenant."""
    return [reason for reason, _ in await stage.event_messages(tenant)]


async def test_tenant_has_what_a_new_cluster_has(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    found = await names(stage)
    assert found == expected()
    assert found["namespaces"] == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert {"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"} <= found["clusterroles"]
    for kind in RESOURCES.values():
        for name in found[kind.plural]:
            labels = (await read(stage, kind, f"{ID}-{name}"))["metadata"]["labels"]
            assert labels[tenants.TENANT_LABEL] == ID, name


async def test_administrator_is_a_user_of_the_tenant(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    binding = await read(stage, BINDINGS, f"{ID}-cluster-admin")
    group = "rbac.authorization.k8s.io"
    assert binding["subjects"] == [{"apiGroup": group, "kind": "User", "name": f"{ID}-admin"}]
    assert binding["roleRef"] == {"apiGroup": group, "kind": "ClusterRole", "name": f"{ID}-cluster-admin"}
    rules = (await read(stage, ROLES, f"{ID}-cluster-admin"))["rules"]
    assert {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]} in rules
    assert {"verbs": ["*"], "nonResourceURLs": ["*"]} in rules


async def test_tenant_becomes_active(stage: WorkloadCluster) -> None:
    tenant = await create_tenant(stage)
    assert tenant["status"]["phase"] == "Active"
    assert tenant["status"]["observedGeneration"] == tenant["metadata"]["generation"]
    ready = condition(tenant, "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "Provisioned")
    assert await reasons(stage) == ["TenantActive"]


async def test_beginning_and_end_of_the_deletion_are_recorded(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    await stage.client.delete(TENANTS, "", ID)
    await stage.settle()
    dying = await read(stage, TENANTS, ID)
    assert (dying["status"]["phase"], condition(dying, "Ready")["reason"]) == ("Terminating", "Terminating")
    assert sorted(await reasons(stage)) == ["TenantActive", "TenantTerminating"]
    await stage.client.patch(TENANTS, "", ID, change={"spec": {"forceFinalizers": ["a.com/b"]}})
    await stage.settle()
    assert sorted(await reasons(stage)) == ["TenantActive", "TenantTerminating"]
    key = tenants.tenant_key(ID)
    record = await stage.server.store.read(key)
    assert record is not None
    await stage.server.store.commit(contract.delete(key, revision=record.revision))
    await stage.settle()
    assert sorted(await reasons(stage)) == ["TenantActive", "TenantDeleted", "TenantTerminating"]


async def test_provisioned_tenant_is_not_written_again(stage: WorkloadCluster) -> None:
    before = await create_tenant(stage)
    stage.server.line.requests.clear()
    await stage.pass_time(10 * RESYNC_SECONDS)
    writes = [request for request in stage.server.line.requests if not request.startswith("GET ")]
    assert writes == []
    assert await read(stage, TENANTS, ID) == before


@pytest.mark.parametrize(
    ("kind", "name"), [(NAMESPACES, "kube-public"), (ROLES, "view"), (BINDINGS, "cluster-admin"), (BINDINGS, "system:discovery")]
)
async def test_deleted_object_comes_back(stage: WorkloadCluster, kind: GroupVersionResource, name: str) -> None:
    await create_tenant(stage)
    before = await read(stage, kind, f"{ID}-{name}")
    await remove(stage, kind, f"{ID}-{name}")
    assert (await read(stage, kind, f"{ID}-{name}"))["metadata"]["uid"] != before["metadata"]["uid"]


async def test_namespace_comes_back_once_its_content_is_gone(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    await stage.client.delete(NAMESPACES, "", f"{ID}-kube-public")
    await stage.settle()
    tenant = await read(stage, TENANTS, ID)
    ready = condition(tenant, "Ready")
    assert (tenant["status"]["phase"], ready["status"], ready["reason"]) == ("Active", "False", "ProvisioningFailed")
    assert f"Namespace {ID}-kube-public is being deleted" in ready["message"]
    await finalize(stage, f"{ID}-kube-public")
    assert "deletionTimestamp" not in (await read(stage, NAMESPACES, f"{ID}-kube-public"))["metadata"]
    assert condition(await read(stage, TENANTS, ID), "Ready")["status"] == "True"


async def test_narrowed_role_gets_its_rules_back_and_keeps_what_was_added(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    name, own = f"{ID}-system:aggregate-to-view", {"verbs": ["get"], "apiGroups": ["a.com"], "resources": ["foos"]}
    before = (await read(stage, ROLES, name))["rules"]
    await stage.client.patch(ROLES, "", name, change={"rules": [own]})
    await stage.settle()
    after = (await read(stage, ROLES, name))["rules"]
    assert after[0] == own
    assert {str(sorted(rule["resources"])) for rule in after} >= {str(sorted(rule["resources"])) for rule in before}


@pytest.mark.parametrize("value", ["false", None])
async def test_role_that_is_not_updated_automatically_stays_as_it_is(stage: WorkloadCluster, value: str | None) -> None:
    await create_tenant(stage)
    name = f"{ID}-system:discovery"
    await stage.client.patch(ROLES, "", name, change={"metadata": {"annotations": {AUTO_UPDATE: value}}, "rules": []})
    await stage.settle()
    await stage.pass_time(2 * RESYNC_SECONDS)
    assert (await read(stage, ROLES, name)).get("rules") in (None, [])


async def test_removed_subject_is_added_again(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    own = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"{ID}-ann"}
    await stage.client.patch(BINDINGS, "", f"{ID}-cluster-admin", change={"subjects": [own]})
    await stage.settle()
    subjects = (await read(stage, BINDINGS, f"{ID}-cluster-admin"))["subjects"]
    assert [subject["name"] for subject in subjects] == [f"{ID}-ann", f"{ID}-admin"]


async def test_binding_to_another_role_is_replaced(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    name = f"{ID}-cluster-admin"
    binding = await read(stage, BINDINGS, name)
    with stage.server.line.refuse(f"POST {BINDINGS.path()}", NOT_NOW):
        await stage.client.delete(BINDINGS, "", name)
        await stage.settle()
    meta = {"name": name, "labels": binding["metadata"]["labels"], "annotations": {AUTO_UPDATE: "true"}}
    reference = {**binding["roleRef"], "name": f"{ID}-view"}
    await stage.client.create(BINDINGS, "", {"metadata": meta, "roleRef": reference, "subjects": binding["subjects"]})
    await stage.pass_time(1)
    assert (await read(stage, BINDINGS, name))["roleRef"] == binding["roleRef"]


async def test_aggregated_role_has_the_rules_of_the_tenants_roles_only(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    await create_tenant(stage, OTHER)
    label = {"rbac.authorization.k8s.io/aggregate-to-admin": "true", tenants.TENANT_LABEL: ID}
    rule = {"verbs": ["get"], "apiGroups": ["a.com"], "resources": ["foos"]}
    await stage.client.create(ROLES, "", {"metadata": {"name": f"{ID}-foos", "labels": label}, "rules": [rule]})
    await stage.settle()
    assert rule in (await read(stage, ROLES, f"{ID}-admin"))["rules"]
    assert rule not in (await read(stage, ROLES, f"{OTHER}-admin"))["rules"]
    assert rule not in (await read(stage, ROLES, "admin"))["rules"]


async def test_platforms_role_adds_nothing_to_roles_of_tenants(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    rule = {"verbs": ["get"], "apiGroups": ["a.com"], "resources": ["foos"]}
    label = {"rbac.authorization.k8s.io/aggregate-to-admin": "true"}
    await stage.client.create(ROLES, "", {"metadata": {"name": "foos", "labels": label}, "rules": [rule]})
    await stage.settle()
    assert rule in (await read(stage, ROLES, "admin"))["rules"]
    assert rule not in (await read(stage, ROLES, f"{ID}-admin"))["rules"]


async def test_one_object_that_fails_does_not_keep_the_others_from_being_created(stage: WorkloadCluster) -> None:
    with stage.server.line.refuse(f"POST {NAMESPACES.path()}", NOT_NOW):
        tenant = await create_tenant(stage)
        found = await names(stage)
        assert found == {**expected(), "namespaces": set()}
        assert (tenant["status"]["phase"], condition(tenant, "Ready")["status"]) == ("Pending", "False")
        assert condition(tenant, "Ready")["message"] == "; ".join([str(NOT_NOW)] * 4)
        assert await reasons(stage) == ["ProvisioningFailed"]
    await stage.pass_time(1)
    assert await names(stage) == expected()
    assert (await read(stage, TENANTS, ID))["status"]["phase"] == "Active"
    assert sorted(await reasons(stage)) == ["ProvisioningFailed", "TenantActive"]


async def test_failures_are_retried_for_ever_after_ever_longer_pauses(stage: WorkloadCluster) -> None:
    attempts: list[float] = []
    with stage.server.line.refuse(f"POST {NAMESPACES.path()}", NOT_NOW):
        await create_tenant(stage)
        began = stage.server.clock.monotonic()
        while stage.server.clock.monotonic() < began + 2000:
            stage.server.line.requests.clear()
            await stage.pass_time(0.5)
            if f"POST {NAMESPACES.path()}" in stage.server.line.requests:
                attempts.append(stage.server.clock.monotonic() - began)
    pauses = [round(later - earlier) for earlier, later in itertools.pairwise(attempts)]
    assert pauses[:11] == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    await stage.pass_time(300)
    assert (await read(stage, TENANTS, ID))["status"]["phase"] == "Active"


async def test_tenant_that_fails_does_not_delay_another(stage: WorkloadCluster) -> None:
    with stage.server.line.refuse(f"GET {TENANTS.path('', ID)}", NOT_NOW):
        await stage.client.create(TENANTS, "", {"metadata": {"name": ID}})
        assert (await create_tenant(stage, OTHER))["status"]["phase"] == "Active"
    assert await names(stage) == {kind: set() for kind in expected()}


async def test_tenant_that_is_being_deleted_gets_nothing(stage: WorkloadCluster) -> None:
    await create_tenant(stage)
    await stage.client.delete(TENANTS, "", ID)
    await stage.settle()
    deleting = await read(stage, TENANTS, ID)
    for kind in RESOURCES.values():
        for name in (await names(stage))[kind.plural]:
            await remove(stage, kind, f"{ID}-{name}")
    await stage.pass_time(3 * RESYNC_SECONDS)
    assert await names(stage) == {kind: set() for kind in expected()}
    assert (await read(stage, TENANTS, ID))["status"] == deleting["status"]


async def test_restart_resurrects_nothing_of_a_tenant_that_is_being_deleted() -> None:
    async with workload_cluster() as stage:
        await stage.client.create(TENANTS, "", {"metadata": {"name": ID}})
        await stage.client.delete(TENANTS, "", ID)
        for _ in range(2):
            async with stage.controllers_running(TITLE):
                await stage.pass_time(2 * RESYNC_SECONDS)
        assert await names(stage) == {kind: set() for kind in expected()}
        assert (await read(stage, TENANTS, ID))["status"]["phase"] != "Active"


async def test_deletion_that_begins_meanwhile_is_final() -> None:
    """The controller has read the tenant as it was before its deletion began."""
    refusal = errors.Forbidden("the tenant is being deleted", errors.Details(causes=(FieldError(TENANT_TERMINATING, "", ""),)))
    async with workload_cluster() as stage:
        with stage.server.line.refuse("POST .*", refusal):
            await stage.client.create(TENANTS, "", {"metadata": {"name": ID}})
            before = await read(stage, TENANTS, ID)
            async with stage.controllers_running(TITLE):
                stage.server.line.requests.clear()
                await stage.pass_time(2 * RESYNC_SECONDS)
                assert stage.server.line.requests == []
            assert await read(stage, TENANTS, ID) == before


@pytest.mark.parametrize("kind", RESOURCES.values(), ids=lambda kind: kind.plural)
async def test_server_refuses_creates_in_a_tenant_that_is_being_deleted(stage: WorkloadCluster, kind: GroupVersionResource) -> None:
    await create_tenant(stage)
    await stage.client.delete(TENANTS, "", ID)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{ID}-view"}
    with pytest.raises(errors.Forbidden) as refusal:
        await stage.client.create(
            kind, "", {"metadata": {"name": f"{ID}-late"}, **({"roleRef": reference} if kind == BINDINGS else {})}
        )
    assert has_cause(refusal.value, TENANT_TERMINATING)
