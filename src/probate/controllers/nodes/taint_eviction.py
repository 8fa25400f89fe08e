"""Pods leave a node that has a taint with the effect NoExecute: at once, or when they do not tolerate it any longer.

How long a pod may stay counts from when it was first told to leave, whatever becomes of the taints meanwhile; when they are all
gone, or are tolerated for ever, it may stay.
"""

from __future__ import annotations

from probate.api.timestamps import timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Object
from probate.client.resources import NODES, PODS, is_deleting, is_finished, node_of
from probate.controllers.runtime import conditions, durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.workers import Workers
from probate.core import errors
from probate.kinds.core import taints as core_taints
from probate.kinds.core.taints import NO_EXECUTE

COMPONENT = "taint-eviction-controller"
BOUNDS = (0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240)


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [Evictions(means).workers]


def stay(pod: Object, taints: list[Object]) -> float | None:
    """For how many seconds the pod tolerates all of the taints; None: for ever. (TE-1)"""
    tolerated = pod["spec"].get("tolerations") or []
    found = [core_taints.tolerated_by(tolerated, taint) for taint in taints]
    if None in found:
        return 0.0
    limits = [one["tolerationSeconds"] for one in found if one is not None and one.get("tolerationSeconds") is not None]
    return max(0.0, float(min(limits))) if limits else None


class Evictions:
    """Makes pods leave."""

    def __init__(self, means: Means) -> None:
        self._client, self._clock = means.client, means.clock
        self._voice = Voice(means.events, COMPONENT, "v1", "Pod")
        self._pods = means.informers.of(PODS)
        self._nodes = means.informers.of(NODES)
        self._on: dict[str, dict[Name, None]] = {}  # pods, by the name of their node
        self._told: dict[str, tuple[float, float]] = {}  # since when pods are to leave, and when they have to; by uid
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        self._pods.listen(self._take_pod)
        self._nodes.listen(self._take_node)
        self._deletions = means.metrics.counter("taint_eviction_controller_pod_deletions", "Pods deleted because of taints.")
        self._delays = means.metrics.histogram(
            "taint_eviction_controller_pod_deletion_duration_seconds", "How late pods were deleted.", bounds=BOUNDS
        )

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._told.pop(old["metadata"]["uid"], None)
            peers = self._on.get(node_of(old), {})
            peers.pop(name_of(old), None)
            if not peers:
                self._on.pop(node_of(old), None)
        if new is None or not node_of(new):
            return
        self._on.setdefault(node_of(new), {})[name_of(new)] = None
        if old is None or node_of(old) != node_of(new) or old["spec"].get("tolerations") != new["spec"].get("tolerations"):
            self.workers.add(name_of(new))

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            return  # what was to leave leaves all the same
        before = core_taints.taints_of(old, NO_EXECUTE) if old is not None else []
        if before != core_taints.taints_of(new, NO_EXECUTE):
            for name in self._on.get(new["metadata"]["name"], ()):
                self.workers.add(name)

    async def _sync(self, name: Name) -> float | None:
        pod, now = self._pods.get(name), self._clock.monotonic()
        if pod is None or is_deleting(pod) or is_finished(pod) or not node_of(pod):
            return None
        deadline = self._deadline(pod, now)
        if deadline is None:
            if self._told.pop(pod["metadata"]["uid"], None) is not None:
                self._tell(pod, f"Cancelling deletion of Pod {name}")
            return None
        left = durations.until(deadline, now)
        if left:
            return left
        self._tell(pod, f"Marking for deletion Pod {name}")
        if await self._evict(pod):
            self._deletions[()] += 1
            self._delays.observe((), max(0.0, self._clock.monotonic() - deadline))
        return None

    def _deadline(self, pod: Object, now: float) -> float | None:
        """When the pod has to leave; None if it may stay."""
        uid, node = pod["metadata"]["uid"], self._nodes.get(Name("", node_of(pod)))
        known = self._told.get(uid)
        if node is None:
            return known[1] if known is not None else None
        taints = core_taints.taints_of(node, NO_EXECUTE)
        seconds = stay(pod, taints) if taints else None
        if seconds is None:
            return None
        since, before = known or (now, now + seconds)
        self._told[uid] = since, min(before, max(now, since + seconds))
        return self._told[uid][1]

    async def _evict(self, pod: Object) -> bool:
        """Say why, and delete. (TE-2)"""
        live = await self._client.get(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
        if live is None or live["metadata"]["uid"] != pod["metadata"]["uid"] or is_deleting(live):
            return False
        told = (live.get("status") or {}).get("conditions") or []
        why = "the node has a taint that the pod cannot stand"
        new = conditions.of_pod(live, conditions.made("DisruptionTarget", "True", "DeletionByTaintManager", why))
        now = timestamp(self._clock.now())
        if conditions.put(told, new, now) != told:
            written = conditions.find(conditions.put(told, new, now), "DisruptionTarget")
            change = {"metadata": {"uid": live["metadata"]["uid"]}, "status": {"conditions": [written]}}
            try:
                await self._pods.patch(name_of(live), change, "status", media=STRATEGIC_MERGE_PATCH)
            except (errors.NotFound, errors.Conflict):
                return False
        await self._pods.delete(live)
        return True

    def _tell(self, pod: Object, message: str) -> None:
        self._voice(pod, "Normal", "TaintManagerEviction", message)
