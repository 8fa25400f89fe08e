"""Evicts the victims of a preemption: sets their DisruptionTarget condition, and deletes them with their grace period.

The preempting pod is nominated for the node (`status.nominatedNodeName`). The resources stay reserved for it there, against all
pods that do not have a higher priority, until it is bound or the preemption is given up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, GroupVersionResource
from probate.client.resources import PODS, is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.scheduler import decide, preemption
from probate.controllers.scheduler.node_cache import NodeCache, counts_for, priority_of
from probate.controllers.scheduler.preemption import REASON, Candidate
from probate.controllers.scheduler.unschedulable import nominated_node
from probate.core import errors

BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")


class Nomination(NamedTuple):
    """The result of preemption for a pod that fits nowhere. `node`: None leaves `nominatedNodeName` unchanged, "" clears it."""

    node: str | None = None
    victims: tuple[Object, ...] = ()


class Preemptor:
    """Makes room for pods of a higher priority."""

    def __init__(
        self,
        context: Context,
        cache: NodeCache,
        namespace_labels: Callable[[str], Mapping[str, str]],
        *,
        record_event: ObjectEventRecorder,
    ) -> None:
        self._clock = context.clock
        self._pods = context.informers.for_resource(PODS)
        self._budgets = context.informers.for_resource(BUDGETS)
        self._cache, self._namespace_labels, self._record_event = cache, namespace_labels, record_event

    def nominate(self, pod: Object, volume_rejection: Callable[[Object], str | None]) -> Nomination:
        """Decides which pods, if any, are preempted for a pod that fits nowhere."""
        node = nominated_node(pod)
        if pod["spec"].get("preemptionPolicy") == "Never" or (
            node and preemption.is_preemption_in_progress(pod, self._cache, node)
        ):
            return Nomination()
        candidate = self._find_candidate(pod, volume_rejection)
        if candidate is None:
            self._cache.remove_nomination(pod)
            return Nomination("")
        self._cache.nominate(pod, candidate.node)
        return Nomination(candidate.node, candidate.victims)

    def _find_candidate(self, pod: Object, volume_rejection: Callable[[Object], str | None]) -> Candidate | None:
        requirements_on = functools.partial(
            decide.pod_requirements, pod, namespace_labels=self._namespace_labels, volume_rejection=volume_rejection
        )
        return preemption.find_candidate(self._cache, requirements_on, self._budgets)

    async def evict_victims(self, pod: Object, nomination: Nomination) -> None:
        """Evicts the victims. Pods of a lower priority that are nominated for the same node lose their nomination."""
        failures = await for_each(list(nomination.victims), functools.partial(self._evict, pod, nomination.node or ""))
        lower_priority = [
            nominated
            for nominated in self._cache.nominated_pods(nomination.node or "")
            if priority_of(nominated) < priority_of(pod) and counts_for(pod, nominated)
        ]
        failures += await for_each(lower_priority, self._clear_nomination)
        for failure in failures:
            raise failure

    async def _evict(self, pod: Object, node: str, victim: Object) -> None:
        current = self._pods.get(name_of(victim))
        if current is None or current["metadata"]["uid"] != victim["metadata"]["uid"] or is_deleting(current):
            return
        scheduler_name = pod["spec"].get("schedulerName") or ""
        new_condition = conditions.new_condition(
            "DisruptionTarget", "True", reason=REASON, message=f"{scheduler_name}: preempting to accommodate a higher priority pod"
        )
        condition = {**conditions.for_pod(current, new_condition), "lastTransitionTime": format_time(self._clock.now())}
        if await self._patch_status(current, {"conditions": [condition]}):
            await self._pods.delete(current)
            self._record_event(current, "Normal", "Preempted", message=f"Preempted by pod {pod['metadata']['uid']} on node {node}")

    async def _clear_nomination(self, pod: Object) -> None:
        self._cache.remove_nomination(pod)
        await self._patch_status(pod, {"nominatedNodeName": None})

    async def _patch_status(self, pod: Object, status: Object) -> bool:
        """Patches the pod's status. Returns whether the pod still exists."""
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        try:
            await self._pods.patch(name_of(pod), patch, "status", media=STRATEGIC_MERGE_PATCH)
        except (errors.Conflict, errors.NotFound):
            return False
        return True
