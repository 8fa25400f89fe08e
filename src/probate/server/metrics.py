"""What the door counts: requests, how long they took, watchers, and what the store holds. `/metrics` shows it.

Where Kubernetes has a figure of the same meaning it has the same name here, so that its dashboards fit. A request costs one
look-up: how many there were follows from how long they took.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from operator import add

from probate.api import timestamps
from probate.core import errors
from probate.core.clock import Clock
from probate.core.metrics import Counter, Family, Histogram, Labels, Registry, distribution
from probate.server.kind_registry import Kinds
from probate.server.request import Asked
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Store

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
RECOUNT_SECONDS = 30.0
"""How old the numbers of objects may be: to count them is a walk over all of them."""
_ABOUT = ("verb", "group", "version", "resource", "subresource")
_METHODS = {"create": "POST", "update": "PUT"}
"""Verbs that Kubernetes' figures call by their methods; the others have their own names."""


class Figures:
    """The figures of one API."""

    def __init__(self, registry: Registry) -> None:
        self._requests = Histogram(SECONDS)
        self._watchers = Counter()
        self._revision: Mapping[Labels, float] = {}
        self._objects: Mapping[Labels, float] = {}
        self._waiting: Mapping[Labels, float] = {}
        self._counted_at = -RECOUNT_SECONDS
        self.registry = registry
        registry.add(self._requests_told)
        registry.gauges("apiserver_longrunning_requests", "Watches that go on.", _ABOUT, self._watchers_told)
        registry.gauges("probate_store_revision", "The store's newest revision.", (), lambda: self._revision)
        about = "How long the object waits that has waited longest to be let go by the collector."
        registry.gauges("probate_gc_oldest_waiting_seconds", about, (), lambda: self._waiting)
        registry.gauges("apiserver_storage_objects", "Objects in the store.", ("resource",), lambda: self._objects)

    def note(self, method: str, asked: Asked | None, code: int, seconds: float) -> None:
        """A request was answered. (A watch when it began.)"""
        if asked is None:
            key: Labels = (method, "", "", "", "", code)
        else:
            resource = asked.at.resource
            key = (asked.verb, resource.group, resource.version, resource.plural, asked.at.subresource, code)
        seen = self._requests[key]  # `observe`, written out: every request passes here
        seen[bisect_left(SECONDS, seconds)] += 1
        seen[-1] += seconds

    def note_watcher(self, asked: Asked | None, change: int) -> None:
        """A watch goes on (1), or has ended (-1)."""
        if asked is not None:
            self._watchers[asked.verb, asked.at.resource.group, asked.at.resource.version, asked.at.resource.plural, ""] += change

    @property
    def revision(self) -> float:
        """The store's newest revision when it was last looked at; 0 if it was not, or did not answer."""
        return self._revision.get((), 0)

    async def look(self, store: Store, kinds: Kinds, clock: Clock) -> None:
        """Ask the store what it holds. One that does not answer has no figures."""
        now = clock.monotonic()
        try:
            self._revision = {(): await store.revision()}
            self._waiting = {(): await _oldest_waiting(store, clock.now())}
            if now - self._counted_at >= RECOUNT_SECONDS:
                self._counted_at = now
                self._objects = await _count(store, kinds)
        except errors.ApiError:
            self._revision, self._waiting, self._objects, self._counted_at = {}, {}, {}, -RECOUNT_SECONDS

    def _watchers_told(self) -> dict[Labels, float]:
        return {(_said(key[0]), *key[1:]): count for key, count in self._watchers.items()}

    def _requests_told(self) -> Iterable[Family]:
        durations = Histogram(SECONDS)
        times: dict[Labels, float] = {}
        for (verb, *about, code), seen in self._requests.items():
            labels = (_said(verb), *about)
            times[*labels, code] = sum(seen[:-1])
            if verb != "watch":
                durations[labels] = array("d", map(add, durations[labels], seen))
        yield Family("counter", "apiserver_request", "Requests that were answered.", (*_ABOUT, "code"), times)
        yield distribution("apiserver_request_duration_seconds", "How long it took to answer.", _ABOUT, durations)


def _said(verb: str | int) -> str:
    return _METHODS.get(str(verb), str(verb).upper())


async def _count(store: Store, kinds: Kinds) -> dict[Labels, float]:
    """How many objects of each kind there are; others get the loop between two kinds."""
    counts: dict[Labels, float] = {}
    for resource in kinds.catalog:
        name = storage_keys.everywhere(resource).split("/")[1]
        if "list" in resource.verbs and (name,) not in counts:
            counts[name,] = await store.count(storage_keys.everywhere(resource))
            await asyncio.sleep(0)
    return counts


async def _oldest_waiting(store: Store, now: float) -> float:
    first = (await store.scan(index_entries.SINCE, limit=1)).records
    return max(0.0, now - timestamps.seconds(index_entries.waiting_since(first[0].key))) if first else 0.0
