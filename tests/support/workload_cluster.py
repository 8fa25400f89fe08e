"""Workloads on a cluster whose clock the test moves: what users do to them, and what nodes would do to their pods.

There are no nodes here. A pod that is `bound` has a node's name, so that deleting it takes its grace period; `run` and `end` say in
its status what a node would. After each act everybody does what there is to do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from probate.api.timestamps import timestamp
from probate.client.objects import STRATEGIC_MERGE_PATCH, Client, Kind
from probate.controllers.workloads.owner_kinds import DEPLOYMENT, JOB, PODS, REPLICA_SET, REPLICATION_CONTROLLER
from probate.server.local_transport import Local
from probate.settings import Settings
from support.virtual_time_server import Cluster, in_memory

Object = dict[str, Any]

DEPLOYMENTS, REPLICA_SETS, JOBS = DEPLOYMENT.resource, REPLICA_SET.resource, JOB.resource
CONTROLLERS = REPLICATION_CONTROLLER.resource
EVENTS = Kind("", "v1", "events")
NODES = Kind("", "v1", "nodes")
NAMESPACE = "default"
LABELS = {"app": "web"}


def template(labels: dict[str, str] | None = None, image: str = "one", **spec: Any) -> Object:
    return {"metadata": {"labels": labels or LABELS}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def replicas_of(number: int, **spec: Any) -> Object:
    """The spec of a ReplicaSet or a Deployment."""
    return {"replicas": number, "selector": {"matchLabels": LABELS}, "template": template(), **spec}


def name_of(object_: Object) -> str:
    name: str = object_["metadata"]["name"]
    return name


def owners_of(object_: Object) -> list[str]:
    return [one["uid"] for one in object_["metadata"].get("ownerReferences") or []]


def condition(object_: Object, type_: str) -> Object:
    """The condition of this type; empty if there is none."""
    told = object_.get("status", {}).get("conditions") or []
    return next((one for one in told if one["type"] == type_), {})


class Stage:
    """What a test does. Everything is in one namespace."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = Client(Local(cluster.api))

    async def settle(self) -> None:
        await self.cluster.settle()

    @asynccontextmanager
    async def working(self, *names: str) -> AsyncGenerator[None, None]:
        """The controllers of these names, which begin only now and end before the stage does."""
        self.cluster._names = names
        async with self.cluster.controlling():
            await self.settle()
            yield
        self.cluster._names = ()

    async def pass_time(self, seconds: float) -> None:
        await self.cluster.pass_time(seconds)
        await self.settle()

    async def make(self, kind: Kind, name: str, spec: Object, **meta: Any) -> Object:
        made = await self.client.create(kind, NAMESPACE, {"metadata": {"name": name, **meta}, "spec": spec})
        await self.settle()
        return made

    async def find(self, kind: Kind, name: str) -> Object | None:
        return await self.client.get(kind, NAMESPACE, name)

    async def get(self, kind: Kind, name: str) -> Object:
        found = await self.find(kind, name)
        assert found is not None, f"there is no {name} among {kind.plural}"
        return found

    async def all(self, kind: Kind, owner: Object | None = None) -> list[Object]:
        """All objects of the kind, or those that this owner has."""
        items = (await self.client.list(kind, NAMESPACE)).items
        return [one for one in items if owner is None or owner["metadata"]["uid"] in owners_of(one)]

    async def pods(self, owner: Object | None = None) -> list[Object]:
        return await self.all(PODS, owner)

    async def change(self, kind: Kind, name: str, change: Object, part: str = "", *, lists: bool = False) -> Object:
        """Merge a change; with `lists`, into lists too."""
        media = {"media": STRATEGIC_MERGE_PATCH} if lists else {}
        changed = await self.client.patch(kind, NAMESPACE, name, change, part, **media)
        await self.settle()
        return changed

    async def delete(self, kind: Kind, name: str, policy: str = "", **options: Any) -> None:
        await self.client.delete(kind, NAMESPACE, name, **({"policy": policy} if policy else {}), **options)
        await self.settle()

    async def pod(self, name: str, **meta: Any) -> Object:
        """A pod that nobody made but the test."""
        spec: Object = {"containers": [{"name": "c", "image": "one"}]}
        return await self.make(PODS, name, spec, **{"labels": LABELS, **meta})

    async def node(self, name: str, *, taints: list[Object] | None = None, status: Object | None = None, **meta: Any) -> Object:
        """A node that is ready, and has room unless its status says something else."""
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        told = {"conditions": [{"type": "Ready", "status": "True", "reason": "", "message": ""}], "allocatable": room}
        labels = {"kubernetes.io/hostname": name, **meta.pop("labels", {})}
        new = {"metadata": {"name": name, "labels": labels, **meta}, "status": {**told, **(status or {})}}
        await self.client.create(NODES, "", new)
        made = await self.client.patch(NODES, "", name, {"spec": {"taints": taints or []}})
        await self.settle()
        return made

    async def bind(self, *pods: Object, node: str = "somewhere") -> None:
        for pod in pods:
            binding = {"metadata": {"name": name_of(pod)}, "target": {"kind": "Node", "name": node}}
            path = f"{PODS.path(NAMESPACE, name_of(pod))}/binding"
            assert (await self.cluster.ask("POST", path, binding)).code == 201
        await self.settle()

    async def run(self, *pods: Object, is_ready: bool = True) -> None:
        """They run, and serve."""
        since = timestamp(self.cluster.clock.now())
        ready = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": since}
        for pod in pods:
            await self._tell(pod, {"phase": "Running", "conditions": [ready]})
        await self.settle()

    async def end(self, *pods: Object, phase: str = "Succeeded", **status: Any) -> None:
        for pod in pods:
            await self._tell(pod, {"phase": phase, **status})
        await self.settle()

    async def _tell(self, pod: Object, status: Object) -> None:
        await self.client.patch(PODS, NAMESPACE, name_of(pod), {"status": status}, "status")

    async def told(self, about: str = "") -> list[tuple[str, str]]:
        """Reasons and messages of the events, about one object or all."""
        events = await self.all(EVENTS)
        return [(one["reason"], one["message"]) for one in events if not about or one["involvedObject"]["name"] == about]


@asynccontextmanager
async def staged(*names: str, **settings: Any) -> AsyncGenerator[Stage, None]:
    """A stage with the controllers of these names, and with these settings."""
    async with in_memory(*names, settings=Settings(**settings)) as cluster:
        stage = Stage(cluster)
        await stage.settle()
        yield stage
