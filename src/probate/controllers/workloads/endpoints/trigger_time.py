"""The last-change-trigger-time annotation, by which clients measure the latency of endpoint updates.

It is the earliest of the new times: those at which pods became ready or not ready, and the creation time of the Service. Changes
for other reasons get no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.controllers.runtime import conditions

LAST_CHANGE_TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


class _TriggerState(NamedTuple):
    """The last recorded state: when the Service was created, and since when each pod has its readiness."""

    created: str
    pods: dict[str, str]


class TriggerTimeTracker:
    """The recorded times of all Services, as seen by one controller."""

    def __init__(self) -> None:
        self._states: dict[NamespacedName, _TriggerState] = {}

    def compute(self, service: Object, pods: Iterable[Object]) -> str:
        """Returns the trigger time for this state of the Service and its pods, or an empty string if there is none."""
        name, created = name_of(service), service["metadata"]["creationTimestamp"]
        ready_since = {pod["metadata"]["name"]: since for pod in pods if (since := _ready_since(pod))}
        before, self._states[name] = self._states.get(name), _TriggerState(created, ready_since)
        if before is None:
            return str(created)
        new_times = [since for pod, since in ready_since.items() if since > before.pods.get(pod, "")]
        return min([*new_times, *([created] if created > before.created else [])], default="")

    def forget(self, name: NamespacedName) -> None:
        """Drops the entry of a deleted Service."""
        self._states.pop(name, None)


def with_trigger_time(object_: Object, time: str) -> Object:
    """Returns the object with the trigger time annotation, or without it if the time is empty."""
    metadata = dict(object_["metadata"])
    annotations = {
        name: text for name, text in (metadata.pop("annotations", None) or {}).items() if name != LAST_CHANGE_TRIGGER_TIME
    }
    annotations |= {LAST_CHANGE_TRIGGER_TIME: time} if time else {}
    return {**object_, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


def _ready_since(pod: Object) -> str:
    """Returns when the pod became ready or not ready."""
    ready = conditions.find((pod.get("status") or {}).get("conditions") or [], "Ready") or {}
    return ready.get("lastTransitionTime") or ""
