"""Reports unschedulable pods: the PodScheduled condition, the nomination and the event."""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH
from probate.client.resources import PODS
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.core import errors


class UnschedulableReporter:
    """Writes the status of unschedulable pods."""

    def __init__(self, context: Context, record_event: ObjectEventRecorder) -> None:
        self._clock, self._record_event = context.clock, record_event
        self._pods = context.informers.for_resource(PODS)

    async def report(self, pod: Object, message: str, node: str | None) -> None:
        """Patches the pod's status unless it says so already. `node`: None leaves the nomination unchanged, "" clears it."""
        before = conditions.find((pod.get("status") or {}).get("conditions") or [], "PodScheduled") or {}
        nominated = {} if node in (None, nominated_node(pod)) else {"nominatedNodeName": node or None}
        is_reported = (before.get("status"), before.get("message")) == ("False", message)
        if is_reported and not nominated:
            return
        condition = conditions.for_pod(
            pod, conditions.new_condition("PodScheduled", "False", reason="Unschedulable", message=message)
        )
        last_transition_time = (
            before.get("lastTransitionTime") if before.get("status") == "False" else format_time(self._clock.now())
        )
        status = {**nominated, "conditions": [{**condition, "lastTransitionTime": last_transition_time}]}
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        try:
            await self._pods.patch(name_of(pod), patch, "status", media=STRATEGIC_MERGE_PATCH)
        except (errors.Conflict, errors.NotFound):
            return  # the pod was deleted
        if not is_reported:
            self._record_event(pod, "Warning", "FailedScheduling", message=message)


def nominated_node(pod: Object) -> str:
    """Returns the node that the pod is nominated for, or an empty string."""
    name: str = (pod.get("status") or {}).get("nominatedNodeName") or ""
    return name
