"""Which controllers there are, and how they run beside the server.

Two kinds of them. Some look at the store in bulk: every server on a store runs them. The others act through the API like anybody.
Two of the same do no harm, but much twice, so on a store that several servers share, the one that holds the Lease runs them.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from probate.api.rbac.users import AUTHENTICATED, User, account
from probate.client import objects
from probate.client.informers import Damaged, Informers, Name, nothing_damaged
from probate.client.objects import Client
from probate.controllers import registry
from probate.controllers.apiserver import apiserver_leases
from probate.controllers.lifecycle.event_ttl import EventLife
from probate.controllers.namespaces.crd_deletion import Definitions
from probate.controllers.namespaces.namespace_deletion import Namespaces
from probate.controllers.namespaces.scope_deletion import Kind, Scopes
from probate.controllers.runtime.context import Means, Server
from probate.controllers.runtime.event_recorder import Events
from probate.controllers.runtime.leader_election import Leadership
from probate.controllers.runtime.reconcile import Loop
from probate.controllers.runtime.workers import Workers
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.gc import collector_metrics as gc_figures
from probate.gc.backends.store.backend import World
from probate.gc.collector import Collector
from probate.server.authz.actors import Doer, Leads
from probate.server.context import Api
from probate.server.local_transport import Local
from probate.server.objects import damage_reports
from probate.settings import USUAL, Settings

START_SECONDS = 1.0
"""How long a server that is otherwise ready waits for its collector."""

COLLECTOR, EVENTS = "collector", "events"
SCOPES: dict[str, Callable[[], Kind]] = {"namespaces": Namespaces, "definitions": Definitions}
THROUGH_THE_API = (
    "replicationcontrollers",
    "replicasets",
    "deployments",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "endpointslices",
    "endpoints",
    "endpointmirrors",
    "disruptions",
    "serviceaccounts",
    "certificates",
    "tokens",
    "scheduler",
    "nodes",
    "evictions",
    "machines",
    "podgc",
    "finishedjobs",
    "signingrequests",
    "signers",
    "roles",
    "policychecks",
    "flowschemas",
    "serviceranges",
    "volumes",
    "volumeprotection",
    "claimprotection",
    "attributeprotection",
    "ephemeralclaims",
    "simulator",
)
IN_EVERY_SERVER = ("identities",)
MANAGER = User("system:kube-controller-manager", (AUTHENTICATED,))
"""Who looks for all of them, tells Events, and holds the Lease."""
ACCOUNTS = {
    COLLECTOR: "generic-garbage-collector",
    "namespaces": "namespace-controller",
    "definitions": "probate-definitions",
    EVENTS: "probate-event-expiry",
    "replicationcontrollers": "replication-controller",
    "replicasets": "replicaset-controller",
    "deployments": "deployment-controller",
    "statefulsets": "statefulset-controller",
    "daemonsets": "daemon-set-controller",
    "jobs": "job-controller",
    "cronjobs": "cronjob-controller",
    "endpointslices": "endpointslice-controller",
    "endpoints": "endpoint-controller",
    "endpointmirrors": "endpointslicemirroring-controller",
    "disruptions": "disruption-controller",
    "serviceaccounts": "service-account-controller",
    "certificates": "root-ca-cert-publisher",
    "tokens": "probate-tokens",
    "nodes": "node-controller",
    "evictions": "node-controller",
    "machines": "node-controller",
    "podgc": "pod-garbage-collector",
    "finishedjobs": "ttl-after-finished-controller",
    "signingrequests": "certificate-controller",
    "signers": "certificate-controller",
    "roles": "clusterrole-aggregation-controller",
    "policychecks": "validatingadmissionpolicy-status-controller",
    "flowschemas": "probate-flowschemas",
    "serviceranges": "service-cidrs-controller",
    "volumes": "persistent-volume-binder",
    "volumeprotection": "pv-protection-controller",
    "claimprotection": "pvc-protection-controller",
    "attributeprotection": "volumeattributesclass-protection-controller",
    "ephemeralclaims": "ephemeral-volume-controller",
    "simulator": "probate-simulator",
    "identities": "probate-servers",
}
"""The service account that each acts as, in kube-system: those of Kubernetes where it has such a controller."""
LEADS = {COLLECTOR: Leads.OWNERS, "namespaces": Leads.SCOPE, "definitions": Leads.SCOPE, EVENTS: Leads.TIME}
"""What leads to what those delete who act in bulk."""
IN_BULK = (COLLECTOR, *SCOPES, EVENTS)
NAMES = (*IN_BULK, *IN_EVERY_SERVER, *THROUGH_THE_API)
"""What they are called where they are chosen."""

NOTHING: Mapping[str, Client] = {}
SOMEBODY = Server()

Loops = dict[str, Coroutine[Any, Any, None]]
Report = Callable[[str, BaseException], None]

log = logging.getLogger(__name__)


def user_of(name: str) -> User:
    """As whom a controller acts."""
    if name == "scheduler":
        return User("system:kube-scheduler", (AUTHENTICATED,))
    return account("kube-system", ACCOUNTS[name])


def doer(name: str, *, is_checked: bool) -> Doer:
    """As whom one acts who acts in bulk."""
    return Doer(user_of(name), LEADS[name], is_checked)


@asynccontextmanager
async def at_work(
    api: Api, clock: Clock, names: Collection[str], settings: Settings = USUAL, *, server: Server = SOMEBODY
) -> AsyncGenerator[None, None]:
    """All that goes on beside the requests, until the end. It begins when the collector follows, or will not for a while."""
    seen, report = World(api), functools.partial(_report, api)
    world = {name: seen.acting_as(doer(name, is_checked=not settings.insecure)) for name in IN_BULK}
    loops: Loops = {
        "custom kinds": api.kinds.follow(api.now, lambda: clock.sleep(1.0)),
        "admission": api.configured.follow(lambda: clock.sleep(1.0)),
    }
    for name in [one for one in SCOPES if one in names]:  # always in the same order
        loops[name] = Loop(name, Scopes(SCOPES[name](), world[name], clock), seen, clock).run()
    if EVENTS in names:
        life = EventLife(world[EVENTS], clock, settings.event_ttl, api.figures.registry)
        loops[EVENTS] = Loop(EVENTS, life, seen, clock).run()
    collector = _collector(api, world[COLLECTOR], clock) if COLLECTOR in names else None
    if collector is not None:
        loops[COLLECTOR] = collector.run()
    client, acting = Client(Local(api, MANAGER)), [name for name in THROUGH_THE_API if name in names]
    everywhere = [name for name in IN_EVERY_SERVER if name in names]

    @asynccontextmanager
    async def team(chosen: list[str]) -> AsyncGenerator[None, None]:
        await api.elsewhere(
            lambda: registry.STARTS
        )  # which takes a while if nobody has looked at it before (`probate.core.lazy_import`)
        figures = api.figures.registry
        own = {name: Client(Local(api, user_of(name))) for name in chosen}
        given: Any = {
            "settings": settings,
            "metrics": figures,
            "server": server,
            "own": own,
            "damaged": functools.partial(_damaged, api),
        }
        async with controlling(client, clock, chosen, report, **given):
            yield

    def teams() -> Loops:
        found: Loops = {"servers": _always(team(everywhere))} if everywhere else {}
        if acting:
            found["controllers"] = _always(team(acting)) if leadership is None else leadership.run(lambda: team(acting))
        return found

    leadership = Leadership(client, clock, uuid.uuid4().hex) if settings.is_shared and acting else None
    grants: Loops = {"grants": api.access.following.run(lambda: clock.sleep(1.0))}
    async with running(grants, report):  # until after the last request of our own
        async with running(loops, report):
            if collector is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(START_SECONDS):
                        await collector.following.wait()
            async with running(teams(), report):  # last, since nobody waits for them
                yield
            if leadership is not None:  # at once: others wait for it, and nobody waits for what still has to end here
                await leadership.resign()
        await api.close()
        if everywhere:
            with suppress(errors.ApiError):
                await apiserver_leases.withdraw(Client(Local(api, user_of("identities"))), server.identity)


def _damaged(api: Api, kind: objects.Kind) -> list[Name]:
    return [Name(*one) for one in damage_reports.names(api.store, kind.group, kind.plural)]


@asynccontextmanager
async def controlling(  # noqa: PLR0913 whatever controllers may use is given here
    client: Client,
    clock: Clock,
    names: Iterable[str],
    report: Report,
    *,
    settings: Settings,
    metrics: Registry,
    server: Server = SOMEBODY,
    own: Mapping[str, Client] = NOTHING,
    damaged: Damaged = nothing_damaged,
) -> AsyncGenerator[None, None]:
    """Those that act through the API, all on the same informers. They begin when those have listed what there is.

    The client is who looks and tells; `own` has those through which each of them acts, where it is not the same.
    """
    informers, events = Informers(client, clock, damaged), Events(client, clock)
    means = Means(client, informers, events, clock, settings, figures := Registry(), server)
    started = [workers for name in names for workers in registry.STARTS[name](_handed(means, own.get(name)))]
    loops = {workers.title: _when_synced(informers, workers) for workers in started}
    told = "What a controller has before it, with what it will look at later."
    figures.gauges("probate_controller_queue_length", told, ("controller",), lambda: {(one.title,): len(one) for one in started})
    metrics.add(figures.gather)
    try:
        async with running({"informers": informers.run(), "events": events.run(), **loops}, report):
            yield
    finally:
        metrics.remove(figures.gather)


@asynccontextmanager
async def running(loops: Loops, report: Report) -> AsyncGenerator[None, None]:
    """These loops, until the end. Should one of them end before, that is reported."""
    under_way = [tasks.guard(loop, name=name, on_failure=functools.partial(report, name)) for name, loop in loops.items()]
    try:
        yield
    finally:
        await tasks.stop(*under_way)


def _collector(api: Api, world: World, clock: Clock) -> Collector:
    collector = Collector(world, clock)
    api.readiness[COLLECTOR] = lambda: collector.trouble
    gc_figures.show(collector, api.figures.registry, newest=lambda: api.figures.revision)
    return collector


def _handed(means: Means, client: Client | None) -> Means:
    return means if client is None else means._replace(client=client, informers=means.informers.through(client))


async def _always(team: AbstractAsyncContextManager[None]) -> None:
    async with team:
        await asyncio.Event().wait()


async def _when_synced(informers: Informers, workers: Workers) -> None:
    await informers.wait()
    await workers.run()


def _report(api: Api, name: str, error: BaseException) -> None:
    log.error("the loop of the %s has ended", name, exc_info=error)
    api.readiness[name.replace(" ", "-")] = lambda: f"its loop has ended: {error!r}. The log says more; restart the server"
