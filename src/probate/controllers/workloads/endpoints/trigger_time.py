"""Since when what is written about a Service has been so: by that time clients tell how long the news took to reach them.

It is the earliest of the times that are new: those at which its pods became ready, or not, and that at which it was made. Changes
for other reasons have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.controllers.runtime import conditions

CHANGED = "endpoints.kubernetes.io/last-change-trigger-time"


class _Known(NamedTuple):
    """What has been told: when the service was made, and since when each pod has been as it is."""

    made: str
    pods: dict[str, str]


class Triggers:
    """What one controller knows of the times of all services."""

    def __init__(self) -> None:
        self._known: dict[Name, _Known] = {}

    def note(self, service: Object, pods: Iterable[Object]) -> str:
        """The time to be told now, when the service and its pods are so; empty if there is none."""
        name, made = name_of(service), service["metadata"]["creationTimestamp"]
        now = {pod["metadata"]["name"]: since for pod in pods if (since := _since(pod))}
        before, self._known[name] = self._known.get(name), _Known(made, now)
        if before is None:
            return str(made)
        news = [since for pod, since in now.items() if since > before.pods.get(pod, "")]
        return min([*news, *([made] if made > before.made else [])], default="")

    def forget(self, name: Name) -> None:
        """The service is gone."""
        self._known.pop(name, None)


def dated(object_: Object, time: str) -> Object:
    """The object as it is to be written, with the time if there is one."""
    meta = dict(object_["metadata"])
    notes = {name: text for name, text in (meta.pop("annotations", None) or {}).items() if name != CHANGED}
    notes |= {CHANGED: time} if time else {}
    return {**object_, "metadata": {**meta, **({"annotations": notes} if notes else {})}}


def _since(pod: Object) -> str:
    """When the pod became ready, or not."""
    ready = conditions.find((pod.get("status") or {}).get("conditions") or [], "Ready") or {}
    return ready.get("lastTransitionTime") or ""
