"""Pods that nobody will end or look at any more: they are taken away.

    terminated      too many have ended: the evicted ones go first, then those that ended longest ago
    out-of-service  they are to go, and their node is known to be out of service
    orphaned        their node is gone, and was not seen again for a while
    unscheduled     they are to go since a while, and never had a node

A pod that finalizers hold is left to whoever holds it: it counts as one that is still needed, and is not deleted again and again.
What follows from a change is done when it happens, and what has to wait has a timer: there are no rounds.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.timestamps import seconds, timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Object
from probate.client.resources import NODES, PODS, is_deleting, is_finished, node_of
from probate.controllers.runtime import conditions, durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.core import errors

TITLE = "pod-garbage-collector"
QUARANTINE_SECONDS = 40.0
UNSCHEDULED_SECONDS = 20.0
"""How long a pod that goes and has no node is left to whoever holds it, before it has failed: as long as a round of Kubernetes'."""
AT_ONCE = 100
"""Terminated pods that are deleted together."""
ALL = Name("", "terminated")
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def start(means: Means) -> list[Workers]:
    """The workers, which are told by the informers where to look."""
    collector = PodCollector(means)
    return [collector.workers, collector.terminated]


def is_terminated(pod: Object) -> bool:
    """Whether a pod has ended, and nobody has anything left to do about it."""
    phase = (pod.get("status") or {}).get("phase") or ""
    return phase not in {"", "Pending", "Running", "Unknown"} and not is_deleting(pod) and not pod["metadata"].get("finalizers")


def finished_at(pod: Object) -> str:
    """When the pod ended, as far as that is known."""
    status = pod.get("status") or {}
    ends = [(one.get("state") or {}).get("terminated") or {} for one in status.get("containerStatuses") or ()]
    known = [one["finishedAt"] for one in ends if one.get("finishedAt")]
    ready = conditions.find(status.get("conditions") or [], "Ready") or {}
    found: str = max(known, default="") or ready.get("lastTransitionTime") or pod["metadata"]["creationTimestamp"]
    return found


def in_order(pods: Iterable[Object]) -> list[Object]:
    """The pods, those first that go first. (PG-8, but by when they ended)"""

    def rank(pod: Object) -> tuple[bool, str, str]:
        status = pod.get("status") or {}
        is_evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
        return not is_evicted, finished_at(pod), pod["metadata"]["name"]

    return sorted(pods, key=rank)


class PodCollector:
    """Takes such pods away."""

    def __init__(self, means: Means) -> None:
        self._client, self._clock = means.client, means.clock
        self._threshold = means.settings.terminated_pod_gc_threshold
        self._pods = means.informers.of(PODS)
        self._nodes = means.informers.of(NODES)
        self._on: dict[str, dict[Name, None]] = {}  # pods, by the name of their node
        self._terminated: dict[Name, None] = {}
        self._missing: dict[str, float] = {}  # since when nodes are not there, by their names
        self.workers = Workers(TITLE, self._sync, means.clock)
        self.terminated = Workers(f"{TITLE} (terminated)", self._sync_terminated, means.clock, at_once=1)
        labels = ("namespace", "reason")
        self._deleted = means.metrics.counter("pod_gc_collector_force_delete_pods", "Pods that were deleted.", labels)
        self._failed = means.metrics.counter("pod_gc_collector_force_delete_pod_errors", "Pods that could not be deleted.", labels)
        self._pods.listen(self._take_pod)
        self._nodes.listen(self._take_node)

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or node_of(old) != node_of(new)):
            peers = self._on.get(node_of(old), {})
            peers.pop(name_of(old), None)
            if not peers:
                self._on.pop(node_of(old), None)
                self._missing.pop(node_of(old), None)
        if old is not None:
            self._terminated.pop(name_of(old), None)
        if new is None:
            return
        self._on.setdefault(node_of(new), {})[name_of(new)] = None
        if is_terminated(new):
            self._terminated[name_of(new)] = None
            if 0 < self._threshold < len(self._terminated):
                self.terminated.add(ALL)
        if is_deleting(new) or (node_of(new) and self._nodes.get(Name("", node_of(new))) is None):
            self.workers.add(name_of(new))

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        known = new or old
        if known is None:
            return
        if new is not None:
            self._missing.pop(new["metadata"]["name"], None)
        if new is None or (_is_out_of_service(new) and not (old is not None and _is_out_of_service(old))):
            for pod in self._on.get(known["metadata"]["name"], ()):
                self.workers.add(pod)

    async def _sync_terminated(self, _: Name) -> float | None:
        """Delete those that are too many. (PG-5 to PG-10)"""
        pods = [pod for name in self._terminated if (pod := self._pods.get(name)) is not None]
        doomed = in_order(pods)[: max(0, len(pods) - self._threshold)]
        failures = await together(doomed[:AT_ONCE], lambda pod: self._remove(pod, "terminated"))
        if failures:
            raise ExceptionGroup("terminated pods could not be deleted", failures)
        return 0.0 if len(doomed) > AT_ONCE else None

    async def _sync(self, name: Name) -> float | None:
        pod = self._pods.get(name)
        if pod is None or _is_done(pod):
            return None
        if not node_of(pod):
            return await self._remove_unscheduled(pod) if is_deleting(pod) else None
        node = self._nodes.get(Name("", node_of(pod)))
        if node is None:
            return await self._quarantine(pod)
        if is_deleting(pod) and _is_out_of_service(node):
            await self._remove(pod, "out-of-service")  # PG-11, PG-12
        return None

    async def _remove_unscheduled(self, pod: Object) -> float | None:
        """The pod is to go, and nobody will end it. Returns for how long it is left alone. (PG-19)"""
        meta = pod["metadata"]
        since = seconds(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
        left = durations.until(since + UNSCHEDULED_SECONDS, self._clock.now())
        if left:
            return left
        await self._remove(pod, "unscheduled")
        return None

    async def _quarantine(self, pod: Object) -> float | None:
        """The pod's node is not there. Returns for how long it may still come back. (PG-14 to PG-18)"""
        node, now = node_of(pod), self._clock.monotonic()
        since = self._missing.setdefault(node, now)
        left = durations.until(since + QUARANTINE_SECONDS, now)
        if left:
            return left
        if await self._client.get(NODES, "", node) is not None:
            self._missing.pop(node, None)
            return None
        why = conditions.made("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists")
        await self._remove(pod, "orphaned", why)
        return None

    async def _remove(self, pod: Object, reason: str, why: Object | None = None) -> None:
        """Let the pod have failed if it has not ended, and delete it without grace. (PG-20 to PG-26)"""
        labels = pod["metadata"]["namespace"], reason
        self._deleted[labels] += 1
        try:
            if not is_finished(pod):
                await self._fail(pod, why)
            if not is_deleting(pod) or pod["metadata"].get("deletionGracePeriodSeconds"):
                await self._pods.delete(pod, grace=0)
        except (errors.NotFound, errors.Conflict):
            return  # it is gone, or another one has its name
        except errors.ApiError:
            self._failed[labels] += 1
            raise

    async def _fail(self, pod: Object, why: Object | None) -> None:
        meta = pod["metadata"]
        status: Object = {"phase": "Failed", "observedGeneration": meta.get("generation", 0)}
        if why is not None:
            told = (pod.get("status") or {}).get("conditions") or []
            new = conditions.put(told, {**why, "observedGeneration": meta.get("generation", 0)}, timestamp(self._clock.now()))
            status["conditions"] = [one for one in new if one["type"] == why["type"]]
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        await self._pods.patch(name_of(pod), change, "status", media=STRATEGIC_MERGE_PATCH)


def _is_done(pod: Object) -> bool:
    """Whether all was done that can be: something else holds the pod."""
    return is_deleting(pod) and is_finished(pod) and not pod["metadata"].get("deletionGracePeriodSeconds")


def _is_out_of_service(node: Object) -> bool:
    is_ready = conditions.is_true((node.get("status") or {}).get("conditions") or [], "Ready")
    return not is_ready and any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())
