"""Deletes pods from nodes with NoExecute taints: at once, or when their toleration ends.

The time counts from when the pod was first marked for eviction, whatever happens to the taints meanwhile. When all taints are gone,
or tolerated forever, the eviction is cancelled.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH
from probate.client.resources import NODES, PODS, is_deleting, is_pod_finished, node_name_of
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.core import errors
from probate.kinds.core import taints as core_taints
from probate.kinds.core.taints import NO_EXECUTE

COMPONENT = "taint-eviction-controller"
BUCKETS = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [TaintEviction(context).workers]


def toleration_seconds(pod: Object, taints: list[Object]) -> float | None:
    """Returns for how many seconds the pod tolerates all of the taints; None if forever. (TE-1)"""
    tolerations = pod["spec"].get("tolerations") or []
    matching = [core_taints.first_tolerating(tolerations, taint) for taint in taints]
    if None in matching:
        return 0.0
    limits = [one["tolerationSeconds"] for one in matching if one is not None and one.get("tolerationSeconds") is not None]
    return max(0.0, float(min(limits))) if limits else None


class TaintEviction:
    """Evicts pods."""

    def __init__(self, context: Context) -> None:
        self._client, self._clock = context.client, context.clock
        self._events = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Pod")
        self._pods = context.informers.for_resource(PODS)
        self._nodes = context.informers.for_resource(NODES)
        self._pods_by_node: dict[str, dict[NamespacedName, None]] = {}
        self._evictions: dict[str, tuple[float, float]] = {}  # by pod uid: since when it is marked, and its deadline
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        self._pods.add_event_handler(self._on_pod)
        self._nodes.add_event_handler(self._on_node)
        self._deletions = context.metrics.counter("taint_eviction_controller_pod_deletions", "Pods deleted because of taints.")
        self._delays = context.metrics.histogram(
            "taint_eviction_controller_pod_deletion_duration_seconds",
            "Delay between a pod's deadline and its deletion.",
            bounds=BUCKETS,
        )

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._evictions.pop(old["metadata"]["uid"], None)
            pods = self._pods_by_node.get(node_name_of(old), {})
            pods.pop(name_of(old), None)
            if not pods:
                self._pods_by_node.pop(node_name_of(old), None)
        if new is None or not node_name_of(new):
            return
        self._pods_by_node.setdefault(node_name_of(new), {})[name_of(new)] = None
        if (
            old is None
            or node_name_of(old) != node_name_of(new)
            or old["spec"].get("tolerations") != new["spec"].get("tolerations")
        ):
            self.workers.add(name_of(new))

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            return  # pods that were marked keep their deadline
        before = core_taints.taints_of(old, NO_EXECUTE) if old is not None else []
        if before != core_taints.taints_of(new, NO_EXECUTE):
            for name in self._pods_by_node.get(new["metadata"]["name"], ()):
                self.workers.add(name)

    async def _sync(self, name: NamespacedName) -> Result:
        pod, now = self._pods.get(name), self._clock.monotonic()
        if pod is None or is_deleting(pod) or is_pod_finished(pod) or not node_name_of(pod):
            return None
        deadline = self._deadline(pod, now)
        if deadline is None:
            if self._evictions.pop(pod["metadata"]["uid"], None) is not None:
                self._record_event(pod, f"Cancelling deletion of Pod {name}")
            return None
        left = remaining_time.until(deadline, now)
        if left:
            return left
        self._record_event(pod, f"Marking for deletion Pod {name}")
        if await self._evict(pod):
            self._deletions[()] += 1
            self._delays.observe((), max(0.0, self._clock.monotonic() - deadline))
        return None

    def _deadline(self, pod: Object, now: float) -> float | None:
        """Returns the pod's deadline; None if it may stay."""
        uid, node = pod["metadata"]["uid"], self._nodes.get(NamespacedName("", node_name_of(pod)))
        known = self._evictions.get(uid)
        if node is None:
            return known[1] if known is not None else None
        taints = core_taints.taints_of(node, NO_EXECUTE)
        seconds = toleration_seconds(pod, taints) if taints else None
        if seconds is None:
            return None
        since, before = known or (now, now + seconds)
        self._evictions[uid] = since, min(before, max(now, since + seconds))
        return self._evictions[uid][1]

    async def _evict(self, pod: Object) -> bool:
        """Deletes the pod, after writing a condition that says why. Returns whether it did. (TE-2)"""
        live = await self._client.get(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
        if live is None or live["metadata"]["uid"] != pod["metadata"]["uid"] or is_deleting(live):
            return False
        before = (live.get("status") or {}).get("conditions") or []
        message = "Taint manager: deleting due to NoExecute taint"
        new = conditions.for_pod(
            live, conditions.new_condition("DisruptionTarget", "True", reason="DeletionByTaintManager", message=message)
        )
        now = format_time(self._clock.now())
        if conditions.replace(before, new, now) != before:
            condition = conditions.find(conditions.replace(before, new, now), "DisruptionTarget")
            change = {"metadata": {"uid": live["metadata"]["uid"]}, "status": {"conditions": [condition]}}
            try:
                await self._pods.patch(name_of(live), change, "status", media=STRATEGIC_MERGE_PATCH)
            except (errors.NotFound, errors.Conflict):
                return False
        await self._pods.delete(live)
        return True

    def _record_event(self, pod: Object, message: str) -> None:
        self._events(pod, "Normal", "TaintManagerEviction", message=message)
