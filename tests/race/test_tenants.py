"""Clients create, change and delete objects of many kinds in three tenants, while one of these is deleted and created again.

They never stop: before, while and after the tenant is deleted, in the physical view and in that of the tenant. Each time it is
gone, the store itself is searched for what remains of it. The clients of the other tenants notice nothing: each of their requests
succeeds, and in the end the store holds exactly what they were told.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import MutableMapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import orjson
import pytest

from probate.api.rbac.users import User
from probate.core import errors
from probate.server.app import App
from support.in_process_server import Response
from support.tenant_lifecycle import delete_tenant, serving, wait_until_evicted
from support.tenant_remains import contents, parts_of, remains, wrong_entries
from support.tenant_server import TENANTS, TenantServer, user_of

VICTIM, OTHERS = "111111", ("222222", "333333")
ROUNDS, ALL_ROUNDS = 100, 1_000
CLIENTS = 2
"""Of each tenant: one in the physical view, and one in that of the tenant."""
NAMES = 4
JITTER = 60
MERGE = "application/merge-patch+json"
PROTECTION = ["kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "race.example.com"
SENDER: ContextVar[User] = ContextVar("sender")

CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": CONTAINERS}
JOB = {**CONTAINERS, "restartPolicy": "Never"}
SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
STORAGE = {"requests": {"storage": "1Gi"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": STORAGE}
DISK = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
RBAC = "rbac.authorization.k8s.io"


class Kind(NamedTuple):
    """A kind that clients write. The `{}` in a path is the namespace of a tenant, or a tenant's prefix."""

    folder: str
    body: dict[str, Any]
    is_namespaced: bool = True


NAMESPACED = (
    Kind("/api/v1/namespaces/{}/configmaps", {"data": {"a": "b"}}),
    Kind("/api/v1/namespaces/{}/secrets", {"stringData": {"a": "b"}}),
    Kind("/api/v1/namespaces/{}/serviceaccounts", {}),
    Kind("/api/v1/namespaces/{}/services", {"spec": {"ports": [{"port": 80}]}}),
    Kind("/api/v1/namespaces/{}/pods", {"spec": CONTAINERS}),
    Kind("/api/v1/namespaces/{}/persistentvolumeclaims", {"spec": CLAIM}),
    Kind("/apis/apps/v1/namespaces/{}/deployments", {"spec": SELECTED}),
    Kind("/apis/apps/v1/namespaces/{}/replicasets", {"spec": SELECTED}),
    Kind("/apis/batch/v1/namespaces/{}/jobs", {"spec": {"template": {"spec": JOB}}}),
    Kind("/apis/coordination.k8s.io/v1/namespaces/{}/leases", {"spec": {}}),
    Kind("/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies", {"spec": {"podSelector": {}}}),
    Kind(f"/apis/{RBAC}/v1/namespaces/{{}}/roles", {"rules": []}),
)
CLUSTER_SCOPED = (
    Kind("/api/v1/namespaces", {}, False),
    Kind("/api/v1/persistentvolumes", {"spec": DISK}, False),
    Kind(f"/apis/{RBAC}/v1/clusterroles", {"rules": []}, False),
    Kind("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "p"}, False),
    Kind("/apis/scheduling.k8s.io/v1/priorityclasses", {"value": 1}, False),
    Kind("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {"webhooks": []}, False),
)
KINDS = (*NAMESPACED, *CLUSTER_SCOPED, Kind("custom", {}, False))


class Door:
    """The server as the clients reach it."""

    def __init__(self, server: TenantServer) -> None:
        self.server = server
        self.app = App(server.api, authenticate=self._authenticate, tenants=server.contexts)

    async def _authenticate(self, _: MutableMapping[str, Any]) -> User:
        user = SENDER.get()
        if not await self.server.users.uid(user.tenant):
            raise errors.Unauthorized
        return user

    async def ask(self, tenant: str, method: str, path: str, *, body: Any = None, media: str = "application/json") -> Response:
        """Sends a request as the tenant's administrator; as a user of the physical view if no tenant is given."""
        if not tenant:
            return await self.server.request(method, path, body, media=media)
        SENDER.set(user_of(tenant))
        messages: list[Any] = []
        headers = [(b"content-type", media.encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "client": None}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"" if body is None else orjson.dumps(body)}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        return Response(messages[0]["status"], {}, messages[1]["body"])


class Client:
    """Writes objects of names of its own in a tenant, and remembers what it was told."""

    def __init__(self, door: Door, tenant: str, name: str, *, in_view: bool, rng: random.Random) -> None:
        self._door, self._tenant, self._name, self._in_view, self._rng = door, tenant, name, in_view, rng
        self.told: dict[str, str] = {}  # the annotation of each object that exists, by its physical path
        self.writes = 0
        self.is_over = False

    async def run(self) -> None:
        while not self.is_over:
            for _ in range(self._rng.randint(0, JITTER)):
                await asyncio.sleep(0)
            await self.write()

    async def write(self) -> None:
        """Creates an object, or changes or deletes one that exists."""
        kind = self._rng.choice(KINDS)
        name = f"{self._name}-{self._rng.randrange(NAMES)}"
        folder, prefix = self._place(kind)
        physical = self._physical(kind, name)
        known, lot, text = physical in self.told, self._rng.random(), str(self._rng.random())
        meta = {"name": f"{prefix}{name}", "annotations": {"text": text}}
        if known and lot < 0.3 and not kind.folder.endswith("/namespaces"):
            answer = await self._ask("DELETE", f"{folder}/{prefix}{name}", {"propagationPolicy": "Background"})
            if answer:
                await self._release(kind, f"{folder}/{prefix}{name}")
                del self.told[physical]
            return
        if known:
            done = await self._ask("PATCH", f"{folder}/{prefix}{name}", {"metadata": {"annotations": {"text": text}}})
        else:
            if not self._in_view:
                meta["labels"] = {"kubezoo.io/tenant": self._tenant}  # nothing of the platform, if there is no such tenant
            done = await self._ask("POST", folder, {**self._typed(kind), "metadata": meta, **kind.body})
        if done:
            self.told[physical] = text

    def _place(self, kind: Kind) -> tuple[str, str]:
        prefix = "" if self._in_view else f"{self._tenant}-"
        if kind.folder == "custom":
            return f"/apis/{prefix}{GROUP}/v1/foos", prefix
        return kind.folder.format(f"{prefix}web"), "" if kind.is_namespaced else prefix

    def _typed(self, kind: Kind) -> dict[str, Any]:
        prefix = "" if self._in_view else f"{self._tenant}-"
        return {"apiVersion": f"{prefix}{GROUP}/v1", "kind": "Foo"} if kind.folder == "custom" else {}

    def _physical(self, kind: Kind, name: str) -> str:
        plural = f"foos.{self._tenant}-{GROUP}" if kind.folder == "custom" else kind.folder.rpartition("/")[2]
        return f"{plural}/{self._tenant}-web/{name}" if kind.is_namespaced else f"{plural}/-/{self._tenant}-{name}"

    async def _ask(self, method: str, path: str, body: Any) -> bool:
        """Returns whether it was done. It must be, unless the tenant is the one that is deleted."""
        media = MERGE if method == "PATCH" else "application/json"
        answer = await self._door.ask(self._tenant if self._in_view else "", method, path, body=body, media=media)
        self.writes += answer.code in (200, 201)
        if self._tenant != VICTIM:
            assert answer.code in (200, 201), (method, path, answer.body)
        else:
            assert answer.code < 500, (method, path, answer.body)
        return answer.code in (200, 201)

    async def _release(self, kind: Kind, path: str) -> None:
        if "persistentvolume" in kind.folder:
            await self._door.ask(
                self._tenant if self._in_view else "", "PATCH", path, body={"metadata": {"finalizers": None}}, media=MERGE
            )


async def create_tenant(server: TenantServer, tenant: str) -> None:
    await server.create_tenant(tenant)
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    group = f"{tenant}-{GROUP}"
    spec = {"group": group, "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [version]}
    answer = await server.request("POST", CRDS, {"metadata": {"name": f"foos.{group}"}, "spec": spec})
    assert answer.code == 201, answer.body
    force = {"spec": {"forceFinalizers": PROTECTION}}
    assert (await server.request("PATCH", f"{TENANTS}/{tenant}", force, media=MERGE)).code == 200


def texts(there: dict[str, bytes]) -> dict[str, str]:
    """Returns the annotation of each object that clients have written, by path."""
    objects = {key.partition("/")[2]: orjson.loads(value) for key, value in there.items() if value}
    found = {key: (one["metadata"].get("annotations") or {}).get("text") for key, one in objects.items()}
    return {_without_group(key): text for key, text in found.items() if text is not None}


def _without_group(key: str) -> str:
    resource, _, rest = key.partition("/")
    return key if resource.startswith("foos.") else f"{resource.partition('.')[0]}/{rest}"


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(ALL_ROUNDS, marks=pytest.mark.long)])
async def test_deleted_tenant_leaves_nothing_behind_and_no_other_tenant_notices(rounds: int) -> None:
    rng = random.Random()  # noqa: S311
    async with serving() as server:
        door, clients = Door(server), []
        for tenant in (VICTIM, *OTHERS):
            await create_tenant(server, tenant)
            clients += [Client(door, tenant, f"client-{number}", in_view=number % 2 == 0, rng=rng) for number in range(CLIENTS)]
        running = [asyncio.ensure_future(client.run()) for client in clients]
        for _ in range(rounds):
            for _ in range(rng.randint(0, 2 * JITTER)):
                await asyncio.sleep(0)
            await delete_tenant(server, VICTIM)
            assert remains(await contents(server.engine), VICTIM) == []
            if failed := [client for client in running if client.done()]:
                await failed[0]
            await create_tenant(server, VICTIM)
        for client in clients:
            client.is_over = True
        await asyncio.gather(*running)
        await delete_tenant(server, VICTIM)
        await wait_until_evicted(server, VICTIM)
        there = await contents(server.engine)
        assert remains(there, VICTIM) == []
        assert wrong_entries(there) == []
        for tenant in OTHERS:
            told = [client.told for client in clients if client._tenant == tenant]
            assert texts(dict(parts_of(there, tenant))) == {path: text for one in told for path, text in one.items()}
        assert min(client.writes for client in clients) > 0
        assert sum(client.writes for client in clients) > 4 * rounds
