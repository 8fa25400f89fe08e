"""ServerMetrics: requests, their durations, watches, and the numbers of stored objects and of tenants, as shown on `/metrics`.

A metric that Kubernetes has under the same meaning has Kubernetes' name, so that its dashboards work. Recording a request costs one
dictionary lookup: the request count is derived from the duration histogram.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import add

import msgspec

from probate.api import object_keys, tenants, timestamps
from probate.core import errors
from probate.core.clock import Clock
from probate.core.metrics import Counter, Family, Histogram, LabelValues, Registry, histogram_family
from probate.server.kind_registry import KindRegistry
from probate.server.request import RequestInfo
from probate.server.storage import index_entries, storage_keys
from probate.store import pagination
from probate.store.contract import Store

DURATION_BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
)
RECOUNT_SECONDS = 30.0
"""The maximum age of object counts. Counting is a scan over all objects."""
_LABELS = ("verb", "group", "version", "resource", "subresource")
_METHODS = {"create": "POST", "update": "PUT"}
"""Verbs that Kubernetes' metrics label with the HTTP method. All other verbs are their own label."""


class _TenantStatus(msgspec.Struct):
    phase: str = "Unknown"


class _Tenant(msgspec.Struct):
    status: _TenantStatus = msgspec.field(default_factory=_TenantStatus)


_tenant = msgspec.json.Decoder(_Tenant)


class ServerMetrics:
    """The metrics of one server."""

    def __init__(self, registry: Registry) -> None:
        self._requests = Histogram(DURATION_BUCKETS)
        self._watchers = Counter()
        self._revision: Mapping[LabelValues, float] = {}
        self._objects: Mapping[LabelValues, float] = {}
        self._waiting: Mapping[LabelValues, float] = {}
        self._tenants: Mapping[LabelValues, float] = {}
        self._counted_at = -RECOUNT_SECONDS
        self.registry = registry
        registry.add(self._request_families)
        registry.gauges("apiserver_longrunning_requests", "Watches that are open.", _LABELS, read=self._watch_gauge)
        registry.gauges("probate_store_revision", "The store's newest revision.", (), read=lambda: self._revision)
        about = "The age of the oldest deletion that still waits for the collector to handle the object's dependents."
        registry.gauges("probate_gc_oldest_waiting_seconds", about, (), read=lambda: self._waiting)
        registry.gauges("apiserver_storage_objects", "Objects in the store.", ("resource",), read=lambda: self._objects)
        registry.gauges("probate_tenants", "Tenants in each phase.", ("phase",), read=lambda: self._tenants)

    def record_request(self, method: str, info: RequestInfo | None, code: int, *, seconds: float) -> None:
        """Records a response. A watch is recorded when it begins."""
        if info is None:
            key: LabelValues = (method, "", "", "", "", code)
        else:
            resource = info.target.resource
            key = (info.verb, resource.group, resource.version, resource.plural, info.target.subresource, code)
        buckets = self._requests[key]  # Histogram.observe, inlined: every request passes here
        buckets[bisect_left(DURATION_BUCKETS, seconds)] += 1
        buckets[-1] += seconds

    def record_watch(self, info: RequestInfo | None, change: int) -> None:
        """Records that a watch began (1) or ended (-1)."""
        if info is not None:
            self._watchers[
                info.verb, info.target.resource.group, info.target.resource.version, info.target.resource.plural, ""
            ] += change

    @property
    def revision(self) -> float:
        """The store's newest revision at the last refresh; 0 if there was none, or if the store did not respond."""
        return self._revision.get((), 0)

    async def refresh_store_metrics(self, store: Store, kinds: KindRegistry, clock: Clock) -> None:
        """Reads revision, waiting deletions and object counts from the store. If it does not respond, they are empty."""
        now = clock.monotonic()
        try:
            self._revision = {(): await store.revision()}
            self._waiting = {(): await _oldest_waiting(store, clock.now())}
            if now - self._counted_at >= RECOUNT_SECONDS:
                self._counted_at = now
                self._objects, self._tenants = await _count(store, kinds), await _count_tenants(store)
        except errors.ApiError:
            self._revision, self._waiting, self._objects, self._tenants = {}, {}, {}, {}
            self._counted_at = -RECOUNT_SECONDS

    def _watch_gauge(self) -> dict[LabelValues, float]:
        return {(_verb_label(key[0]), *key[1:]): count for key, count in self._watchers.items()}

    def _request_families(self) -> Iterable[Family]:
        durations = Histogram(DURATION_BUCKETS)
        times: dict[LabelValues, float] = {}
        for (verb, *rest, code), buckets in self._requests.items():
            labels = (_verb_label(verb), *rest)
            times[*labels, code] = sum(buckets[:-1])
            if verb != "watch":
                durations[labels] = array("d", map(add, durations[labels], buckets))
        yield Family("counter", "apiserver_request", "Requests that the server has responded to.", (*_LABELS, "code"), times)
        yield histogram_family(
            "apiserver_request_duration_seconds", "Duration of requests until the response is ready.", _LABELS, histogram=durations
        )


def _verb_label(verb: str | int) -> str:
    return _METHODS.get(str(verb), str(verb).upper())


async def _count(store: Store, kinds: KindRegistry) -> dict[LabelValues, float]:
    """Counts the objects of each resource. Yields to the event loop between two resources."""
    counts: dict[LabelValues, float] = {}
    for resource in kinds.catalog:
        name = object_keys.resource_in(storage_keys.resource_range(resource))
        if "list" in resource.verbs and (name,) not in counts:
            counts[name,] = await store.count(storage_keys.resource_range(resource))
            await asyncio.sleep(0)
    return counts


async def _count_tenants(store: Store) -> dict[LabelValues, float]:
    """Counts the Tenants of each phase. Damaged ones are left out."""
    counts: dict[LabelValues, float] = {}
    async for page in pagination.pages(store, tenants.TENANTS_RANGE):
        for record in page.records:
            phase = _phase(record.value)
            counts[phase,] = counts.get((phase,), 0) + 1
    return counts


def _phase(tenant: bytes) -> str:
    try:
        return _tenant.decode(tenant).status.phase
    except msgspec.DecodeError:
        return "Unknown"


async def _oldest_waiting(store: Store, now: float) -> float:
    oldest = (await store.scan(index_entries.SINCE_RANGE, limit=1)).records
    return max(0.0, now - timestamps.parse_time(index_entries.deletion_timestamp_of(oldest[0].key))) if oldest else 0.0
