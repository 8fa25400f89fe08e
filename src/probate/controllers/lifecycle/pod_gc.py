"""Deletes pods that no other controller or kubelet will end.

    terminated      too many pods have terminated: evicted ones go first, then those that terminated longest ago
    out-of-service  they are being deleted, and their node is out of service
    orphaned        their node is gone, and was not created again for a while
    unscheduled     they have been deleting for a while, and never had a node

A pod that finalizers hold is left to their controllers: it counts as a pod that is still needed, and is not deleted again and
again. The controller reacts to changes at once, and has timers for what must wait: it does not poll.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH
from probate.client.resources import NODES, PODS, is_deleting, is_pod_finished, node_name_of
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import DONE, IMMEDIATELY, Result
from probate.core import errors

TITLE = "pod-garbage-collector-controller"
QUARANTINE_SECONDS = 40.0
UNSCHEDULED_SECONDS = 20.0
"""How long a deleting pod without a node is left to its finalizers' controllers before it is failed, as in Kubernetes."""
BATCH = 100
"""Terminated pods that are deleted in parallel."""
TERMINATED = NamespacedName("", "terminated")
"""The only key of the queue of terminated pods."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def start(context: Context) -> list[Workers]:
    """Starts the controller: one queue of pods, and one for the limit of terminated pods."""
    pod_gc = PodGarbageCollector(context)
    return [pod_gc.workers, pod_gc.terminated_workers]


def is_terminated(pod: Object) -> bool:
    """Whether a pod has terminated, and no finalizer or deletion is pending."""
    phase = (pod.get("status") or {}).get("phase") or ""
    return phase not in {"", "Pending", "Running", "Unknown"} and not is_deleting(pod) and not pod["metadata"].get("finalizers")


def finished_at(pod: Object) -> str:
    """Returns when the pod terminated, or the best estimate."""
    status = pod.get("status") or {}
    states = [(container.get("state") or {}).get("terminated") or {} for container in status.get("containerStatuses") or ()]
    times = [state["finishedAt"] for state in states if state.get("finishedAt")]
    ready = conditions.find(status.get("conditions") or [], "Ready") or {}
    time: str = max(times, default="") or ready.get("lastTransitionTime") or pod["metadata"]["creationTimestamp"]
    return time


def in_deletion_order(pods: Iterable[Object]) -> list[Object]:
    """Returns the pods in the order in which they are deleted. (PG-8, but by when they terminated)"""

    def rank(pod: Object) -> tuple[bool, str, str]:
        status = pod.get("status") or {}
        is_evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
        return not is_evicted, finished_at(pod), pod["metadata"]["name"]

    return sorted(pods, key=rank)


class PodGarbageCollector:
    """Deletes terminated, out-of-service, orphaned and unscheduled pods."""

    def __init__(self, context: Context) -> None:
        self._client, self._clock = context.client, context.clock
        self._threshold = context.settings.terminated_pod_gc_threshold
        self._pods = context.informers.for_resource(PODS)
        self._nodes = context.informers.for_resource(NODES)
        self._pods_by_node: dict[str, dict[NamespacedName, None]] = {}
        self._terminated: dict[NamespacedName, None] = {}
        self._missing_nodes: dict[str, float] = {}  # since when
        self.workers = Workers(TITLE, self._sync, context.clock)
        self.terminated_workers = Workers("terminated pods", self._sync_terminated, context.clock, at_once=1)
        labels, metrics = ("namespace", "reason"), context.metrics
        self._deleted = metrics.counter("pod_gc_collector_force_delete_pods", "Pods that were deleted.", labels)
        self._failed = metrics.counter("pod_gc_collector_force_delete_pod_errors", "Pods that could not be deleted.", labels)
        self._pods.add_event_handler(self._on_pod)
        self._nodes.add_event_handler(self._on_node)

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or node_name_of(old) != node_name_of(new)):
            self._remove_from_node(old)
        if old is not None:
            self._terminated.pop(name_of(old), None)
        if new is None:
            return
        self._pods_by_node.setdefault(node_name_of(new), {})[name_of(new)] = None
        if is_terminated(new):
            self._terminated[name_of(new)] = None
            if 0 < self._threshold < len(self._terminated):
                self.terminated_workers.add(TERMINATED)
        if is_deleting(new) or (node_name_of(new) and self._nodes.get(NamespacedName("", node_name_of(new))) is None):
            self.workers.add(name_of(new))

    def _remove_from_node(self, pod: Object) -> None:
        pods = self._pods_by_node.get(node_name_of(pod), {})
        pods.pop(name_of(pod), None)
        if not pods:
            self._pods_by_node.pop(node_name_of(pod), None)
            self._missing_nodes.pop(node_name_of(pod), None)

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        node = new or old
        if node is None:
            return
        if new is not None:
            self._missing_nodes.pop(new["metadata"]["name"], None)
        if new is None or (_is_out_of_service(new) and not (old is not None and _is_out_of_service(old))):
            for pod in self._pods_by_node.get(node["metadata"]["name"], ()):
                self.workers.add(pod)

    async def _sync_terminated(self, _: NamespacedName) -> Result:
        """Deletes the terminated pods beyond the threshold. (PG-5 to PG-10)"""
        pods = [pod for name in self._terminated if (pod := self._pods.get(name)) is not None]
        excess = in_deletion_order(pods)[: max(0, len(pods) - self._threshold)]
        failures = await for_each(excess[:BATCH], lambda pod: self._delete(pod, "terminated"))
        if failures:
            raise ExceptionGroup("terminated pods could not be deleted", failures)
        return IMMEDIATELY if len(excess) > BATCH else DONE

    async def _sync(self, name: NamespacedName) -> Result:
        pod = self._pods.get(name)
        if pod is None or _is_done(pod):
            return DONE
        if not node_name_of(pod):
            return await self._delete_unscheduled(pod) if is_deleting(pod) else DONE
        node = self._nodes.get(NamespacedName("", node_name_of(pod)))
        if node is None:
            return await self._quarantine(pod)
        if is_deleting(pod) and _is_out_of_service(node):
            await self._delete(pod, "out-of-service")  # PG-11, PG-12
        return DONE

    async def _delete_unscheduled(self, pod: Object) -> Result:
        """Deletes a deleting pod without a node, or returns for how long it is left alone. (PG-19)"""
        meta = pod["metadata"]
        since = parse_time(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
        left = remaining_time.until(since + UNSCHEDULED_SECONDS, self._clock.now())
        if left:
            return left
        await self._delete(pod, "unscheduled")
        return DONE

    async def _quarantine(self, pod: Object) -> Result:
        """Deletes a pod whose node is gone, or returns for how long the node may still be created again. (PG-14 to PG-18)"""
        node, now = node_name_of(pod), self._clock.monotonic()
        since = self._missing_nodes.setdefault(node, now)
        left = remaining_time.until(since + QUARANTINE_SECONDS, now)
        if left:
            return left
        if await self._client.get(NODES, "", node) is not None:
            self._missing_nodes.pop(node, None)
            return DONE
        message = "PodGC: node no longer exists"
        await self._delete(
            pod, "orphaned", conditions.new_condition("DisruptionTarget", "True", reason="DeletionByPodGC", message=message)
        )
        return DONE

    async def _delete(self, pod: Object, reason: str, condition: Object | None = None) -> None:
        """Fails the pod if it has not terminated, and deletes it without a grace period. (PG-20 to PG-26)"""
        labels = pod["metadata"]["namespace"], reason
        self._deleted[labels] += 1
        try:
            if not is_pod_finished(pod):
                await self._fail(pod, condition)
            if not is_deleting(pod) or pod["metadata"].get("deletionGracePeriodSeconds"):
                await self._pods.delete(pod, grace=0)
        except (errors.NotFound, errors.Conflict):
            return  # it is gone, or another pod has its name
        except errors.ApiError:
            self._failed[labels] += 1
            raise

    async def _fail(self, pod: Object, condition: Object | None) -> None:
        meta = pod["metadata"]
        generation = {"observedGeneration": meta.get("generation", 0)}
        status: Object = {"phase": "Failed", **generation}
        if condition is not None:
            before = (pod.get("status") or {}).get("conditions") or []
            after = conditions.replace(before, {**condition, **generation}, format_time(self._clock.now()))
            status["conditions"] = [other for other in after if other["type"] == condition["type"]]
        change = {"metadata": {"uid": meta["uid"]}, "status": status}
        await self._pods.patch(name_of(pod), change, "status", media=STRATEGIC_MERGE_PATCH)


def _is_done(pod: Object) -> bool:
    """Whether nothing is left to do here: finalizers hold the pod."""
    return is_deleting(pod) and is_pod_finished(pod) and not pod["metadata"].get("deletionGracePeriodSeconds")


def _is_out_of_service(node: Object) -> bool:
    is_ready = conditions.is_true((node.get("status") or {}).get("conditions") or [], "Ready")
    return not is_ready and any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())
