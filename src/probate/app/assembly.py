"""Builds a server process from its settings and runs it. The only module that imports everything."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import os
import platform
import random
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from probate.api.objects import Object
from probate.api.uids import UidGenerator
from probate.app import admission_plugins, kubeconfig, readiness
from probate.app.credentials import SecureServing
from probate.app.stores import managed_store
from probate.client.objects import Client
from probate.controllers import manager, registry, selection
from probate.controllers.apiserver import apiserver_leases
from probate.controllers.runtime.context import Server
from probate.controllers.simulated_nodes import node_agent
from probate.core import errors, logs
from probate.core.aio import tasks
from probate.core.aio.offload import Offload, WorkerPool
from probate.core.clock import Clock, SystemClock
from probate.core.metrics import Registry
from probate.http import listener
from probate.http.limit_log import LimitLog
from probate.http.tls import authority
from probate.kinds.builtin import catalog
from probate.kinds.certificates.signers import RequestedCertificate
from probate.server.app import App
from probate.server.audit import setup as auditing
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.service_accounts import JWKS_PATH, TokenIssuer
from probate.server.authn.tenant_credentials import IssueKubeconfig
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.bootstrap import api_services, default_objects, kubernetes_service, namespaces, rbac_roles
from probate.server.bootstrap.creation_planner import CreationPlanner
from probate.server.context import AuditTenants, ServerContext
from probate.server.kind_registry import KindRegistry
from probate.server.local_transport import LocalTransport
from probate.server.objects import damage_reports
from probate.server.objects.owner_reference_warnings import CheckMode
from probate.server.request_limits import RequestLimits
from probate.server.webhooks import endpoints
from probate.settings import Settings
from probate.store.contract import Store
from probate.tenants import context_factory  # loaded late: `probate.app.startup`
from probate.tenants.ownership import audit, erasure, periodic_audit  # the first two are loaded late
from probate.tenants.ownership.ownership_store import OwnershipStore
from probate.tenants.per_tenant import PerTenant
from probate.tenants.quotas.tenant_quotas import TenantQuotas
from probate.tenants.tenant_contexts import TenantContexts

WAKE_SECONDS = 0.05
"""How often the watch that reads the history of tenants says how far it is."""

log = logging.getLogger(__name__)


def serve(settings: Settings, *, began: float) -> None:
    """Runs the server until SIGTERM or SIGINT. Raises `CannotOpen` if it cannot start."""
    logs.configure(settings.log_level, settings.log_format)
    # The store waits for the disk on a thread, which must get the interpreter back from a busy event loop: at Python's default of
    # 5 ms that is most of a commit's time (docs/adr/0002).
    sys.setswitchinterval(0.0001)
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(_serve(settings, SystemClock(), began=began))
    else:
        uvloop.run(_serve(settings, SystemClock(), began=began))


def read_root_certificate(file: str) -> str:
    """Returns the CA bundle that pods verify the server with; empty without a file. Raises `CannotOpen` if it cannot be used."""
    if not file:
        return ""
    try:
        bundle = Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CannotOpen(f"--root-ca-file {file} cannot be read: {error}") from error
    if "-----BEGIN CERTIFICATE-----" not in bundle:
        raise errors.CannotOpen(f"--root-ca-file {file} contains no certificate. Give a file in PEM format")
    return bundle


async def _serve(settings: Settings, clock: Clock, *, began: float) -> None:
    controllers = selection.select(settings.controllers)
    root_ca = read_root_certificate(settings.root_ca_file)
    kubernetes_service.check(settings.advertise_address)
    node_agent.check_grace_period(settings.node_monitor_grace_period)
    settings = dataclasses.replace(settings, max_connections=listener.fit_connections(settings.max_connections))
    async with managed_store(settings, clock) as engine:
        store = OwnershipStore(engine)
        with listener.bind(settings.listen, is_insecure=settings.insecure) as socket:
            host, port = socket.getsockname()[:2]
            secure = None if settings.insecure else SecureServing(settings, host, clock)
            url = listener.url(socket, "http" if secure is None else "https")
            accounts = _accounts(settings, store, clock, secure=secure, url=url)
            metrics = Registry()
            limit_log = LimitLog(clock, metrics)
            authenticator = _authenticator(secure, clock, accounts, limit_log=limit_log)
            offload = WorkerPool("large")
            context = _api(
                settings,
                store,
                clock,
                offload=offload,
                accounts=accounts,
                authenticator=authenticator,
                limit_log=limit_log,
                metrics=metrics,
                issue_kubeconfig=_kubeconfig_issuer(settings, secure, offload, url=url),
            )
            await _bootstrap(context, settings.admission, host=settings.advertise_address or host, port=port)
            announce = functools.partial(readiness.print_start_line, settings, url, clock, began=began)
            server = Server(
                apiserver_leases.name_for(f"{platform.node()} {url}"),
                root_ca or _ca_certificate(secure),
                _csr_signer(secure, context),
                str if secure is None else secure.tls.client_ca_bundle,
            )
            async with _auditing(settings, context), _current_credentials(settings, secure, url):
                quotas = admission_plugins.install_tenant_quotas(context)
                contexts = _tenant_contexts(settings, context, authenticator, quotas=quotas)
                app = _app(settings, context, None if secure is None else authenticator, contexts=contexts)
                async with (
                    quotas.following(),
                    manager.run_all(context, clock, controllers, settings=settings, server=server),
                    contexts.serving(),
                    periodic_audit.auditing(store, clock, metrics),
                    readiness.loading_lazy_modules(announce) as on_ready,
                ):
                    if registry.SIMULATED_NODES in controllers and not settings.has_shared_store:
                        await readiness.wait_for_nodes(Client(LocalTransport(context)), clock, settings.nodes)
                    http_server = listener.Listener(
                        app,
                        on_start=on_ready,
                        patience=settings.patience,
                        server_context=None if secure is None else secure.tls,
                        max_connections=settings.max_connections,
                    )
                    await http_server.serve([socket])
    print("probate: stopped", flush=True)  # noqa: T201


async def _bootstrap(context: ServerContext, admission: tuple[str, ...], *, host: str, port: int) -> None:
    """Creates the objects that every server has, and loads what is derived from stored objects."""
    planner = CreationPlanner(context.kinds, context.preparer)
    await namespaces.ensure_namespaces(context.store, planner)
    await context.kinds.refresh(now=context.timestamp())
    sync_api_services = functools.partial(api_services.sync_api_services, context.store, planner)
    addresses = context.service_pools.addresses
    await asyncio.gather(
        rbac_roles.ensure_roles(context.store, planner),
        default_objects.ensure(context.store, planner, service_addresses=addresses.name),
        sync_api_services(),
    )
    await admission_plugins.install(context, admission)
    await kubernetes_service.ensure(LocalTransport(context), host, port, addresses=addresses)
    damage_reports.register_metric(context.store, context.metrics.registry)
    reports = damage_reports.start_event_reports(context.store, context.kinds, context.warning_events)
    context.on_close(lambda: tasks.stop(reports))
    context.kinds.on_versions_changed = sync_api_services


def _ca_certificate(secure: SecureServing | None) -> str:
    return "" if secure is None else secure.credentials().authority.decode()


def _csr_signer(secure: SecureServing | None, context: ServerContext) -> Callable[[RequestedCertificate], Awaitable[bytes]] | None:
    """Returns the function that signs client certificates; None without an authority. It parses and signs on a thread."""
    if secure is None:
        return None
    return lambda order: context.offloader.run_in_thread(lambda: secure.sign(order))


def _kubeconfig_issuer(settings: Settings, secure: SecureServing | None, offload: Offload, *, url: str) -> IssueKubeconfig | None:
    """Returns the function that makes kubeconfigs for tenants' users; None without an authority. It makes keys on a thread."""
    if secure is None:
        return None
    host, port = settings.advertise_address, url.rpartition(":")[2]
    reachable = url if not host else f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return lambda user, seconds: offload.run(lambda: secure.issue_kubeconfig(reachable, user, seconds))


def _tenant_auditor(store: Store, clock: Clock) -> AuditTenants:
    """Returns the function that makes the report of `/debug/tenants`."""

    async def report(tenant: str, has_history: bool) -> Object:
        found = (await audit.audit(store, tenant)).as_object()
        if has_history:
            found["history"] = (await erasure.erasure(store, tenant, lambda: clock.sleep(WAKE_SECONDS))).as_object()
        return found

    return report


def _accounts(settings: Settings, store: Store, clock: Clock, *, secure: SecureServing | None, url: str) -> TokenIssuer:
    key = authority.new_signing_key if secure is None else secure.folder.signing_key
    keys_at = settings.service_account_jwks_uri or url + JWKS_PATH
    return TokenIssuer(store, clock, key=key, issuer=settings.service_account_issuer, jwks_uri=keys_at)


def _auditing(settings: Settings, context: ServerContext) -> AbstractAsyncContextManager[None]:
    if not settings.audit_log_path and not settings.audit_policy_file:
        return nullcontext()  # so that its code is not loaded if it is disabled
    return auditing.open_audit_log(
        settings, context.audit, context.clock, metrics=context.metrics.registry, readiness_checks=context.readiness_checks
    )


def _tenant_contexts(
    settings: Settings, context: ServerContext, authenticator: RequestAuthenticator, *, quotas: TenantQuotas
) -> TenantContexts:
    """Returns the contexts of tenants. Nothing is made for them before a tenant's user sends a request."""
    install, per_tenant = functools.partial(admission_plugins.install, enabled=settings.admission), PerTenant()
    contexts = TenantContexts(
        context,
        lambda: context_factory.new_factory(context, catalog.load(), install=install, quotas=quotas),
        users=authenticator.tenants,
        per_tenant=per_tenant,
    )
    per_tenant.register(authenticator.tenants.evict)
    admission_plugins.install_tenant_admission(context, contexts)
    return contexts


def _app(
    settings: Settings, context: ServerContext, authenticator: RequestAuthenticator | None, *, contexts: TenantContexts
) -> App:
    limits = RequestLimits(context.limit_log, max_connections=settings.max_connections)
    if authenticator is None:
        return App(context, body_timeout=settings.patience, request_limits=limits)
    return App(
        context,
        authenticate=authenticator,
        authenticate_cached=authenticator.cached_user,
        body_timeout=settings.patience,
        request_limits=limits,
        tenants=contexts,
    )


@asynccontextmanager
async def _current_credentials(settings: Settings, secure: SecureServing | None, url: str) -> AsyncGenerator[None, None]:
    """Writes the kubeconfig, also whenever the certificates are renewed, which happens until the context ends."""

    def write_kubeconfig() -> None:
        if settings.kubeconfig:
            kubeconfig.write(Path(settings.kubeconfig), url, None if secure is None else secure.credentials())

    write_kubeconfig()
    if secure is None:
        yield
        return
    renewal = tasks.start_supervised(
        secure.run(write_kubeconfig),
        name="certificates",
        on_failure=lambda error: log.error("renewal of certificates ended", exc_info=error),
    )
    try:
        yield
    finally:
        await tasks.stop(renewal)


def _authenticator(
    secure: SecureServing | None, clock: Clock, accounts: TokenIssuer, *, limit_log: LimitLog
) -> RequestAuthenticator:
    """Returns the authenticator of requests and TokenReviews. With `--insecure`, it is for TokenReviews only."""
    if secure is None:
        return RequestAuthenticator(clock, accounts)
    return secure.authenticator(accounts, WorkerPool("issuer"), limit_log)


def _api(  # noqa: PLR0913 everything that the context is made of is passed here
    settings: Settings,
    store: OwnershipStore,
    clock: Clock,
    *,
    offload: Offload,
    accounts: TokenIssuer,
    authenticator: RequestAuthenticator,
    limit_log: LimitLog,
    metrics: Registry,
    issue_kubeconfig: IssueKubeconfig | None,
) -> ServerContext:
    return ServerContext(
        store,
        KindRegistry(store, catalog.load(), offload),
        clock,
        new_uid=UidGenerator(os.urandom),
        random=random.SystemRandom(),
        offload=offload,
        registry=metrics,
        limit_log=limit_log,
        issue_kubeconfig=issue_kubeconfig,
        audit_tenants=_tenant_auditor(store, clock),
        webhook_services=endpoints.services(settings.webhook_service),
        service_accounts=accounts,
        authenticate_token=authenticator.authenticate_token,
        owner_permissions=OwnerChecks(settings.owner_rights),
        owner_warnings=CheckMode(settings.owner_checks),
        tenancy=store.tenancy,
    )
