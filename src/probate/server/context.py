"""ServerContext: the dependencies that request handlers share, and the response types that they return.

A request handler (a verb, a subresource, a review) receives the whole context. Everything else should take the single dependency
that it needs (`Store`, `Clock`, `KindRegistry`, …) instead of the context, so that its signature says what it can do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from probate.api.catalog import Catalog
from probate.api.names import Chooser
from probate.api.rbac.users import User
from probate.api.timestamps import format_time
from probate.core import errors, work_limits
from probate.core.aio import time_slices
from probate.core.aio.deadlines import Deadline
from probate.core.aio.offload import InlineOffload, Offload, WorkerPool
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.http.limit_log import LimitLog
from probate.http.memory_limits import MAX_SELECTORS_MEMORY, MemoryBudget
from probate.kinds.core.services.allocation_pools import DEFAULT_POOLS, Pools
from probate.server.admission.admission_control import AdmissionControl
from probate.server.audit import audit_log as auditing
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.diagnostics.server_metrics import ServerMetrics
from probate.server.flow_classification import FlowClassifier
from probate.server.kind_registry import KindRegistry
from probate.server.objects.list_cache import LargeListLimit, ListCache
from probate.server.request import RequestInfoResolver
from probate.server.webhooks.conversion_review import Converter
from probate.server.webhooks.endpoints import Services
from probate.server.webhooks.https_client import Outbound
from probate.store.contract import Guard, Revision, Store

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS = 60.0
"""How long a request may take, unless its client asks for less with `?timeout=`."""
LARGE_BYTES = 16 * 1024
"""Work on more than this many bytes (parsing, validating, encoding) runs on a thread, so that it does not block the event loop."""
MAX_INLINE_STEPS = 20_000
"""Steps of work that may run on the event loop. Work that needs more restarts on a thread. A step takes about a microsecond."""
MAX_STEPS = 3_000_000
"""Steps after which work on a thread is stopped."""
STEPS_PER_CEL_COST = 20.0
"""Steps that one unit of CEL cost counts as on the event loop: 1,000 units, under half a millisecond, move the work to a thread."""


class Response(NamedTuple):
    """A complete response."""

    code: int
    body: bytes
    content_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    json_body: bytes = (
        b""  # the body as JSON if `body` has another encoding: read by whatever inspects responses, such as the audit log
    )


class StreamSink(Protocol):
    """Writes chunks to the client of a streaming response without waiting."""

    def is_ready(self) -> bool:
        """Whether a chunk can be written now: the response has begun, has not ended, and the client reads fast enough."""
        ...

    def tell(self, chunk: bytes) -> None:
        """Writes a chunk after all chunks that were written before."""
        ...


class StreamingResponse(NamedTuple):
    """A response that does not end by itself, such as a watch: each chunk is sent as soon as it is produced.

    The server passes a sink to `attach` if the connection offers one. The producer may write to that sink while the server waits
    for the next chunk.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: str = "application/json"
    code: int = 200
    attach: Callable[[StreamSink], None] = lambda _: None
    warnings: tuple[str, ...] = ()
    audit_id: str = ""  # the id of its audit event, if it is audited


class AuthenticatedToken(NamedTuple):
    """The user that a bearer token identifies, and the audiences that the token is limited to (empty: not limited)."""

    user: User
    audiences: tuple[str, ...] = ()


TokenAuthenticator: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[AuthenticatedToken]]
"""Authenticates a token for one of these audiences (none: for the server itself). Raises `Unauthorized` if it is invalid."""


async def _reject_token(_token: str, _audiences: tuple[str, ...]) -> AuthenticatedToken:
    raise errors.Unauthorized


class ServerContext:
    """The dependencies of one API server on one store.

    Request handlers may use all of it. Startup (`probate.app`) and admission plugin setup assign the fields that are marked
    "set at startup"; after startup no code replaces a field.

    store, kinds, catalog           what is stored, and which kinds are served: any handler
    clock, timestamp, new_uid,
    random                          time and randomness: any handler, and nothing else may read a clock or make a uid
    authorizer,
    owner_permission_mode,
    owner_check_mode                authorization: routing, `authz`, admission policies, owner reference checks
    service_accounts,
    authenticate_token              tokens: the token subresource, TokenReview, issuer discovery
    admission                       admission: the verbs and the write path
    webhook_client, webhook_services,
    crd_converter                   outgoing calls: webhooks and conversion
    audit                           the audit log: routing, and what deletes objects
    metrics, denied_actions,
    limit_log, readiness_checks     observability: the ASGI application, health, whatever counts or limits
    request_info, request_deadline,
    flow_classifier                 request handling: the ASGI application, routing, the local transport
    list_cache, large_list_limit,
    selector_memory, open_namespaces
                                    caches and limits: list, watch, and the write path
    service_pools                   cluster IPs and node ports: service allocation
    offload_if_large, run_in_thread how to run long work: any handler
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
        service_accounts: TokenIssuer | None = None,
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self.new_uid = new_uid
        self.random = random  # for generateName, and for cluster IPs and node ports
        self.service_pools = service_pools
        self.authorizer = Authorizer(store)
        self.metrics = ServerMetrics(registry or Registry())
        self._offload = offload or InlineOffload()
        about = "Actions of the server's own controllers that RBAC denied, and that were not executed."
        self.denied_actions = self.metrics.registry.counter("probate_denied_actions", about, ("account", "verb", "resource"))
        self.limit_log = LimitLog(clock, self.metrics.registry)
        self.request_deadline = Deadline(REQUEST_TIMEOUT_SECONDS)
        self.request_info = RequestInfoResolver()
        self.list_cache = ListCache()
        self.large_list_limit = LargeListLimit()
        self.selector_memory = MemoryBudget("selectors of watches", MAX_SELECTORS_MEMORY)
        self.open_namespaces: dict[str, tuple[Guard, Revision]] = {}  # the guard of each, and at which revision it held
        self.service_accounts = service_accounts or TokenIssuer(store, clock)
        self.authenticate_token: TokenAuthenticator = _reject_token  # set at startup
        self.admission = AdmissionControl(store, kinds, self)
        self.audit: auditing.AuditLog | None = None  # set at startup; None: no audit log
        self.owner_permission_mode = OwnerChecks.BLOCKING  # set at startup
        self.owner_check_mode = "warn"  # set at startup; `owner_reference_warnings.CheckMode` lists the values
        self.webhook_services = webhook_services or {}  # how to reach the services that webhook configurations name
        self.webhook_client = Outbound(self._offload)
        self.crd_converter = Converter(self.webhook_client, lambda: self.webhook_services, new_uid, self.offload_if_large)
        self.flow_classifier = FlowClassifier()
        self._closing: list[Callable[[], Awaitable[None]]] = [self.webhook_client.close]
        self.readiness_checks: dict[str, Callable[[], str | None]] = {}  # by name: each returns what is wrong, or None

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

    async def offload_if_large(self, size: int, work: Callable[[], T]) -> T:
        """Runs work on the event loop if it is small, else on a thread, and returns its result.

        Work is large if `size` exceeds LARGE_BYTES or if it takes more than MAX_INLINE_STEPS. In the second case it is started a
        second time, on a thread, so it must have no side effects.
        """
        if size <= LARGE_BYTES:
            try:
                return work_limits.run_limited(MAX_INLINE_STEPS, STEPS_PER_CEL_COST, work)
            except work_limits.TooMuchWork:
                pass
        pause = self._pause(time_slices.current())
        return await self.run_in_thread(lambda: _run_limited(MAX_STEPS, work, pause))

    def _pause(self, turns: time_slices.TimeSlices) -> Callable[[], None] | None:
        """Returns what long work calls from time to time: its thread releases the interpreter while other tasks are waiting."""
        offload = self._offload
        return (lambda: offload.pause() if turns.is_busy else None) if isinstance(offload, WorkerPool) else None

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Runs work on a thread and returns its result."""
        return await self._offload.run(work)


def _run_limited(steps: int, work: Callable[[], T], pause: Callable[[], None] | None) -> T:
    try:
        with work_limits.WorkLimit(steps, pause=pause):
            return work()
    except errors.ApiError as error:
        # The traceback references everything that the work held; freeing that on the event loop would block it.
        raise error.with_traceback(None) from None
