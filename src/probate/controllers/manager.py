"""Runs the controllers beside the server, for as long as it serves.

`registry` says which controllers there are and which of them run in every server. The others run in the server that holds the
Lease.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from probate.api.rbac.users import AUTHENTICATED, User
from probate.client import objects
from probate.client.informers import Informers, ListDamaged, NamespacedName, no_damaged_objects
from probate.client.objects import Client
from probate.controllers import registry
from probate.controllers.apiserver import apiserver_leases
from probate.controllers.lifecycle.event_ttl import EventTtl
from probate.controllers.namespaces.crd_deletion import CustomResourceDefinitions
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import Scope, ScopeDeletion
from probate.controllers.namespaces.tenant_counts import CountedTenants, TenantCounts
from probate.controllers.namespaces.tenant_deletion import Tenants
from probate.controllers.runtime import leader_election  # loaded late: `probate.app.startup`
from probate.controllers.runtime.context import Context, Server
from probate.controllers.runtime.event_recorder import EventRecorder
from probate.controllers.runtime.reconcile import ChangeFeedLoop, Reconciler
from probate.controllers.runtime.workers import Workers
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.core.metrics import LabelValues, Registry
from probate.gc import collector_metrics
from probate.gc.backends.store.store_backend import StoreBackend
from probate.gc.collector import Collector
from probate.server.context import ServerContext
from probate.server.local_transport import LocalTransport
from probate.server.objects import damage_reports
from probate.settings import DEFAULT_SETTINGS, Settings

START_SECONDS = 1.0
"""How long a server that is otherwise ready waits for its collector to follow the change feed."""

SCOPES: dict[str, Callable[[], Scope]] = {
    registry.NAMESPACES: Namespaces,
    registry.CUSTOM_RESOURCE_DEFINITIONS: CustomResourceDefinitions,
    registry.TENANT_DELETION: Tenants,
}
MANAGER_USER = User("system:kube-controller-manager", (AUTHENTICATED,))
"""The user that runs the informers, writes Events, and holds the Lease, for all controllers together."""

NO_CLIENTS: Mapping[str, Client] = {}
DEFAULT_SERVER = Server()

Loops = dict[str, Coroutine[Any, Any, None]]
Report = Callable[[str, BaseException], None]

log = logging.getLogger(__name__)


@asynccontextmanager
async def run_all(
    server_context: ServerContext,
    clock: Clock,
    names: Collection[str],
    *,
    settings: Settings = DEFAULT_SETTINGS,
    server: Server = DEFAULT_SERVER,
) -> AsyncGenerator[None, None]:
    """Runs these controllers, and the server's other background loops, until the context ends.

    It begins when the collector follows the change feed, or after `START_SECONDS`.
    """
    names = [registry.get(name).name for name in names]
    backend = store_backend(server_context)
    collector = (
        _collector(server_context, _acting_as(registry.COLLECTOR, backend, settings), clock)
        if registry.COLLECTOR in names
        else None
    )
    loops = _server_loops(server_context, clock) | _bulk_loops(server_context, backend, clock, names=names, settings=settings)
    if collector is not None:
        loops[registry.COLLECTOR] = collector.run()
    client, report = Client(LocalTransport(server_context, MANAGER_USER)), functools.partial(_report, server_context)
    led = [name for name in registry.API_CONTROLLERS if name in names]
    everywhere = [name for name in registry.EVERY_SERVER_CONTROLLERS if name in names]
    leadership = leader_election.LeaderElection(client, clock, uuid.uuid4().hex) if settings.has_shared_store and led else None

    @asynccontextmanager
    async def api_controllers(chosen: list[str]) -> AsyncGenerator[None, None]:
        await server_context.offloader.run_in_thread(lambda: registry.load(chosen))
        options: Any = {
            "settings": settings,
            "metrics": server_context.metrics.registry,
            "server": server,
            "own": {name: Client(LocalTransport(server_context, registry.user_of(name))) for name in chosen},
            "damaged": functools.partial(_damaged, server_context),
        }
        async with run_api_controllers(client, clock, chosen, report=report, **options):
            yield

    def api_loops() -> Loops:
        found: Loops = {"servers": _forever(api_controllers(everywhere))} if everywhere else {}
        if led and leadership is None:
            found["controllers"] = _forever(api_controllers(led))
        elif led and leadership is not None:
            found["controllers"] = leadership.run(lambda: api_controllers(led))
            found["controllers standby"] = _load(server_context, led)
        return found

    grants: Loops = {"grants": server_context.authorizer.cache.run(lambda: clock.sleep(1.0))}
    async with run_loops(grants, report):  # outermost: the controllers' own requests need it until the last one
        async with run_loops(loops, report):
            if collector is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(START_SECONDS):
                        await collector.following.wait()
            async with run_loops(api_loops(), report):  # last: no request waits for them
                yield
            if leadership is not None:  # before all else ends here: other servers wait for the Lease
                await leadership.resign()
        await server_context.close()
        if everywhere:
            with suppress(errors.ApiError):
                await apiserver_leases.withdraw(
                    Client(LocalTransport(server_context, registry.user_of(registry.APISERVER_LEASES))), server.identity
                )


def store_backend(server_context: ServerContext) -> StoreBackend:
    """Returns the collector's backend for the store of this server."""
    return StoreBackend(
        server_context.store,
        server_context.kinds,
        server_context.clock,
        authorizer=server_context.authorizer,
        audit=server_context.audit,
        events=server_context.warning_events,
        denied_actions=server_context.denied_actions,
    )


def _server_loops(server_context: ServerContext, clock: Clock) -> Loops:
    return {
        "custom kinds": server_context.kinds.watch_crds(server_context.timestamp, lambda: clock.sleep(1.0)),
        "admission": server_context.admission.configuration.watch(lambda: clock.sleep(1.0)),
    }


def _bulk_loops(
    server_context: ServerContext, backend: StoreBackend, clock: Clock, *, names: Collection[str], settings: Settings
) -> Loops:
    """The controllers that act on the store in bulk, except the collector."""
    loops: Loops = {}
    for name in [name for name in SCOPES if name in names]:  # always in the same order
        acting = _acting_as(name, backend, settings)
        scopes: Reconciler = (deletion := ScopeDeletion(SCOPES[name](), acting, clock))
        if name == registry.TENANT_DELETION:
            scopes = CountedTenants(deletion, TenantCounts(acting, clock))
        loops[name] = ChangeFeedLoop(name, scopes, backend, clock=clock).run()
    if registry.EVENT_TTL in names:
        acting = _acting_as(registry.EVENT_TTL, backend, settings)
        events = EventTtl(acting, clock, settings.event_ttl, metrics=server_context.metrics.registry)
        loops[registry.EVENT_TTL] = ChangeFeedLoop(registry.EVENT_TTL, events, backend, clock=clock).run()
    return loops


def _acting_as(name: str, backend: StoreBackend, settings: Settings) -> StoreBackend:
    return backend.acting_as(registry.bulk_actor(name, is_checked=not settings.insecure))


def _damaged(server_context: ServerContext, kind: objects.GroupVersionResource) -> list[NamespacedName]:
    return [NamespacedName(*one) for one in damage_reports.damaged_names(server_context.store, kind.group, kind.plural)]


@asynccontextmanager
async def run_api_controllers(  # noqa: PLR0913 everything that controllers may use is passed here
    client: Client,
    clock: Clock,
    names: Iterable[str],
    *,
    report: Report,
    settings: Settings,
    metrics: Registry,
    server: Server = DEFAULT_SERVER,
    own: Mapping[str, Client] = NO_CLIENTS,
    damaged: ListDamaged = no_damaged_objects,
) -> AsyncGenerator[None, None]:
    """Runs controllers that act through the API, all on the same informers, which list everything before the workers begin.

    `client` serves the informers and the Events. `own` has the client of each controller that acts through another one.
    """
    informers, events = Informers(client, clock, damaged), EventRecorder(client, clock)
    controller_metrics = Registry()
    context = Context(client, informers, events, clock, settings, controller_metrics, server)
    started = [workers for name in names for workers in registry.start(name, _context_for(context, own.get(name)))]
    loops = {_loop_name(workers): _when_synced(informers, workers) for workers in started}
    help_ = "Objects in a controller's queue, with those that are due later."
    controller_metrics.gauges("probate_controller_queue_length", help_, ("controller",), read=lambda: _queue_lengths(started))
    metrics.add(controller_metrics.gather)
    try:
        async with run_loops({"informers": informers.run(), "events": events.run(), **loops}, report):
            yield
    finally:
        metrics.remove(controller_metrics.gather)


def _loop_name(workers: Workers) -> str:
    return workers.controller if workers.title == workers.controller else f"{workers.controller}: {workers.title}"


def _queue_lengths(started: Iterable[Workers]) -> dict[LabelValues, float]:
    lengths: dict[LabelValues, float] = {}
    for workers in started:
        lengths[(workers.controller,)] = lengths.get((workers.controller,), 0) + len(workers)
    return lengths


@asynccontextmanager
async def run_loops(loops: Loops, report: Report) -> AsyncGenerator[None, None]:
    """Runs these loops until the context ends. Reports a loop that ends earlier."""
    guarded = [tasks.start_supervised(loop, name=name, on_failure=functools.partial(report, name)) for name, loop in loops.items()]
    try:
        yield
    finally:
        await tasks.stop(*guarded)


def _collector(server_context: ServerContext, backend: StoreBackend, clock: Clock) -> Collector:
    collector = Collector(backend, clock)
    server_context.readiness_checks[registry.COLLECTOR] = lambda: collector.trouble
    collector_metrics.register(collector, server_context.metrics.registry, newest=lambda: server_context.metrics.revision)
    return collector


def _context_for(context: Context, client: Client | None) -> Context:
    return context if client is None else context._replace(client=client, informers=context.informers.with_client(client))


async def _forever(context: AbstractAsyncContextManager[None]) -> None:
    async with context:
        await asyncio.Event().wait()


async def _load(server_context: ServerContext, names: list[str]) -> None:
    """Imports the controllers' code while another server holds the Lease, so that taking over does not wait for it."""
    await server_context.offloader.run_in_thread(lambda: registry.load(names))
    await asyncio.Event().wait()


async def _when_synced(informers: Informers, workers: Workers) -> None:
    await informers.wait_for_sync()
    await workers.run()


def _report(server_context: ServerContext, name: str, error: BaseException) -> None:
    log.error("background loop ended", exc_info=error, extra=facts(loop=name))
    server_context.readiness_checks[name.replace(" ", "-")] = lambda: (
        f"its loop has ended: {error!r}. The log says more; restart the server"
    )
