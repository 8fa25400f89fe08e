"""What simulated nodes do with their pods: let them start, run and end, and take them away when they are deleted.

`life` decides; this is what carries it out. Objects tell time in whole seconds. So that delays are exact all the same, the moments
at which this process saw or did something are remembered for as long as the pod is there; after a restart the seconds have to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from probate.api.timestamps import seconds, timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.client.resources import NODES, PODS, is_deleting, is_finished, node_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.simulated_nodes import annotations as simulated_node_annotations
from probate.controllers.simulated_nodes import pod_lifecycle, pod_resize, pod_script, pod_status
from probate.controllers.simulated_nodes.pod_addresses import Addresses
from probate.controllers.simulated_nodes.pod_admission import Rooms
from probate.controllers.simulated_nodes.pod_events import Voices
from probate.controllers.simulated_nodes.pod_lifecycle import Step
from probate.controllers.simulated_nodes.pod_resize import Grant
from probate.controllers.simulated_nodes.pod_script import Script
from probate.controllers.simulated_nodes.pod_status import Facts, Place

MOMENTS = 4
"""That are remembered of one pod."""
AT_ONCE = 50


def start(means: Means) -> list[Workers]:
    """The pods' worker. There is none if there are no nodes."""
    return [Pods(means).workers] if means.settings.nodes else []


class Pods:
    """Lets the pods of all simulated nodes live."""

    def __init__(self, means: Means) -> None:
        self._clock, self._settings = means.clock, means.settings
        self._pods = means.informers.of(PODS)
        self._nodes = means.informers.of(NODES)
        self._on: dict[str, dict[Name, None]] = {}  # pods, by the name of their node
        self._moments: dict[str, list[float]] = {}  # by uid
        self._addresses = Addresses()
        self._rooms = Rooms()
        self._deferred: dict[str, dict[Name, None]] = {}  # pods that wait for more resources, by the name of their node
        self._voices = Voices(means.events, means.clock)
        self.workers = Workers("simulated pods", self._sync, means.clock, at_once=AT_ONCE)
        self._pods.listen(self._take_pod)
        self._nodes.listen(self._take_node)

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._forget(old)
        if new is None or not node_of(new):
            return
        self._on.setdefault(node_of(new), {})[name_of(new)] = None
        self._addresses.take(new)
        self._take_room(new)
        if old is not None and is_deleting(new) and not is_deleting(old) and self._living(new) is not None:
            self._voices.tell_of_end(new)
        if old is None or not node_of(old) or _is_told_to_end(old, new):
            self._note(new)
        self.workers.add(name_of(new))

    def _take_room(self, pod: Object) -> None:
        """A pod that has begun has what it takes, until it has ended."""
        if is_finished(pod):
            self._leave_room(pod)
        elif (pod.get("status") or {}).get("startTime") and not self._rooms.has(pod):
            self._rooms.put(pod)

    def _leave_room(self, pod: Object) -> None:
        if self._rooms.drop(pod):
            for name in self._deferred.pop(node_of(pod), ()):
                self.workers.add(name)

    def _forget(self, pod: Object) -> None:
        self._moments.pop(pod["metadata"]["uid"], None)
        self._addresses.forget(pod)
        self._leave_room(pod)
        peers = self._on.get(node_of(pod), {})
        peers.pop(name_of(pod), None)
        if not peers:
            self._on.pop(node_of(pod), None)

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        if new is None or not simulated_node_annotations.is_simulated(new):
            return
        cidrs = [(one or {"spec": {}})["spec"].get("podCIDR") for one in (old, new)]
        if (
            old is None
            or simulated_node_annotations.is_silent(old) != simulated_node_annotations.is_silent(new)
            or cidrs[0] != cidrs[1]
        ):
            for name in self._on.get(new["metadata"]["name"], ()):
                self.workers.add(name)

    async def _sync(self, name: Name) -> float | None:
        pod = self._pods.get(name)
        node = self._living(pod) if pod is not None else None
        if pod is None or node is None or not node["spec"].get("podCIDR"):
            return None
        told, exactly = pod_script.of(pod, self._settings), self._exactly(pod)
        step = pod_lifecycle.step(pod, told, exactly, self._clock.now())
        if step.state.doing in {"run", "pull"} and not self._rooms.has(pod):
            refusal = self._rooms.take(pod, node)
            if refusal is not None:
                await self._refuse(pod, *refusal)
                return None
        pod = await self._describe(pod, node, step, told)
        if step.is_over and pod["metadata"].get("deletionGracePeriodSeconds"):
            await self._pods.delete(pod, grace=0)
        return step.wait

    def _living(self, pod: Object) -> Object | None:
        """The pod's node, if it is simulated and does something."""
        node = self._nodes.get(Name("", node_of(pod))) if node_of(pod) else None
        return (
            node
            if node is not None and simulated_node_annotations.is_simulated(node) and not simulated_node_annotations.is_silent(node)
            else None
        )

    async def _refuse(self, pod: Object, reason: str, message: str) -> None:
        status = pod_status.refused(pod, reason, message, timestamp(self._clock.now()))
        self._voices.tell(await self._pods.update({**pod, "status": status}, "status"), "Warning", reason, message)

    async def _describe(self, pod: Object, node: Object, step: Step, told: Script) -> Object:
        """Write down how the pod is, unless that is known or there is nothing to tell yet."""
        if step.state.doing == "nothing" or is_finished(pod):
            return pod
        now, began = timestamp(self._clock.now()), timestamp(pod_lifecycle.bound_at(pod, self._exactly(pod)))
        facts = Facts(self._place(pod, node), told.is_ready, told.lacking, self._grant(pod, node), began, now)
        before = pod.get("status") or {}
        new = pod_status.status(pod, step.state, facts)
        if new == before:
            return pod
        self._note(pod)
        written = await self._pods.update({**pod, "status": new}, "status")
        self._voices.tell_of_change(written, before)
        return written

    def _grant(self, pod: Object, node: Object) -> Grant:
        """The resources of the pod, which may have asked for others."""
        wanted, given = pod_resize.wanted(pod), pod_resize.given(pod)
        if all(given.get(name, wish) == wish for name, wish in wanted.items()):
            return Grant(wanted)
        grant = pod_resize.decide(pod, pod_resources.of_node(node), self._rooms.taken(pod))
        if not grant.reason:
            self._rooms.put(pod)
        elif grant.reason == pod_resize.DEFERRED:
            self._deferred.setdefault(node_of(pod), {})[name_of(pod)] = None
        return grant

    def _place(self, pod: Object, node: Object) -> Place:
        addresses = (node.get("status") or {}).get("addresses") or ()
        host = next((one["address"] for one in addresses if one["type"] == "InternalIP"), "")
        known = (pod.get("status") or {}).get("podIP")
        if pod["spec"].get("hostNetwork"):
            return Place(host, host)
        return Place(host, known or self._addresses.give(pod, node["spec"]["podCIDR"]))

    def _note(self, pod: Object) -> None:
        """Something happened to the pod at this moment."""
        moments = self._moments.setdefault(pod["metadata"]["uid"], [])
        moments.append(self._clock.now())
        del moments[:-MOMENTS]

    def _exactly(self, pod: Object) -> Callable[[str], float]:
        moments = self._moments.get(pod["metadata"]["uid"], [])

        def exactly(told: str) -> float:
            second = seconds(told)
            return next((moment for moment in reversed(moments) if math.floor(moment) == second), second)

        return exactly


def _is_told_to_end(old: Object, new: Object) -> bool:
    fields = ("deletionTimestamp", "deletionGracePeriodSeconds")
    return any(old["metadata"].get(field) != new["metadata"].get(field) for field in fields)
