"""Controllers give up, without Events and retries, what the server refuses because the tenant is being deleted."""

from __future__ import annotations

from probate.client.objects import GroupVersionResource
from probate.client.resources import NAMESPACES, PODS
from probate.controllers.tenants.tenant_controller import TENANTS
from support.workload_cluster import EVENTS, REPLICA_SETS, WorkloadCluster, replicas_of, workload_cluster

ID = "team-a"
WORK = f"{ID}-work"
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")


async def begin_deletion(stage: WorkloadCluster) -> None:
    """Creates a tenant with a ReplicaSet, and begins to delete the tenant. No controller deletes its content."""
    await stage.client.create(TENANTS, "", {"metadata": {"name": ID}})
    await stage.client.create(NAMESPACES, "", {"metadata": {"name": WORK}})
    await stage.client.create(REPLICA_SETS, WORK, {"metadata": {"name": "web"}, "spec": replicas_of(3)})
    await stage.settle()
    await stage.client.delete(TENANTS, "", ID)
    await stage.settle()
    stage.server.line.requests.clear()


async def test_replicaset_does_not_replace_its_pods() -> None:
    async with workload_cluster("replicaset-controller") as stage:
        await begin_deletion(stage)
        pods = (await stage.client.list(PODS, WORK)).items
        assert len(pods) == 3
        await stage.client.delete(PODS, WORK, pods[0]["metadata"]["name"])
        await stage.pass_time(600)
        assert len((await stage.client.list(PODS, WORK)).items) == 2
        assert stage.server.line.requests.count(f"POST {PODS.path(WORK)}") <= 2
        reasons = {event["reason"] for event in (await stage.client.list(EVENTS, WORK)).items}
        assert reasons == {"SuccessfulCreate"}


async def test_default_service_account_is_not_created_again() -> None:
    async with workload_cluster("serviceaccount-controller") as stage:
        await begin_deletion(stage)
        await stage.client.delete(ACCOUNTS, WORK, "default")
        await stage.pass_time(600)
        assert (await stage.client.list(ACCOUNTS, WORK)).items == []
        assert stage.server.line.requests.count(f"POST {ACCOUNTS.path(WORK)}") == 1
