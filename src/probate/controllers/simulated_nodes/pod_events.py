"""What simulated nodes tell people about their pods, as kubelets do: images that were pulled or not, containers that were created,
started, and told to end.

A kubelet tells so many events in a second and no more. Here all nodes together do: of thousands of pods that start at once, the
first hundred or so are worth telling of, and whoever looks at one pod at a time misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probate.client.objects import Object
from probate.client.resources import node_of
from probate.controllers.runtime.event_recorder import Events, News
from probate.core.clock import Clock

COMPONENT = "kubelet"
BURST = 300.0
A_SECOND = 20.0


class Voices:
    """Tells what nodes have to tell."""

    def __init__(self, events: Events, clock: Clock) -> None:
        self._events, self._clock = events, clock
        self._left, self._since = BURST, clock.monotonic()

    def tell(self, pod: Object, type_: str, reason: str, message: str) -> None:
        """Tell people about a pod, unless too much was told lately."""
        if not self._may_speak():
            return
        self._left -= 1
        self._events.tell(News(COMPONENT, "v1", "Pod", pod, type_, reason, message, node_of(pod)))

    def tell_of_change(self, pod: Object, before: Object) -> None:
        """Tell what the pod's status says that it did not say before."""
        if self._may_speak():
            for type_, reason, message in _changes(pod["status"], before):
                self.tell(pod, type_, reason, message)

    def tell_of_end(self, pod: Object) -> None:
        """The pod's containers are told to end."""
        for one in _every(pod.get("status") or {}):
            if "running" in one["state"]:
                self.tell(pod, "Normal", "Killing", f"Stopping container {one['name']}")

    def _may_speak(self) -> bool:
        now = self._clock.monotonic()
        self._left = min(BURST, self._left + (now - self._since) * A_SECOND)
        self._since = now
        return self._left >= 1


def _every(status: Object) -> Iterable[Object]:
    fields = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    return (one for field in fields for one in status.get(field) or ())


def _changes(status: Object, before: Object) -> Iterator[tuple[str, str, str]]:
    known = {one["name"]: one for one in _every(before)}
    for one in _every(status):
        old = known.get(one["name"]) or {"state": {}}
        is_new = old.get("containerID") != one.get("containerID")
        if is_new and "waiting" not in one["state"]:
            yield "Normal", "Pulled", f'Container image "{one["image"]}" already present on machine'
            yield "Normal", "Created", f"Container created: {one['name']}"
            yield "Normal", "Started", f"Container started: {one['name']}"
        yield from _troubles(one, old)


def _troubles(one: Object, old: Object) -> Iterator[tuple[str, str, str]]:
    why = one["state"].get("waiting") or {}
    if why.get("reason") == (old["state"].get("waiting") or {}).get("reason"):
        return
    match why.get("reason"):
        case "ErrImagePull":
            yield "Warning", "Failed", f'Failed to pull image "{one["image"]}"'
            yield "Warning", "Failed", "Error: ErrImagePull"
        case "ImagePullBackOff":
            yield "Normal", "BackOff", f'Back-off pulling image "{one["image"]}"'
            yield "Warning", "Failed", "Error: ImagePullBackOff"
        case "CrashLoopBackOff":
            yield "Warning", "BackOff", f"Back-off restarting failed container {one['name']}"
