"""The only module that knows everybody: builds a process from its settings and runs it.

Engines are imported when they are chosen, so that a process does not pay for the one it does not use.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import os
import platform
import random
import sys
import threading
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from probate.api.uids import Uids
from probate.app import kubeconfig, startup
from probate.app.credentials import Secured
from probate.client.objects import Client
from probate.client.resources import NODES
from probate.controllers import manager
from probate.controllers.apiserver import apiserver_leases
from probate.controllers.runtime import selection
from probate.controllers.runtime.context import Server
from probate.controllers.simulated_nodes import node_agent, node_status
from probate.core import errors, lazy_import, logs, memory_trim
from probate.core.aio import tasks
from probate.core.aio.offload import Offload, Pool, Thread
from probate.core.clock import Clock, SystemClock
from probate.core.metrics import Registry
from probate.http import listener
from probate.http.tls import authority
from probate.kinds.builtin import catalog
from probate.kinds.certificates.signers import Wanted
from probate.server.admission import plugin_registry
from probate.server.app import App
from probate.server.audit import setup as auditing
from probate.server.authn.authenticator import Recognition
from probate.server.authn.service_accounts import KEYS, Accounts
from probate.server.authz.owner_checks import Owners
from probate.server.bootstrap import api_services, default_objects, kubernetes_service, namespaces, rbac_roles
from probate.server.context import Api
from probate.server.kind_registry import Kinds
from probate.server.local_transport import Local
from probate.server.objects import damage_reports
from probate.server.request_limits import RequestLimits
from probate.server.webhooks import endpoints
from probate.settings import Settings
from probate.store import retention
from probate.store.contract import Store

NODES_SECONDS, LOOK_SECONDS = 5.0, 0.005
"""How long a server that is otherwise ready waits for its simulated nodes, and how often it looks."""

log = logging.getLogger(__name__)


def serve(settings: Settings, *, began: float) -> None:
    """Run the server until it is told to stop. `CannotOpen` says why it cannot start."""
    logs.begin(settings.log_level, settings.log_format)
    # The store waits for the disk on a thread, which has to get the interpreter back from a busy loop: at Python's usual 5 ms
    # that is most of a commit's time (docs/adr/0002).
    sys.setswitchinterval(0.0001)
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(_serve(settings, SystemClock(), began=began))
    else:
        uvloop.run(_serve(settings, SystemClock(), began=began))


async def open_store(address: str, clock: Clock) -> Store:
    """The store at `sqlite:FILE`, `memory:` or `etcd://HOST:PORT,…`."""
    kind, colon, rest = address.partition(":")
    if colon and kind == "sqlite" and rest:
        from probate.store.sqlite import store as sqlite  # noqa: PLC0415

        return await sqlite.open_file(Path(rest), clock=clock)
    if colon and kind == "memory" and not rest:
        from probate.store.sqlite import store as sqlite  # noqa: PLC0415

        return await sqlite.open_memory()
    if colon and kind == "etcd":
        from probate.store.etcd import store as etcd  # noqa: PLC0415
        from probate.store.etcd.rpc import address as etcd_address  # noqa: PLC0415

        return await etcd.open_etcd(etcd_address.parse(address), clock=clock, process=uuid.uuid4().hex)
    raise errors.CannotOpen(f"{address!r} is no store. Give sqlite:FILE, memory: or etcd://HOST:PORT,HOST:PORT")


def root_certificate(file: str) -> str:
    """What the certificates of servers are checked against, for pods to be given; empty if there is no file."""
    if not file:
        return ""
    try:
        found = Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CannotOpen(f"--root-ca-file {file} cannot be read: {error}") from error
    if "-----BEGIN CERTIFICATE-----" not in found:
        raise errors.CannotOpen(f"--root-ca-file {file} holds no certificate. Give a file in PEM format")
    return found


@asynccontextmanager
async def opened_store(settings: Settings, clock: Clock) -> AsyncGenerator[Store, None]:
    """The store, with its history kept as long as it should be; closed at the end."""
    store = await open_store(settings.store, clock)
    keeper = tasks.guard(
        retention.keep_history(store, clock, keep=settings.kept_history),
        name="retention",
        on_failure=lambda error: log.error("history is not compacted any more", exc_info=error),
    )
    try:
        yield store
    finally:
        await tasks.stop(keeper)
        await store.close()


async def _serve(settings: Settings, clock: Clock, *, began: float) -> None:
    names = selection.chosen(settings.controllers, manager.NAMES)
    certificate = root_certificate(settings.root_ca_file)
    kubernetes_service.check(settings.advertise_address)
    node_agent.check_grace_period(settings.node_monitor_grace_period)
    settings = dataclasses.replace(settings, max_connections=listener.fit_connections(settings.max_connections))
    async with opened_store(settings, clock) as store:
        with listener.bind(settings.listen, is_insecure=settings.insecure) as listening:
            host, port = listening.getsockname()[:2]
            secured = None if settings.insecure else Secured(settings, host, clock)
            url = listener.url(listening, "http" if secured is None else "https")
            accounts = _accounts(settings, store, clock, secured, url)
            api = _api(store, clock, Pool("large"), accounts, endpoints.services(settings.webhook_service))
            api.owners, api.owner_checks = Owners(settings.owner_rights), settings.owner_checks
            await _furnish(api, settings.admission, settings.advertise_address or host, port)
            greeting = functools.partial(_greet, settings, url, clock, began)
            server = Server(
                apiserver_leases.name_for(f"{platform.node()} {url}"),
                certificate or _own_authority(secured),
                _signing(secured, api),
                str if secured is None else secured.serving.client_authorities,
            )
            async with _auditing(settings, api), _recognising(settings, api, secured, url) as recognise:
                known: Any = {} if recognise is None else {"recognise": recognise, "recall": recognise.recall}
                limits = RequestLimits(api.limits, max_connections=settings.max_connections)
                app = App(api, patience=settings.patience, limits=limits, **known)
                async with manager.at_work(api, clock, names, settings, server=server), _loading(greeting) as ready:
                    serving = None if secured is None else secured.serving
                    if "simulator" in names and not settings.is_shared:
                        await _until_nodes(Client(Local(api)), clock, settings.nodes)
                    server_ = listener.Listener(
                        app,
                        on_start=ready,
                        patience=settings.patience,
                        serving=serving,
                        max_connections=settings.max_connections,
                    )
                    await server_.serve([listening])
    print("probate: stopped", flush=True)  # noqa: T201


async def _furnish(api: Api, admission: tuple[str, ...], host: str, port: int) -> None:
    """What every server has before it serves."""
    await namespaces.ensure_namespaces(api)
    await api.kinds.refresh(now=api.now())
    await asyncio.gather(rbac_roles.ensure_roles(api), default_objects.ensure(api), api_services.settle(api))
    await plugin_registry.install(api, admission)
    await kubernetes_service.ensure(api, host, port)
    damage_reports.measure(api)
    damage_reports.report(api)
    api.kinds.on_change = functools.partial(api_services.settle, api)


def _own_authority(secured: Secured | None) -> str:
    return "" if secured is None else secured.credentials().authority.decode()


def _signing(secured: Secured | None, api: Api) -> Callable[[Wanted], Awaitable[bytes]] | None:
    """What signs clients' certificates, where there is an authority. To read keys and requests takes a while: not on the loop."""
    if secured is None:
        return None
    return lambda wanted: api.elsewhere(lambda: secured.signed(wanted))


def _accounts(settings: Settings, store: Store, clock: Clock, secured: Secured | None, url: str) -> Accounts:
    key = authority.new_signing_key if secured is None else secured.folder.signing_key
    keys_at = settings.service_account_jwks_uri or url + KEYS
    return Accounts(store, clock, key=key, issuer=settings.service_account_issuer, keys_at=keys_at)


def _auditing(settings: Settings, api: Api) -> AbstractAsyncContextManager[None]:
    is_wanted = settings.audit_log_path or settings.audit_policy_file
    return auditing.running(settings, api) if is_wanted else nullcontext()  # else its code is not loaded yet


@asynccontextmanager
async def _recognising(settings: Settings, api: Api, secured: Secured | None, url: str) -> AsyncGenerator[Recognition | None, None]:
    """Who asks is recognised, until the end; nobody is (None) if that is not wanted. Tokens are in any case, for reviews."""

    def write_kubeconfig() -> None:
        if settings.kubeconfig:
            kubeconfig.write(Path(settings.kubeconfig), url, None if secured is None else secured.credentials())

    write_kubeconfig()
    if secured is None:
        api.tokens = Recognition(api.clock, api.accounts).of_token
        yield None
        return
    recognition = secured.recognition(api.accounts, Pool("issuer"), api.limits)
    api.tokens = recognition.of_token
    keeper = tasks.guard(
        secured.keep(write_kubeconfig),
        name="certificates",
        on_failure=lambda error: log.error("certificates are not renewed any more", exc_info=error),
    )
    try:
        yield recognition
    finally:
        await tasks.stop(keeper)


def _api(store: Store, clock: Clock, offload: Offload, accounts: Accounts, services: endpoints.Services) -> Api:
    return Api(
        store,
        Kinds(store, catalog.load(), offload),
        clock,
        new_uid=Uids(os.urandom),
        random=random.SystemRandom(),
        offload=offload,
        metrics=Registry(),
        services=services,
        accounts=accounts,
    )


async def _until_nodes(client: Client, clock: Clock, number: int) -> None:
    """Come back when there are all that were asked for, or will not be for a while: who waits for the server waits for them too."""
    with suppress(TimeoutError):
        async with asyncio.timeout(NODES_SECONDS):
            for one in range(1, number + 1):
                while await client.get(NODES, "", node_status.NAMES.format(one)) is None:
                    await clock.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _loading(greet: Callable[[], None]) -> AsyncGenerator[Callable[[], None], None]:
    """What is to be called when the server is ready: from then on, until the end, what was left for later is loaded on a thread."""
    thread, is_over = Thread("late"), threading.Event()
    under_way: list[asyncio.Task[None]] = []

    async def load() -> None:
        try:
            await thread.run(lambda: lazy_import.load(is_over.is_set))
            await thread.run(memory_trim.trim)
        except Exception:
            log.exception("what was left for later cannot be loaded")
        startup.settle()

    def ready() -> None:
        startup.settle()
        greet()
        under_way.append(asyncio.get_running_loop().create_task(load(), name="late"))

    try:
        yield ready
    finally:
        is_over.set()
        await asyncio.gather(*under_way)
        thread.close()


def _greet(settings: Settings, url: str, clock: Clock, began: float) -> None:
    took = clock.monotonic() - began
    reach = f"--kubeconfig {settings.kubeconfig}" if settings.kubeconfig else f"--server {url}"
    hint = f"Try: kubectl {reach} get namespaces"
    print(f"probate: serving {url} from {settings.store}, ready after {took:.2f} s. {hint}", flush=True)  # noqa: T201
