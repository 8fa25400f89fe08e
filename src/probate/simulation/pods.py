"""What simulated nodes do with their pods: let them start, run and end, and take them away when they are deleted.

`life` decides; this is what carries it out. Objects tell time in whole seconds. So that delays are exact all the same, the moments
at which this process saw or did something are remembered for as long as the pod is there; after a restart the seconds have to do.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable

from probate.client.objects import Object
from probate.control.informers import Name, name_of
from probate.control.kinds import NODES, PODS, is_finished, node_of
from probate.control.means import Means
from probate.control.workers import Workers
from probate.machinery.moments import seconds, timestamp
from probate.simulation import life, script, statuses, words
from probate.simulation.life import Step
from probate.simulation.statuses import Place

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
        if old is None or not node_of(old) or _is_told_to_end(old, new):
            self._note(new)
        self.workers.add(name_of(new))

    def _forget(self, pod: Object) -> None:
        self._moments.pop(pod["metadata"]["uid"], None)
        self._addresses.forget(pod)
        peers = self._on.get(node_of(pod), {})
        peers.pop(name_of(pod), None)
        if not peers:
            self._on.pop(node_of(pod), None)

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        if new is None or not words.is_simulated(new):
            return
        cidrs = [(one or {"spec": {}})["spec"].get("podCIDR") for one in (old, new)]
        if old is None or words.is_silent(old) != words.is_silent(new) or cidrs[0] != cidrs[1]:
            for name in self._on.get(new["metadata"]["name"], ()):
                self.workers.add(name)

    async def _sync(self, name: Name) -> float | None:
        pod = self._pods.get(name)
        node = self._nodes.get(Name("", node_of(pod))) if pod is not None and node_of(pod) else None
        if pod is None or node is None or not words.is_simulated(node) or words.is_silent(node) or not node["spec"].get("podCIDR"):
            return None
        told, exactly = script.of(pod, self._settings), self._exactly(pod)
        step = life.step(pod, told, exactly, self._clock.now())
        pod = await self._describe(pod, node, step, is_ready=told.is_ready)
        if step.is_over and pod["metadata"].get("deletionGracePeriodSeconds"):
            await self._pods.delete(pod, grace=0)
        return step.wait

    async def _describe(self, pod: Object, node: Object, step: Step, *, is_ready: bool) -> Object:
        """Write down how the pod is, unless that is known or there is nothing to tell yet."""
        if step.state.doing == "nothing" or is_finished(pod):
            return pod
        now, began = self._clock.now(), timestamp(life.bound_at(pod, self._exactly(pod)))
        place = self._place(pod, node)
        new = statuses.status(pod, step.state, place, is_ready=is_ready, began=began, now=timestamp(now))
        if new == pod.get("status"):
            return pod
        self._note(pod)
        return await self._pods.update({**pod, "status": new}, "status")

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


class Addresses:
    """Which addresses pods have."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # uids of pods, by address
        self._last: dict[str, int] = {}  # which address of a block was given last

    def take(self, pod: Object) -> None:
        address = (pod.get("status") or {}).get("podIP")
        if address and not pod["spec"].get("hostNetwork"):
            if is_finished(pod):
                self.forget(pod)
            else:
                self._taken[address] = pod["metadata"]["uid"]

    def forget(self, pod: Object) -> None:
        address = (pod.get("status") or {}).get("podIP")
        if address and self._taken.get(address) == pod["metadata"]["uid"]:
            del self._taken[address]

    def give(self, pod: Object, block: str) -> str:
        """An address that no pod has, and that none had a moment ago. If there is none, one more pod has the last."""
        network = ipaddress.ip_network(block)
        room = network.num_addresses - 2
        for _ in range(room):
            self._last[block] = self._last.get(block, 0) % room + 1
            address = str(network.network_address + self._last[block])
            if address not in self._taken:
                break
        self._taken[address] = pod["metadata"]["uid"]
        return address


def _is_told_to_end(old: Object, new: Object) -> bool:
    fields = ("deletionTimestamp", "deletionGracePeriodSeconds")
    return any(old["metadata"].get(field) != new["metadata"].get(field) for field in fields)
