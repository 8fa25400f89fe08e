"""What tenants write has no effect outside of the tenant: in the physical view, where administrators and controllers work.

Each test first shows that the object would have an effect if it were the platform's.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.api.objects import Object
from probate.client.objects import GroupVersionResource
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from probate.controllers.access.clusterrole_aggregation import ROLES
from probate.controllers.lifecycle.csr_cleaner import REQUESTS
from probate.controllers.runtime.context import Server
from probate.controllers.workloads.owner_kinds import PODS
from probate.kinds.certificates.signers import RequestedCertificate
from support import bootstrap, signed_certificates
from support.admission_policies import REGISTRATION, binding, validating_policy
from support.attacker_requests import SECRETS, rbac_rule
from support.certificate_requests import PEM, csr_object
from support.rbac_server import RBAC, RbacServer
from support.stored_tenants import create_tenant, label_of
from support.workload_cluster import WorkloadCluster, workload_cluster

TENANT, OTHER = "111111", "222222"
CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
LABEL = "kubezoo.io/tenant"
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
ANY_POD = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


@pytest.fixture
async def tenant(server: RbacServer) -> RbacServer:
    """The server with two tenants, each with a namespace."""
    for name in (TENANT, OTHER):
        await create_tenant(server.store, name)
        await server.create("namespaces", "", {"metadata": {"name": f"{name}-web"}})
    return server


async def create_pod(server: RbacServer, namespace: str, name: str = "p", **spec: Any) -> Object:
    created: Object = await server.create("pods", namespace, {"metadata": {"name": name}, "spec": {**CONTAINERS, **spec}})
    return created


async def test_response_lacked_the_label_that_was_stored(tenant: RbacServer) -> None:
    created = await create_pod(tenant, "111111-web")
    assert created["metadata"]["labels"] == {LABEL: TENANT}
    assert "kubezoo" not in str(created["metadata"]["managedFields"])
    path = "/api/v1/namespaces/111111-web/pods/p"
    assert (await tenant.request("GET", path)).json == created
    replaced = await tenant.request("PUT", path, {**created, "metadata": {**created["metadata"], "labels": {"a": "b"}}})
    assert replaced.json["metadata"]["labels"] == {"a": "b", LABEL: TENANT}
    generated = await tenant.create("namespaces", "", {"metadata": {"generateName": "111111-x-"}})
    assert generated["metadata"]["labels"][LABEL] == TENANT


async def test_dry_run_of_a_create_with_the_label_of_another_tenant_succeeded(tenant: RbacServer) -> None:
    for namespace in ("default", "222222-web"):
        labelled = {"metadata": {"name": "m", "labels": {LABEL: TENANT}}}
        for query in ({}, {"dryRun": "All"}):
            response = await tenant.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", labelled, query=query)
            assert (response.code, response.json["reason"]) == (422, "Invalid")


async def test_update_gave_an_object_of_the_platform_to_a_tenant(tenant: RbacServer) -> None:
    await tenant.create("configmaps", "default", {"metadata": {"name": "m"}})
    change = {"metadata": {"labels": {LABEL: TENANT}}}
    path, media = "/api/v1/namespaces/default/configmaps/m", "application/merge-patch+json"
    assert (await tenant.request("PATCH", path, change, media=media)).code == 422
    assert (await tenant.store.read("objects/configmaps/default/m")).value.count(b"kubezoo") == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("group", ["system:authenticated", "system:masters", "system:serviceaccounts:kube-system"])
async def test_binding_of_a_tenant_gave_rights_to_users_of_the_platform(tenant: RbacServer, group: str) -> None:
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}]
    for name in ("111111-all", "all"):
        rules = [rbac_rule("*", "*", group="*")]
        await tenant.create(f"{RBAC[1:]}/clusterroles", "", {"metadata": {"name": name}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        bound = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        await tenant.create(f"{RBAC[1:]}/clusterrolebindings", "", bound)
        user = {"groups": (group,)} if group != "system:masters" else {}
        if name == "111111-all":
            assert (await tenant.ask_as("eve", "GET", SECRETS, **user)).code == 403
    assert (await tenant.ask_as("eve", "GET", SECRETS, groups=(group,))).code == 200


async def test_role_binding_of_a_tenant_gave_rights_to_users_of_the_platform(tenant: RbacServer) -> None:
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    for namespace, code in (("111111-web", 403), ("default", 200)):
        bound = {"metadata": {"name": "x"}, "roleRef": reference, "subjects": subjects}
        await tenant.create(f"{RBAC[1:]}/rolebindings", namespace, bound)
        assert (await tenant.ask_as("eve", "GET", f"/api/v1/namespaces/{namespace}/secrets")).code == code


async def test_binding_of_the_platform_granted_a_role_that_a_tenant_wrote(tenant: RbacServer) -> None:
    """A tenant would get the rights of the binding's users by writing the role that the binding names."""
    await tenant.create(
        f"{RBAC[1:]}/clusterroles", "", {"metadata": {"name": "111111-r"}, "rules": [rbac_rule("*", "*", group="*")]}
    )
    await tenant.bind("eve", "ClusterRole", "111111-r")
    assert (await tenant.ask_as("eve", "GET", SECRETS)).code == 403


async def test_deleted_role_of_a_tenant_leaves_the_grants_as_they_are(tenant: RbacServer) -> None:
    """Every change of the grants makes the server compute the rights of all users again."""
    await tenant.ask_as("eve", "GET", SECRETS)
    before = tenant.api.authorizer.grants.generation
    await tenant.create(f"{RBAC[1:]}/clusterroles", "", {"metadata": {"name": "111111-r"}, "rules": []})
    await tenant.request("DELETE", f"{RBAC}/clusterroles/111111-r")
    assert tenant.api.authorizer.grants.generation == before


async def test_webhook_of_a_tenant_was_called_for_pods_of_others(tenant: RbacServer) -> None:
    hook = {"name": "x.a.com", "clientConfig": {"url": "https://127.0.0.1:1"}, "rules": [ANY_POD], "timeoutSeconds": 1}
    hook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    for plural in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        await tenant.create(f"{REGISTRATION[1:]}/{plural}", "", {"metadata": {"name": "111111-x"}, "webhooks": [hook]})
        await create_pod(tenant, "default", plural)
        await tenant.create(f"{REGISTRATION[1:]}/{plural}", "", {"metadata": {"name": "x"}, "webhooks": [hook]})
        pod = {"metadata": {"name": "other"}, "spec": CONTAINERS}
        assert (await tenant.request("POST", "/api/v1/namespaces/default/pods", pod)).code == 500
        assert (await tenant.request("DELETE", f"{REGISTRATION}/{plural}/x")).code == 200


async def test_policy_of_a_tenant_denied_objects_of_others(tenant: RbacServer) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    for name, code in (("111111-p", 201), ("p", 422)):
        policy = validating_policy("false")
        policy["metadata"]["name"] = name
        await tenant.create(f"{REGISTRATION[1:]}/validatingadmissionpolicies", "", policy)
        await tenant.create(f"{REGISTRATION[1:]}/validatingadmissionpolicybindings", "", binding(name, to=name))
        assert (await tenant.request("POST", maps, {"metadata": {"name": name}})).code == code


async def test_binding_of_a_tenant_applied_a_policy_of_the_platform_to_others(tenant: RbacServer) -> None:
    await tenant.create(f"{REGISTRATION[1:]}/validatingadmissionpolicies", "", validating_policy("false"))
    await tenant.create(f"{REGISTRATION[1:]}/validatingadmissionpolicybindings", "", binding("111111-b"))
    await tenant.create("configmaps", "default", {"metadata": {"name": "m"}})


async def test_default_priority_of_a_tenant_applied_to_pods_of_others(tenant: RbacServer) -> None:
    classes = "apis/scheduling.k8s.io/v1/priorityclasses"
    default = {"metadata": {"name": "111111-usual"}, "value": 7, "globalDefault": True}
    await tenant.create(classes, "", default)
    assert (await create_pod(tenant, "111111-web"))["spec"]["priorityClassName"] == "111111-usual"
    assert "priorityClassName" not in (await create_pod(tenant, "222222-web"))["spec"]
    assert "priorityClassName" not in (await create_pod(tenant, "default"))["spec"]
    await tenant.create(classes, "", {"metadata": {"name": "platform"}, "value": 8, "globalDefault": True})
    assert (await create_pod(tenant, "default", "q"))["spec"]["priority"] == 8
    assert (await create_pod(tenant, "111111-web", "q"))["spec"]["priority"] == 7
    assert (await create_pod(tenant, "222222-web", "q"))["spec"]["priority"] == 0
    await tenant.create(classes, "", {**default, "metadata": {"name": "222222-usual"}})
    refused = await tenant.request("POST", f"/{classes}", {**default, "metadata": {"name": "111111-another"}})
    assert (refused.code, "PriorityClass 111111-usual is already" in refused.json["message"]) == (403, True)


async def test_classes_of_a_tenant_are_found_by_name(tenant: RbacServer) -> None:
    """Controllers create the pods of a tenant in the physical view, with the physical names of classes."""
    await tenant.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "111111-high"}, "value": 9})
    runtime = {"metadata": {"name": "111111-kata"}, "handler": "kata", "overhead": {"podFixed": {"cpu": "10m"}}}
    await tenant.create("apis/node.k8s.io/v1/runtimeclasses", "", runtime)
    pod = await create_pod(tenant, "111111-web", priorityClassName="111111-high", runtimeClassName="111111-kata")
    assert (pod["spec"]["priority"], pod["spec"]["overhead"]) == (9, {"cpu": "10m"})


@pytest.mark.parametrize("kind", ["storage", "ingress"])
async def test_default_class_of_a_tenant_applied_to_objects_of_others(tenant: RbacServer, kind: str) -> None:
    if kind == "storage":
        classes, objects, field = "apis/storage.k8s.io/v1/storageclasses", "persistentvolumeclaims", "storageClassName"
        body: Object = {"provisioner": "a.com/p"}
        spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    else:
        classes, objects, field = (
            "apis/networking.k8s.io/v1/ingressclasses",
            "apis/networking.k8s.io/v1/ingresses",
            "ingressClassName",
        )
        body, spec = {"spec": {"controller": "a.com/c"}}, {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    annotations = {f"{kind}class.kubernetes.io/is-default-class": "true"}
    chosen = []
    for name in ("111111-usual", "platform"):
        await tenant.create(classes, "", {"metadata": {"name": name, "annotations": annotations}, **body})
        for namespace in ("111111-web", "222222-web", "default"):
            created = await tenant.create(objects, namespace, {"metadata": {"name": name}, "spec": spec})
            chosen.append(created["spec"].get(field))
    assert chosen == ["111111-usual", None, None, "111111-usual", None, "platform"]


async def test_shared_default_class_applies_to_tenants_without_one(tenant: RbacServer) -> None:
    meta = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}, "labels": {"kubezoo.io/shared": "true"}}
    classes, spec = (
        "apis/storage.k8s.io/v1/storageclasses",
        {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
    )
    await tenant.create(classes, "", {"metadata": {"name": "standard", **meta}, "provisioner": "a.com/p"})
    created = await tenant.create("persistentvolumeclaims", "111111-web", {"metadata": {"name": "c"}, "spec": spec})
    assert created["spec"]["storageClassName"] == "standard"


async def test_flow_schema_of_a_tenant_classified_requests_of_others(tenant: RbacServer) -> None:
    everybody = [{"kind": "Group", "group": {"name": "system:authenticated"}}]
    rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    spec = {
        "matchingPrecedence": 2,
        "priorityLevelConfiguration": {"name": "exempt"},
        "rules": [{"subjects": everybody, "resourceRules": [rule]}],
    }
    path = "apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    await bootstrap.ensure_default_objects(tenant.api)
    await tenant.api.admission.configuration.refresh_all()
    seen = []
    for name in ("111111-x", "x"):
        made = await tenant.create(path, "", {"metadata": {"name": name}, "spec": spec})
        response = await tenant.ask_as("eve", "GET", SECRETS, groups=("system:authenticated",))
        seen.append(response.headers.get("x-kubernetes-pf-flowschema-uid") == made["metadata"]["uid"])
    assert seen == [False, True]


@pytest.fixture
async def cluster() -> AsyncIterator[WorkloadCluster]:
    async with workload_cluster("volumes", "clusterrole-aggregation-controller") as one:
        for name in (TENANT, OTHER):
            await create_tenant(one.server.store, name)
            await one.client.create(NAMESPACES, "", {"metadata": {"name": f"{name}-web"}})
        yield one


async def test_aggregated_roles_selected_roles_across_tenants(cluster: WorkloadCluster) -> None:
    selects = {"clusterRoleSelectors": [{"matchLabels": {"aggregate": "true"}}]}
    for prefix in ("111111-", "222222-", ""):
        rules = [{"verbs": ["get"], "apiGroups": [""], "resources": [f"r{prefix[:1]}"]}]
        part = {"metadata": {"name": f"{prefix}part", "labels": {"aggregate": "true"}}, "rules": rules}
        await cluster.client.create(ROLES, "", part)
        await cluster.client.create(ROLES, "", {"metadata": {"name": f"{prefix}whole"}, "aggregationRule": selects})
    await cluster.settle()
    for prefix in ("111111-", "222222-", ""):
        whole = await cluster.client.get(ROLES, "", f"{prefix}whole")
        assert whole is not None
        assert [rule["resources"] for rule in whole["rules"]] == [[f"r{prefix[:1]}"]]


def volume(name: str, **spec: Any) -> Object:
    about = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}, "hostPath": {"path": "/tmp/v"}}  # noqa: S108
    return {"metadata": {"name": name}, "spec": {**about, "persistentVolumeReclaimPolicy": "Retain", **spec}}


def claim(**spec: Any) -> Object:
    about = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    return {"metadata": {"name": "data"}, "spec": {**about, **spec}}


async def volume_of(cluster: WorkloadCluster, namespace: str) -> str:
    found = await cluster.client.get(PERSISTENT_VOLUME_CLAIMS, namespace, "data")
    assert found is not None
    return str(found["spec"].get("volumeName") or "")


@pytest.mark.parametrize("is_named", [False, True], ids=["chosen", "named"])
async def test_volume_of_a_tenant_was_bound_to_a_claim_of_another(cluster: WorkloadCluster, is_named: bool) -> None:
    await cluster.client.create(PERSISTENT_VOLUMES, "", volume("111111-v"))
    spec = {"volumeName": "111111-v"} if is_named else {}
    for namespace in ("222222-web", "default"):
        await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, namespace, claim(**spec))
    await cluster.settle()
    found = await cluster.client.get(PERSISTENT_VOLUMES, "", "111111-v")
    assert found is not None
    assert (found["status"]["phase"], found["spec"].get("claimRef")) == ("Available", None)
    await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, "111111-web", claim(**spec))
    await cluster.settle()
    assert await volume_of(cluster, "111111-web") == "111111-v"


async def test_claim_that_says_it_is_bound_got_the_volume_of_a_tenant(cluster: WorkloadCluster) -> None:
    await cluster.client.create(PERSISTENT_VOLUMES, "", volume("111111-v"))
    thief = claim(volumeName="111111-v")
    thief["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, "222222-web", thief)
    await cluster.settle()
    found = await cluster.client.get(PERSISTENT_VOLUME_CLAIMS, "222222-web", "data")
    assert found is not None
    assert found["status"]["phase"] == "Lost"


async def test_volume_that_was_bound_to_a_claim_of_a_tenant_is_the_tenants(cluster: WorkloadCluster) -> None:
    """It has the tenant's data, so nobody else gets it afterwards."""
    await cluster.client.create(PERSISTENT_VOLUMES, "", volume("v"))
    await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, "111111-web", claim())
    await cluster.settle()
    assert await volume_of(cluster, "111111-web") == "v"
    stored = await cluster.server.store.read("objects/persistentvolumes/-/v")
    assert stored is not None
    assert label_of(stored.value) == TENANT
    assert await cluster.server.store.count("tenant/111111/objects/persistentvolumes/") == 1


async def test_volume_provisioned_for_a_tenant_is_named_as_the_tenants_objects(cluster: WorkloadCluster) -> None:
    class_ = {"metadata": {"name": "111111-fast"}, "provisioner": "probate.dev/hostpath"}
    await cluster.client.create(STORAGE_CLASSES, "", class_)
    await cluster.client.create(PERSISTENT_VOLUME_CLAIMS, "111111-web", claim(storageClassName="111111-fast"))
    await cluster.settle()
    name = await volume_of(cluster, "111111-web")
    assert name.startswith("111111-pvc-")
    assert await cluster.server.store.count("tenant/111111/objects/persistentvolumes/") == 1


async def test_certificate_request_of_a_tenant_was_signed(cluster: WorkloadCluster) -> None:
    """It could name the group system:masters."""
    signed: list[RequestedCertificate] = []
    certificate = signed_certificates.new_root("somebody").pem

    async def sign(wanted: RequestedCertificate) -> bytes:
        signed.append(wanted)
        return certificate

    cluster.server.server = Server(sign=sign)
    async with cluster.controllers_running("signers"):
        for name in ("111111-x", "x"):
            request = csr_object(PEM)
            request["metadata"]["name"] = name
            made = await cluster.client.create(REQUESTS, "", request)
            approved = {"conditions": [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]}
            await cluster.client.update(REQUESTS, {**made, "status": approved}, "approval")
        await cluster.settle()
    refused, accepted = [await cluster.client.get(REQUESTS, "", name) or {} for name in ("111111-x", "x")]
    assert [one["type"] for one in refused["status"]["conditions"]] == ["Approved", "Failed"]
    assert "get their certificates from the platform" in refused["status"]["conditions"][1]["message"]
    assert accepted["status"]["certificate"] == base64.b64encode(certificate).decode()
    assert len(signed) == 1


async def test_pod_of_a_tenant_preempted_pods_of_others() -> None:
    """A tenant chooses the priorities of its own classes."""
    async with workload_cluster("scheduler") as cluster:
        for name in (TENANT, OTHER):
            await create_tenant(cluster.server.store, name)
            await cluster.client.create(NAMESPACES, "", {"metadata": {"name": f"{name}-web"}})
        cluster.server.api.admission.priority.subscribe_to(cluster.server.api.admission.configuration)
        await cluster.client.create(CLASSES, "", {"metadata": {"name": "high"}, "value": 9})
        await cluster.server.api.admission.configuration.refresh_all()
        await cluster.node("one")
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
        for namespace, is_preempted in (("default", False), ("222222-web", False), ("111111-web", True)):
            low: Object = {"metadata": {"name": "low"}, "spec": {"containers": [container]}}
            await cluster.client.create(PODS, namespace, low)
            await cluster.settle()
            high = {"metadata": {"name": "high"}, "spec": {"containers": [container], "priorityClassName": "high"}}
            await cluster.client.create(PODS, "111111-web", high)
            await cluster.settle()
            found = await cluster.client.get(PODS, namespace, "low")
            assert found is not None
            assert found["spec"]["nodeName"] == "one"
            assert ("deletionTimestamp" in found["metadata"]) == is_preempted, namespace
            for name, where in (("high", "111111-web"), ("low", namespace)):
                await cluster.client.delete(PODS, where, name, grace=0)
            await cluster.settle()
