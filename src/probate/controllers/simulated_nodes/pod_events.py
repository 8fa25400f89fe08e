"""The events that a kubelet records about its pods: images that were pulled or not, containers that were created, started and
stopped.

A kubelet limits its events per second. Here all nodes share one limit: of thousands of pods that start at once, about the first
hundred get events. A user who looks at single pods misses none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probate.api.objects import Object
from probate.client.resources import node_name_of
from probate.controllers.runtime.event_recorder import EventRecord, EventRecorder
from probate.core.clock import Clock

COMPONENT = "kubelet"
BURST = 300.0
EVENTS_PER_SECOND = 20.0


class KubeletEvents:
    """Records the events of all simulated nodes."""

    def __init__(self, events: EventRecorder, clock: Clock) -> None:
        self._events, self._clock = events, clock
        self._tokens, self._refilled_at = BURST, clock.monotonic()

    def record(self, pod: Object, type_: str, reason: str, *, message: str) -> None:
        """Records an event about a pod, unless the rate limit is exceeded."""
        if not self._is_allowed():
            return
        self._tokens -= 1
        self._events.record(EventRecord(COMPONENT, "v1", "Pod", pod, type_, reason, message, node_name_of(pod)))

    def record_status_change(self, pod: Object, before: Object) -> None:
        """Records the events that follow from a change of the pod's status."""
        if self._is_allowed():
            for type_, reason, message in _status_events(pod["status"], before):
                self.record(pod, type_, reason, message=message)

    def record_stop(self, pod: Object) -> None:
        """Records that the pod's containers are being stopped."""
        for status in _all_statuses(pod.get("status") or {}):
            if "running" in status["state"]:
                self.record(pod, "Normal", "Killing", message=f"Stopping container {status['name']}")

    def _is_allowed(self) -> bool:
        now = self._clock.monotonic()
        self._tokens = min(BURST, self._tokens + (now - self._refilled_at) * EVENTS_PER_SECOND)
        self._refilled_at = now
        return self._tokens >= 1


def _all_statuses(status: Object) -> Iterable[Object]:
    fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return (container_status for field in fields for container_status in status.get(field) or ())


def _status_events(status: Object, before: Object) -> Iterator[tuple[str, str, str]]:
    previous_by_name = {container_status["name"]: container_status for container_status in _all_statuses(before)}
    for container_status in _all_statuses(status):
        previous = previous_by_name.get(container_status["name"]) or {"state": {}}
        is_new = previous.get("containerID") != container_status.get("containerID")
        if is_new and "waiting" not in container_status["state"]:
            yield "Normal", "Pulled", f'Container image "{container_status["image"]}" already present on machine'
            yield "Normal", "Created", f"Container created: {container_status['name']}"
            yield "Normal", "Started", f"Container started: {container_status['name']}"
        yield from _waiting_events(container_status, previous)


def _waiting_events(container_status: Object, previous: Object) -> Iterator[tuple[str, str, str]]:
    waiting = container_status["state"].get("waiting") or {}
    if waiting.get("reason") == (previous["state"].get("waiting") or {}).get("reason"):
        return
    match waiting.get("reason"):
        case "ErrImagePull":
            yield "Warning", "Failed", f'Failed to pull image "{container_status["image"]}"'
            yield "Warning", "Failed", "Error: ErrImagePull"
        case "ImagePullBackOff":
            yield "Normal", "BackOff", f'Back-off pulling image "{container_status["image"]}"'
            yield "Warning", "Failed", "Error: ImagePullBackOff"
        case "CrashLoopBackOff":
            yield "Warning", "BackOff", f"Back-off restarting failed container {container_status['name']}"
