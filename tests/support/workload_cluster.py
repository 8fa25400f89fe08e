"""A workload cluster for tests: an in-memory server with controllers, on a virtual clock that the test advances.

The tests play the role of users and of nodes; there are no nodes here. A pod that is bound (`bind`) has a node name, so its
deletion takes its grace period; `run` and `finish` write the status that a node would. After each action all controllers run until
they are idle.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.objects import STRATEGIC_MERGE_PATCH, Client, GroupVersionResource
from probate.controllers.workloads.owner_kinds import DEPLOYMENT, JOB, PODS, REPLICA_SET, REPLICATION_CONTROLLER
from probate.server.local_transport import LocalTransport
from probate.settings import Settings
from support.virtual_time_server import VirtualTimeServer, in_memory

DEPLOYMENTS, REPLICA_SETS, JOBS = DEPLOYMENT.resource, REPLICA_SET.resource, JOB.resource
CONTROLLERS = REPLICATION_CONTROLLER.resource
EVENTS = GroupVersionResource("", "v1", "events")
NODES = GroupVersionResource("", "v1", "nodes")
NAMESPACE = "default"
LABELS = {"app": "web"}


def template(labels: dict[str, str] | None = None, image: str = "one", **spec: Any) -> Object:
    return {"metadata": {"labels": labels or LABELS}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def replicas_of(number: int, **spec: Any) -> Object:
    """Returns the spec of a ReplicaSet or a Deployment."""
    return {"replicas": number, "selector": {"matchLabels": LABELS}, "template": template(), **spec}


def name_of(object_: Object) -> str:
    name: str = object_["metadata"]["name"]
    return name


def owners_of(object_: Object) -> list[str]:
    return [reference["uid"] for reference in object_["metadata"].get("ownerReferences") or []]


def condition(object_: Object, type_: str) -> Object:
    """Returns the condition of this type, or an empty object."""
    conditions = object_.get("status", {}).get("conditions") or []
    return next((entry for entry in conditions if entry["type"] == type_), {})


class WorkloadCluster:
    """What a test does to the cluster. All namespaced objects are in one namespace."""

    def __init__(self, server: VirtualTimeServer) -> None:
        self.server = server
        self.client = Client(LocalTransport(server.api))

    async def settle(self) -> None:
        await self.server.settle()

    @asynccontextmanager
    async def controllers_running(self, *names: str) -> AsyncGenerator[None, None]:
        """Runs these controllers within the context: they start now and stop at its end."""
        self.server._names = names
        async with self.server.controlling():
            await self.settle()
            yield
        self.server._names = ()

    async def pass_time(self, seconds: float) -> None:
        await self.server.pass_time(seconds)
        await self.settle()

    async def create(self, kind: GroupVersionResource, name: str, spec: Object | None = None, **meta: Any) -> Object:
        body = {"metadata": {"name": name, **meta}, **({} if spec is None else {"spec": spec})}
        created = await self.client.create(kind, NAMESPACE, body)
        await self.settle()
        return created

    async def find(self, kind: GroupVersionResource, name: str) -> Object | None:
        return await self.client.get(kind, NAMESPACE, name)

    async def get(self, kind: GroupVersionResource, name: str) -> Object:
        object_ = await self.find(kind, name)
        assert object_ is not None, f"there is no {name} among {kind.plural}"
        return object_

    async def all(self, kind: GroupVersionResource, owner: Object | None = None) -> list[Object]:
        """Returns all objects of the kind, or those that this owner has."""
        items = (await self.client.list(kind, NAMESPACE)).items
        return [item for item in items if owner is None or owner["metadata"]["uid"] in owners_of(item)]

    async def pods(self, owner: Object | None = None) -> list[Object]:
        return await self.all(PODS, owner)

    async def change(self, kind: GroupVersionResource, name: str, change: Object, *, part: str = "", lists: bool = False) -> Object:
        """Patches an object by a JSON merge patch, or with `lists` by a strategic merge patch, which merges lists too."""
        media = {"media": STRATEGIC_MERGE_PATCH} if lists else {}
        changed = await self.client.patch(kind, NAMESPACE, name, change=change, subresource=part, **media)
        await self.settle()
        return changed

    async def delete(self, kind: GroupVersionResource, name: str, policy: str = "", **options: Any) -> None:
        await self.client.delete(kind, NAMESPACE, name, **({"policy": policy} if policy else {}), **options)
        await self.settle()

    async def pod(self, name: str, **meta: Any) -> Object:
        """Creates a pod that no controller owns."""
        spec: Object = {"containers": [{"name": "c", "image": "one"}]}
        return await self.create(PODS, name, spec, **{"labels": LABELS, **meta})

    async def node(self, name: str, *, taints: list[Object] | None = None, status: Object | None = None, **meta: Any) -> Object:
        """Creates a node that is ready and has free resources, unless its status says otherwise."""
        resources = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        default_status = {
            "conditions": [{"type": "Ready", "status": "True", "reason": "", "message": ""}],
            "allocatable": resources,
        }
        labels = {"kubernetes.io/hostname": name, **meta.pop("labels", {})}
        node = {"metadata": {"name": name, "labels": labels, **meta}, "status": {**default_status, **(status or {})}}
        await self.client.create(NODES, "", node)
        created = await self.client.patch(NODES, "", name, change={"spec": {"taints": taints or []}})
        await self.settle()
        return created

    async def bind(self, *pods: Object, node: str = "somewhere") -> None:
        for pod in pods:
            binding = {"metadata": {"name": name_of(pod)}, "target": {"kind": "Node", "name": node}}
            path = f"{PODS.path(NAMESPACE, name_of(pod))}/binding"
            assert (await self.server.request("POST", path, binding)).code == 201
        await self.settle()

    async def run(self, *pods: Object, is_ready: bool = True) -> None:
        """Marks the pods as running and ready."""
        since = format_time(self.server.clock.now())
        ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": since}
        for pod in pods:
            await self._patch_status(pod, {"phase": "Running", "conditions": [ready]})
        await self.settle()

    async def finish(self, *pods: Object, phase: str = "Succeeded", **status: Any) -> None:
        """Marks the pods as finished."""
        for pod in pods:
            await self._patch_status(pod, {"phase": phase, **status})
        await self.settle()

    async def _patch_status(self, pod: Object, status: Object) -> None:
        await self.client.patch(PODS, NAMESPACE, name_of(pod), change={"status": status}, subresource="status")

    async def event_messages(self, about: str = "") -> list[tuple[str, str]]:
        """Returns the reasons and messages of the events, about one object or about all."""
        events = await self.all(EVENTS)
        return [(event["reason"], event["message"]) for event in events if not about or event["involvedObject"]["name"] == about]


@asynccontextmanager
async def workload_cluster(*names: str, **settings: Any) -> AsyncGenerator[WorkloadCluster, None]:
    """Yields a cluster with these controllers and settings."""
    async with in_memory(*names, settings=Settings(**settings)) as server:
        cluster = WorkloadCluster(server)
        await cluster.settle()
        yield cluster
