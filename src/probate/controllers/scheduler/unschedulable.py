"""What a pod is told that goes nowhere now: why, and for which node it is nominated, if others leave that for it."""

from __future__ import annotations

from probate.api.timestamps import timestamp
from probate.client.informers import name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Object
from probate.client.resources import PODS
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.core import errors


class Refusals:
    """Writes them down."""

    def __init__(self, means: Means, tell: Voice) -> None:
        self._clock, self._tell = means.clock, tell
        self._pods = means.informers.of(PODS)

    async def write(self, pod: Object, why: str, node: str | None) -> None:
        """Say so in the pod's status, unless that is known. `node`: None leaves the nomination as it is, "" is none."""
        before = conditions.find((pod.get("status") or {}).get("conditions") or [], "PodScheduled") or {}
        nominated = {} if node in (None, nominated_node(pod)) else {"nominatedNodeName": node or None}
        is_known = (before.get("status"), before.get("message")) == ("False", why)
        if is_known and not nominated:
            return
        new = conditions.of_pod(pod, conditions.made("PodScheduled", "False", "Unschedulable", why))
        since = before.get("lastTransitionTime") if before.get("status") == "False" else timestamp(self._clock.now())
        status = {**nominated, "conditions": [{**new, "lastTransitionTime": since}]}
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        try:
            await self._pods.patch(name_of(pod), change, "status", media=STRATEGIC_MERGE_PATCH)
        except (errors.Conflict, errors.NotFound):
            return  # it is gone
        if not is_known:
            self._tell(pod, "Warning", "FailedScheduling", why)


def nominated_node(pod: Object) -> str:
    """The node that the pod is nominated for; empty if there is none."""
    name: str = (pod.get("status") or {}).get("nominatedNodeName") or ""
    return name
