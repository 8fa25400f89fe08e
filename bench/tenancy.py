"""A server with tenants for bench/tenants.py: creates tenants and their objects through the API, and the credentials of users."""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import servers
from api import config_map
from cascade import ALONE_SECONDS
from client import fetch, load, request
from servers import Server

from probate.http.tls import authority
from probate.http.tls.authority import KeyPair, Subject

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACES = tuple(f"space{number}" for number in range(10))
IDLE_SHARE = 0.03
"""The share of a processor that a server takes at most while it has nothing to do."""
CONNECTIONS = 8


class TenantServer:
    """A secured server and its administrator. `folder` has its store and its certificates."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.server = server
        self.folder = folder
        self._pki = folder / "probate.pki"
        self.admin = servers.whoever()
        self.admin.load_cert_chain(self._pki / "admin.crt", self._pki / "admin.key")

    async def post(self, path: str, object_: Any) -> Any:
        return json.loads(await fetch(self.server.at, request("POST", path, json.dumps(object_).encode()), self.admin))

    async def get(self, path: str) -> Any:
        return json.loads(await fetch(self.server.at, request("GET", path), self.admin))

    async def create(self, bodies: Iterator[tuple[str, bytes]], number: int) -> None:
        """Creates this many objects, each at its path."""
        posts = (request("POST", path, body) for path, body in bodies)
        made = {"connections": CONNECTIONS, "count": number, "expected": b"201", "context": self.admin}
        await load(self.server.at, lambda: next(posts), **made)  # type: ignore[arg-type]  # as its parameters are

    async def create_tenants(self, ids: list[str]) -> float:
        """Creates tenants. Returns the seconds until all of them had been provisioned, and waits until the server is idle."""
        began = time.perf_counter()
        await self.create(((TENANTS, json.dumps({"metadata": {"name": id_}}).encode()) for id_ in ids), len(ids))
        while not await self._are_active(ids):  # noqa: ASYNC110 the other process cannot set an event
            await asyncio.sleep(0.1)
        took = time.perf_counter() - began
        await self.settle()
        return took

    async def _are_active(self, ids: list[str]) -> bool:
        active = {one["metadata"]["name"] for one in (await self.get(TENANTS))["items"] if one["status"].get("phase") == "Active"}
        return active.issuperset(ids)

    async def fill(self, tenant: str, number: int) -> None:
        """Creates this many objects in a tenant: ConfigMaps in ten namespaces, and one cluster-scoped object for each hundred."""
        for space in NAMESPACES:
            await self.post("/api/v1/namespaces", {"metadata": {"name": f"{tenant}-{space}"}})
        await self.create(_content(tenant), number)
        await self.settle()

    async def settle(self) -> None:
        """Waits until the server has nothing to do."""
        share = 1.0
        while share > IDLE_SHARE:
            spent = self.server.cpu()
            await asyncio.sleep(ALONE_SECONDS)
            share = (self.server.cpu() - spent) / ALONE_SECONDS

    async def user_of(self, tenant: str) -> tuple[ssl.SSLContext, Path]:
        """Returns the credentials of a tenant's administrator, also as the folder that `prober` takes."""
        uid = (await self.get(f"{TENANTS}/{tenant}"))["metadata"]["uid"]
        return self._issued(Subject(f"{tenant}-admin", unit=tenant, uri=f"tenant:{uid}"))

    async def user_of_platform(self, name: str) -> ssl.SSLContext:
        """Returns the credentials of a user with the role cluster-admin, whom RBAC checks like a tenant's administrator."""
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]
        await self.post(f"{RBAC}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": subjects})
        return self._issued(Subject(name))[0]

    def _issued(self, subject: Subject) -> tuple[ssl.SSLContext, Path]:
        ca = KeyPair(*((self._pki / f"ca.{end}").read_bytes() for end in ("crt", "key")))
        pair = authority.issue(ca, subject, time.time(), lifetime=timedelta(hours=1))
        home = self.folder / subject.name
        home.mkdir(exist_ok=True)
        for file, data in (("ca.crt", ca.certificate), ("admin.crt", pair.certificate), ("admin.key", pair.key)):
            (home / file).write_bytes(data)
        context = servers.whoever()
        context.load_cert_chain(home / "admin.crt", home / "admin.key")
        return context, home


def tenant_ids(number: int) -> list[str]:
    return [f"t{n:05}" for n in range(number)]


def _content(tenant: str) -> Iterator[tuple[str, bytes]]:
    for number in itertools.count():
        if number % 100 == 0:
            yield f"{RBAC}/clusterroles", json.dumps({"metadata": {"name": f"{tenant}-r{number}"}, "rules": []}).encode()
        else:
            space = NAMESPACES[number % len(NAMESPACES)]
            yield f"/api/v1/namespaces/{tenant}-{space}/configmaps", config_map(f"c{number:06}")
