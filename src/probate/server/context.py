"""ServerContext: the dependencies that request handlers share.

A request handler (a verb, a subresource, a review) receives the whole context. Everything else should take the single dependency
that it needs (`Store`, `Clock`, `KindRegistry`, …) instead of the context, so that its signature says what it can do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from probate.api.catalog import Catalog
from probate.api.names import Chooser
from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.core.aio.deadlines import Deadline
from probate.core.aio.offload import Offload
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.http.limit_log import LimitLog
from probate.kinds.core.services.allocation_pools import DEFAULT_POOLS, Pools
from probate.server.admission.admission_control import AdmissionControl
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.tenant_credentials import IssueKubeconfig
from probate.server.authn.token_authenticator import TokenAuthenticator, reject_all_tokens
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.block_owner_deletion import BlockOwnerDeletion
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.codec.responses import ResponseEncoder
from probate.server.codec.version_conversion import VersionConverter
from probate.server.flow_classification import FlowClassifier
from probate.server.kind_registry import KindRegistry
from probate.server.objects.list_cache import ListCache
from probate.server.objects.owner_reference_warnings import CheckMode
from probate.server.objects.scope_guards import ScopeGuards
from probate.server.objects.server_events import WarningEvents
from probate.server.objects.service_allocation import ServiceAllocator
from probate.server.objects.write import ObjectWriter
from probate.server.objects.write_checks import WriteChecks
from probate.server.objects.write_strategy import ObjectPreparer
from probate.server.request import RequestInfoResolver
from probate.server.shared_services import SharedServices
from probate.server.storage.tenancy import NoTenancy, Tenancy
from probate.server.webhooks.conversion_review import Converter
from probate.server.webhooks.endpoints import Services
from probate.store.contract import Store

AuditTenants: TypeAlias = Callable[[str, bool], Awaitable[Object]]
"""Compares the objects of one tenant, or of all if the ID is empty, with their index. Returns the report of `/debug/tenants`."""


class ServerContext:
    """The dependencies of one API server on one store: the physical view of the objects, or the view of one tenant.

    Everything is made once, here, and no attribute is ever replaced (`Final`). Three things are registered later: the plugins of
    `admission` (`app.admission_plugins`), the log of `audit` while one is open, and what background work adds to
    `readiness_checks` and by `on_close`.

    store, kinds, catalog           what is stored, and which kinds are served
    tenancy                         which tenant new objects belong to
    clock, timestamp, new_uid,
    random                          time and randomness: nothing else may read a clock or make a uid
    authorizer, write_checks        authorization: of requests, and of what some writes take besides their verb
    service_accounts,
    authenticate_token              tokens: the token subresource, TokenReview, issuer discovery
    admission                       the admission chain, and what configures it
    preparer, writer, scope_guards,
    service_allocator               the write path
    responses, version_converter    the read path: encoding, and versions of custom resources
    webhook_client, webhook_services
                                    outgoing calls
    audit, warning_events           the audit log, and Events about objects
    metrics, denied_actions,
    limit_log, readiness_checks     observability: the ASGI application, health, whatever counts or limits
    request_info, request_deadline,
    flow_classifier                 request handling: the ASGI application, routing, the local transport
    list_cache, large_list_limit,
    selector_memory                 caches and limits of list and watch
    service_pools                   the ranges of cluster IPs and node ports
    owner_permissions,
    owner_warnings                  how owner references are checked
    offloader                       runs long work
    discovery_cache, openapi_cache  documents about the API
    issue_kubeconfig                credentials of tenants' users; None without a certificate authority
    audit_tenants                   compares the objects of tenants with their index; None in the context of a tenant
    shared                          what all contexts of the process share; most of it has a name above
    """

    def __init__(  # noqa: PLR0913 every dependency of a request handler is passed here
        self,
        store: Store,
        kinds: KindRegistry,
        clock: Clock,
        *,
        new_uid: Callable[[], str],
        random: Chooser,
        service_pools: Pools = DEFAULT_POOLS,
        offload: Offload | None = None,
        registry: Registry | None = None,
        webhook_services: Services | None = None,
        limit_log: LimitLog | None = None,
        request_deadline: Deadline | None = None,
        shared: SharedServices | None = None,
        list_cache: ListCache | None = None,
        issue_kubeconfig: IssueKubeconfig | None = None,
        audit_tenants: AuditTenants | None = None,
        service_accounts: TokenIssuer | None = None,
        authenticate_token: TokenAuthenticator = reject_all_tokens,
        owner_permissions: OwnerChecks = OwnerChecks.BLOCKING,
        owner_warnings: CheckMode = CheckMode.WARN,
        tenancy: Tenancy | None = None,
    ) -> None:
        services = shared or SharedServices(
            clock, offload=offload, registry=registry, limit_log=limit_log, request_deadline=request_deadline
        )
        self.store: Final = store
        self.tenancy: Final[Tenancy] = tenancy or NoTenancy()
        self.kinds: Final = kinds
        self.clock: Final = clock
        self.new_uid: Final = new_uid
        self.random: Final = random  # for generateName, and for cluster IPs and node ports
        self.service_pools: Final = service_pools
        self.owner_permissions: Final = owner_permissions
        self.owner_warnings: Final = owner_warnings
        self.authorizer: Final = Authorizer(store)
        self.shared: Final = services
        self.metrics: Final = services.metrics
        self.offloader: Final = services.offloader
        self.denied_actions: Final = services.denied_actions
        self.limit_log: Final = services.limit_log
        self.request_deadline: Final = services.request_deadline
        self.request_info: Final = RequestInfoResolver()
        self.list_cache: Final = list_cache or ListCache()
        self.large_list_limit: Final = services.large_list_limit
        self.selector_memory: Final = services.selector_memory.part() if shared else services.selector_memory
        self.discovery_cache: Final = services.discovery_cache
        self.openapi_cache: Final = services.openapi_cache
        self.issue_kubeconfig: Final = issue_kubeconfig
        self.audit_tenants: Final = audit_tenants
        self.scope_guards: Final = ScopeGuards(store, kinds)
        self.warning_events: Final = WarningEvents(store, self.scope_guards, clock=clock, new_uid=new_uid)
        self.service_allocator: Final = ServiceAllocator(store, service_pools, random)
        self.service_accounts: Final = service_accounts or TokenIssuer(store, clock)
        self.authenticate_token: Final = authenticate_token
        self.admission: Final = AdmissionControl(store, kinds, self.offloader)
        self.audit: Final = services.audit
        # How to reach the services that webhook configurations name.
        self.webhook_services: Final[Services] = {} if webhook_services is None else webhook_services
        self.webhook_client: Final = services.webhook_client.with_own_limit() if shared else services.webhook_client
        converter = Converter(self.webhook_client, self.webhook_services, new_uid=new_uid, offloader=self.offloader)
        self.version_converter: Final = VersionConverter(store, kinds, webhooks=converter, offloader=self.offloader)
        self.responses: Final = ResponseEncoder(kinds, clock)
        self.preparer: Final = ObjectPreparer(kinds, clock, new_uid=new_uid, admission=self.admission)
        self.write_checks: Final = WriteChecks(
            self.authorizer,
            kinds,
            store,
            offloader=self.offloader,
            classes=self.admission.priority,
            blocking=BlockOwnerDeletion(
                self.authorizer, kinds, store, mode=owner_permissions, is_of_platform=self.tenancy.is_of_platform
            ),
            owner_warnings=owner_warnings,
        )
        self.writer: Final = ObjectWriter(
            store,
            self.offloader,
            self.preparer,
            admission=self.admission,
            checks=self.write_checks,
            version_converter=self.version_converter,
            service_allocator=self.service_allocator,
        )
        self.flow_classifier: Final = FlowClassifier()
        self._closing: Final[list[Callable[[], Awaitable[None]]]] = [] if shared else [self.webhook_client.close]
        self.readiness_checks: Final = services.readiness_checks

    @property
    def catalog(self) -> Catalog:
        """The resources that are served now."""
        return self.kinds.catalog

    def timestamp(self) -> str:
        """Returns the current time as an RFC 3339 string with seconds, as metadata has it."""
        return format_time(self.clock.now())

    def on_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Registers a callback for `close`. Callbacks run in reverse order of registration."""
        self._closing.insert(0, close)

    async def close(self) -> None:
        """Stops everything that runs for this server besides requests."""
        for close in self._closing:
            await close()
