"""A session with `kubernetes_asyncio`: objects, a watch during writes, apply, dynamic client, leader election."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import Any

from kubernetes_asyncio import client, config, dynamic, watch
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.leaderelection import electionconfig, leaderelection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock

NAMESPACE = sys.argv[1]
PATIENCE = 60.0


async def refusal(call: Awaitable[Any]) -> int:
    """Returns the status code of a call that fails."""
    try:
        await call
    except ApiException as error:
        return int(error.status)
    raise AssertionError("it was not refused")


def configmap(name: str, **data: str) -> client.V1ConfigMap:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"set": "two"}), data=data)


async def objects(core: client.CoreV1Api) -> None:
    """Objects are created, read, listed, replaced, patched, applied and deleted."""
    made = await core.create_namespaced_config_map(NAMESPACE, configmap("a", k="1"))
    assert await refusal(core.create_namespaced_config_map(NAMESPACE, configmap("a"))) == 409
    assert await refusal(core.read_namespaced_config_map("absent", NAMESPACE)) == 404
    made.data = {"k": "2"}
    assert (await core.replace_namespaced_config_map("a", NAMESPACE, made)).data == {"k": "2"}
    assert await refusal(core.replace_namespaced_config_map("a", NAMESPACE, made)) == 409
    merged = "application/merge-patch+json"
    patched = await core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"k": None}}, _content_type=merged)
    assert patched.data is None
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"l": "3"}}
    options = {"field_manager": "two", "_content_type": "application/apply-patch+yaml"}
    assert (await core.patch_namespaced_config_map("a", NAMESPACE, applied, **options)).data == {"l": "3"}
    found = await core.list_namespaced_config_map(NAMESPACE, label_selector="set=two", limit=1)
    assert [one.metadata.name for one in found.items] == ["a"]
    assert (await core.delete_namespaced_config_map("a", NAMESPACE)).status == "Success"


async def watching(core: client.CoreV1Api) -> None:
    """A watch delivers changes as they happen."""
    since = (await core.list_namespaced_config_map(NAMESPACE)).metadata.resource_version
    seen = []

    async def follow() -> None:
        async with watch.Watch() as watcher:
            options = {"resource_version": since, "timeout_seconds": 60, "label_selector": "set=two"}
            async for event in watcher.stream(core.list_namespaced_config_map, NAMESPACE, **options):
                seen.append((event["type"], event["object"].data))
                if event["type"] == "DELETED":
                    return

    following = asyncio.create_task(follow())
    await core.create_namespaced_config_map(NAMESPACE, configmap("w"))
    await core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"k": "1"}})
    await core.delete_namespaced_config_map("w", NAMESPACE)
    await asyncio.wait_for(following, PATIENCE)
    assert seen == [("ADDED", None), ("MODIFIED", {"k": "1"}), ("DELETED", {"k": "1"})], seen


async def kinds(api: client.ApiClient) -> None:
    """The dynamic client discovers all kinds, and a Job creates pods."""
    everything = await dynamic.DynamicClient(api)
    jobs = await everything.resources.get(api_version="batch/v1", kind="Job")
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "one"}]}
    template = {"metadata": {"annotations": {"probate.dev/duration": "100ms"}}, "spec": pod}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": template}}
    await jobs.create(body=body, namespace=NAMESPACE)
    async for event in jobs.watch(namespace=NAMESPACE, timeout=60):
        if event["object"].status.succeeded == 1:
            break
    pods = await everything.resources.get(api_version="v1", kind="Pod")
    assert [one.status.phase for one in (await pods.get(namespace=NAMESPACE)).items] == ["Succeeded"]
    await jobs.delete(name="work", namespace=NAMESPACE, body={"propagationPolicy": "Background"})


async def electing(api: client.ApiClient) -> None:
    """Leader election: a candidate becomes the leader."""
    leads = asyncio.Event()

    async def lead() -> None:
        leads.set()

    async def stop() -> None:
        pass

    lock = LeaseLock("leader", NAMESPACE, "one", api)
    settings = electionconfig.Config(lock, 3, 2, 1, onstarted_leading=lead, onstopped_leading=stop)
    running = asyncio.create_task(leaderelection.LeaderElection(settings).run())
    await asyncio.wait_for(leads.wait(), PATIENCE)
    lease = await client.CoordinationV1Api(api).read_namespaced_lease("leader", NAMESPACE)
    assert lease.spec.holder_identity == "one"
    running.cancel()


async def main() -> None:
    await config.load_kube_config()
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await objects(core)
        await watching(core)
        await kinds(api)
        await electing(api)


if __name__ == "__main__":
    asyncio.run(main())
