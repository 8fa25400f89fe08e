"""SharedServices: what all contexts of one process share, so that all of them together have the limits and the threads of one.

A process has one context for the physical view, and one for each tenant that is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from probate.core.aio.deadlines import Deadline
from probate.core.aio.large_work import Offloader
from probate.core.aio.offload import InlineOffload, Offload
from probate.core.clock import Clock
from probate.core.lru_cache import LruCache
from probate.core.metrics import Registry
from probate.http.limit_log import LimitLog
from probate.http.memory_limits import MAX_SELECTORS_MEMORY, MemoryBudget
from probate.server.audit.current_log import CurrentAuditLog
from probate.server.diagnostics.server_metrics import ServerMetrics
from probate.server.objects.list_cache import LargeListLimit
from probate.server.timeouts import REQUEST_TIMEOUT_SECONDS
from probate.server.webhooks.https_client import Outbound

MAX_DISCOVERY_DOCUMENTS = 32
"""Limits the discovery documents that are kept. A catalog has four, of some tens of kilobytes."""
MAX_OPENAPI_DOCUMENTS = 6
"""Limits the catalogs whose OpenAPI documents are kept, some megabytes each. Tenants without CRDs have the same catalog."""


class SharedServices:
    """Threads, limits, metrics, the audit log and the connections to webhooks. `readiness_checks` return what is wrong, or None."""

    def __init__(
        self,
        clock: Clock,
        *,
        offload: Offload | None = None,
        registry: Registry | None = None,
        limit_log: LimitLog | None = None,
        request_deadline: Deadline | None = None,
    ) -> None:
        self.offload: Final = offload or InlineOffload()
        self.offloader: Final = Offloader(offload)
        self.metrics: Final = ServerMetrics(registry or Registry())
        about = "Actions of the server's own controllers that RBAC denied, and that were not executed."
        self.denied_actions: Final = self.metrics.registry.counter("probate_denied_actions", about, ("account", "verb", "resource"))
        self.limit_log: Final = limit_log or LimitLog(clock, self.metrics.registry)
        self.request_deadline: Final = request_deadline or Deadline(REQUEST_TIMEOUT_SECONDS)
        self.large_list_limit: Final = LargeListLimit()
        self.selector_memory: Final = MemoryBudget("selectors of watches", MAX_SELECTORS_MEMORY)
        self.audit: Final = CurrentAuditLog()
        self.webhook_client: Final = Outbound(offload)
        self.discovery_cache: Final = LruCache[Any](MAX_DISCOVERY_DOCUMENTS)
        self.openapi_cache: Final = LruCache[Any](MAX_OPENAPI_DOCUMENTS)
        self.readiness_checks: Final[dict[str, Callable[[], str | None]]] = {}
