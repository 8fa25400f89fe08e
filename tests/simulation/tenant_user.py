"""Clients that create tenants, use them in the physical view and in the view of the tenant, delete them, and create them again.

They draw from generators of their own and run beside the other users, in some seeds only. All users know the same objects.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from simulation import kinds, tenants
from simulation.client import MERGE, Client
from simulation.connection import Answer, Lost
from simulation.judge import Judge
from simulation.kinds import Kind
from simulation.known_objects import KnownObject, KnownObjects
from simulation.machine import Machine
from simulation.tenants import IDS, NAMESPACES, TENANT
from simulation.users import FINALIZERS, HOLD, NAMES, POLICIES

_RBAC = "rbac.authorization.k8s.io"
_MADE = (
    (kinds.CONFIG, 20),
    (kinds.SECRET, 10),
    (kinds.POD, 6),
    (kinds.REPLICAS, 3),
    (kinds.DEPLOYMENT, 2),
    (kinds.JOB, 2),
    (kinds.ROLE, 10),
    (kinds.THING, 6),
    (kinds.ORB, 6),
    (kinds.NAMESPACE, 8),
    (kinds.DEFINITION, 5),
    (tenants.VOLUME, 6),
)
_DISK = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}


class TenantUser:
    """One client."""

    def __init__(
        self,
        name: str,
        machine: Machine,
        judge: Judge,
        *,
        known: deque[KnownObject],
        pace: float,
        seed: object,
        log: Callable[[str], None],
    ) -> None:
        self._machine = machine
        self._judge = judge
        self._pace = pace
        self._rng = random.Random(f"{name} {seed}")  # noqa: S311
        self._memory = KnownObjects(known, self._rng)
        self._client = Client(name, machine, judge, memory=self._memory, rng=self._rng, log=log)
        actions: list[tuple[Callable[[], Awaitable[object]], int]] = [
            (self._create, 30),
            (self._create_in_view, 20),
            (self._delete, 8),
            (self._delete_in_view, 6),
            (self._list_in_view, 4),
            (self._open_any, 8),
            (self._delete_tenant, 2),
            (self._create_while_deleting, 3),
            (self._create_again, 2),
            (self._take_name, 3),
            (self._free_names, 4),
            (self._rebind_volume, 2),
        ]
        self._actions = [action for action, _ in actions]
        self._weights = [weight for _, weight in actions]

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._pace))
            if not self._machine.is_up:
                await asyncio.sleep(0.05)
                continue
            if not goes_on():
                break
            with suppress(Lost, TimeoutError):
                await self._rng.choices(self._actions, self._weights)[0]()

    # --- tenants ----------------------------------------------------------------------------------------------------------

    async def _open_any(self) -> None:
        await self._open(self._rng.choice(IDS))

    async def _open(self, tenant: str) -> int:
        """Creates a tenant, with namespaces and an administrator. Returns the status code of the tenant's creation."""
        meta = {"name": tenant, **({"finalizers": [HOLD]} if self._rng.random() < 0.2 else {})}
        code, _ = await self._client.add(TENANT, "", {"metadata": meta})
        if code in (201, 409):
            await self._furnish(tenant)
        return code

    async def _furnish(self, tenant: str) -> None:
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": f"{tenant}-all"}
        subject = {"kind": "User", "name": f"{tenant}-admin", "apiGroup": _RBAC}
        binding = {"metadata": {"name": f"{tenant}-all"}, "roleRef": role, "subjects": [subject]}
        for namespace in NAMESPACES:
            await self._client.add(kinds.NAMESPACE, "", {"metadata": {"name": f"{tenant}-{namespace}"}})
        await self._client.add(kinds.ROLE, "", {"metadata": {"name": f"{tenant}-all"}, "rules": [rule]})
        answer = await self._client.ask("POST", tenants.BINDING.path(), body=binding)
        self._judge.acknowledged(answer, tenants.BINDING, "")  # not known to others: nobody would release it

    async def _delete_tenant(self, tenant: str = "") -> None:
        path = TENANT.path(name=tenant or self._existing())
        answer = await self._client.ask("DELETE", path, body=dict(self._rng.choice(POLICIES)))
        self._judge.acknowledged(answer, TENANT, "")
        if self._rng.random() < 0.1:
            body = {"spec": {"forceFinalizers": [HOLD]}}
            self._judge.acknowledged(await self._client.ask("PATCH", path, body=body, media=MERGE), TENANT, "")

    async def _create_while_deleting(self) -> None:
        """Creates objects in both views while their tenant is being deleted."""
        tenant = self._existing()
        adding = [self._soon(self._create, tenant) for _ in range(3)]
        adding += [self._soon(self._create_in_view, tenant) for _ in range(3)]
        await asyncio.gather(self._soon(self._delete_tenant, tenant), *adding, return_exceptions=True)

    async def _create_again(self) -> None:
        """Deletes a tenant and creates it again as soon as that is possible, with objects of the names that it had."""
        tenant = self._existing()
        await self._delete_tenant(tenant)
        for _ in range(20):
            await asyncio.sleep(self._rng.expovariate(1 / (self._pace * 5)))
            if await self._open(tenant) == 201:
                await self._create(tenant)
                break

    async def _soon(self, action: Callable[[str], Awaitable[None]], tenant: str) -> None:
        await asyncio.sleep(self._rng.expovariate(100))
        await action(tenant)

    def _existing(self) -> str:
        """Returns a tenant, which most often exists and is not being deleted."""
        objects = self._judge.world.objects
        existing = [tenant for tenant in IDS if TENANT.key("", tenant) in objects]
        in_use = [tenant for tenant in existing if not objects[TENANT.key("", tenant)].is_deleting]
        return self._rng.choice(in_use if in_use and self._rng.random() < 0.8 else existing or IDS)

    # --- names that are, or seem to be, those of tenants ----------------------------------------------------------------------

    async def _take_name(self) -> None:
        """Creates objects of the platform: with names that are almost, or will be, those of a tenant."""
        tenant = self._rng.choice(IDS)
        kind = self._rng.choice((kinds.ROLE, kinds.NAMESPACE, kinds.ORB))
        name = self._rng.choice((tenant, f"{tenant}x", f"{tenant}x-one", f"x{tenant}-one", f"{tenant}-taken"))
        await self._client.add(kind, "", self._body(kind, {"name": name}))

    async def _free_names(self) -> None:
        """Deletes objects that keep a tenant from being created."""
        objects = self._judge.world.objects
        absent = [tenant for tenant in IDS if TENANT.key("", tenant) not in objects]
        in_the_way = [key for key in objects if any(tenant in absent for tenant in tenants.tenants_in(key))]
        for key in in_the_way[:5]:
            _, resource, namespace, name = key.split("/")
            kind = tenants.BY_RESOURCE.get(resource, tenants.BINDING)
            await self._client.ask("DELETE", kind.path("" if namespace == "-" else namespace, name))

    # --- objects of tenants -----------------------------------------------------------------------------------------------

    def _kind(self) -> Kind:
        return self._rng.choices([kind for kind, _ in _MADE], [weight for _, weight in _MADE])[0]

    async def _create(self, tenant: str = "") -> None:
        """Creates an object of a tenant in the physical view."""
        tenant = tenant or self._existing()
        kind = self._kind()
        if kind in kinds.CUSTOM and self._rng.random() < 0.6:
            kind = tenants.in_group_of(tenant, kind)
        if kind is kinds.DEFINITION:
            custom = tenants.in_group_of(tenant, self._rng.choice(kinds.CUSTOM))
            await self._client.add(kind, "", kinds.definition(custom))
            return
        namespace = f"{tenant}-{self._rng.choice(NAMESPACES)}" if kind.is_namespaced else ""
        prefix = "" if kind.is_namespaced else f"{tenant}-"
        if kind is tenants.VOLUME and self._rng.random() < 0.6:
            prefix = "pvc-"
        meta = self._metadata(prefix)
        if owners := self._memory.owners(namespace):
            meta["ownerReferences"] = owners
        await self._client.add(kind, namespace, self._body(kind, meta))

    def _metadata(self, prefix: str) -> dict[str, Any]:
        names = {"generateName": f"{prefix}g-"} if self._rng.random() < 0.3 else {"name": f"{prefix}{self._rng.choice(NAMES)}"}
        finalizers = self._rng.choice(FINALIZERS)
        return {**names, **({"finalizers": list(finalizers)} if finalizers else {})}

    def _body(self, kind: Kind, meta: dict[str, Any]) -> dict[str, Any]:
        if kind is tenants.VOLUME:
            return {"metadata": meta, "spec": {**_DISK, **self._claim()}}
        return {"metadata": meta, **kinds.body(kind, is_bound=self._rng.random() < 0.3)}

    def _claim(self) -> dict[str, Any]:
        namespace = self._rng.choice(("a", *(f"{tenant}-web" for tenant in IDS)))
        return {"claimRef": {"namespace": namespace, "name": "c"}} if self._rng.random() < 0.7 else {}

    async def _rebind_volume(self) -> None:
        """Binds a volume to a claim, which may be in a tenant."""
        volumes = [key for key in self._judge.world.objects if key.startswith(tenants.VOLUME.key("", ""))]
        if volumes:
            path = tenants.VOLUME.path(name=self._rng.choice(volumes).rpartition("/")[2])
            body = {"spec": self._claim() or {"claimRef": None}}
            answer = await self._client.ask("PATCH", path, body=body, media=MERGE)
            self._judge.acknowledged(answer, tenants.VOLUME, "")

    async def _delete(self) -> None:
        target = self._memory.some()
        if target is not None:
            await self._client.write("DELETE", target, body=dict(self._rng.choice(POLICIES)))

    # --- the view of a tenant -----------------------------------------------------------------------------------------------

    async def _ask_in_view(self, tenant: str, method: str, path: str, **how: Any) -> Answer:
        answer = await self._client.ask(method, path, tenant=tenant, **how)
        self._judge.seen_by_tenant(answer)
        return answer

    async def _create_in_view(self, tenant: str = "") -> None:
        """Creates an object as a tenant's user."""
        tenant, kind = tenant or self._existing(), self._kind()
        namespace = self._rng.choice(NAMESPACES) if kind.is_namespaced else ""
        body = self._body(kind, self._metadata(""))
        if kind is kinds.DEFINITION:
            body = kinds.definition(self._rng.choice(kinds.CUSTOM))
        elif kind is tenants.VOLUME:
            body["spec"].pop("claimRef", None)
        answer = await self._ask_in_view(tenant, "POST", kind.path(namespace), body=body)
        if answer.code in (401, 404) or "cannot create" in answer.body.get("message", ""):  # others have deleted what it takes
            await self._open(tenant)

    async def _delete_in_view(self) -> None:
        tenant, kind = self._existing(), self._kind()
        namespace = self._rng.choice(NAMESPACES) if kind.is_namespaced else ""
        name = "" if self._rng.random() < 0.1 else self._rng.choice((*NAMES, *NAMESPACES))
        await self._ask_in_view(tenant, "DELETE", kind.path(namespace, name), body=dict(self._rng.choice(POLICIES)))

    async def _list_in_view(self) -> None:
        tenant, kind = self._existing(), self._rng.choice((kinds.CONFIG, kinds.SECRET, kinds.ROLE, kinds.NAMESPACE, kinds.POD))
        namespace = self._rng.choice(("", *NAMESPACES)) if kind.is_namespaced else ""
        since = self._judge.history.revision
        answer = await self._ask_in_view(tenant, "GET", kind.path(namespace))
        self._judge.listed_by_tenant(answer, kind, namespace, tenant=tenant, since=since)
