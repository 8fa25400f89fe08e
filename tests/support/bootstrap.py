"""Creates the objects that a server creates when it starts."""

from __future__ import annotations

from probate.server.bootstrap import default_objects, kubernetes_service, namespaces, rbac_roles
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.context import ServerContext
from probate.server.local_transport import LocalTransport


def _planner(api: ServerContext) -> CreationPlanner:
    return CreationPlanner(api.kinds, api.preparer)


async def ensure_namespaces(api: ServerContext) -> None:
    await namespaces.ensure_namespaces(api.store, _planner(api))


async def ensure_roles(api: ServerContext) -> None:
    await rbac_roles.ensure_roles(api.store, _planner(api))


async def ensure_default_objects(api: ServerContext) -> None:
    await default_objects.ensure(api.store, _planner(api), service_addresses=api.service_pools.addresses.name)


async def publish_service(api: ServerContext, host: str, port: int) -> None:
    await kubernetes_service.ensure(LocalTransport(api), host, port, addresses=api.service_pools.addresses)
