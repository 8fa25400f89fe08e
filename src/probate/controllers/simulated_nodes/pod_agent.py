"""What simulated nodes do with their pods: start them, run them, end them, and delete them when they are terminated.

`pod_lifecycle` decides; this module applies the decisions. Timestamps in objects have a resolution of one second. To keep delays
exact, this process remembers the exact times at which it saw or changed a pod, for as long as the pod exists; after a restart it
uses the whole seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.client.informers import NamespacedName, name_of
from probate.client.resources import NODES, PODS, is_deleting, is_pod_finished, node_name_of
from probate.controllers.runtime import pod_resources
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.simulated_nodes import pod_behavior, pod_lifecycle, pod_resize, pod_status, simulation_annotations
from probate.controllers.simulated_nodes.pod_addresses import PodAddresses
from probate.controllers.simulated_nodes.pod_admission import NodeAllocations
from probate.controllers.simulated_nodes.pod_behavior import PodBehavior
from probate.controllers.simulated_nodes.pod_events import KubeletEvents
from probate.controllers.simulated_nodes.pod_lifecycle import LifecycleStep
from probate.controllers.simulated_nodes.pod_resize import Grant
from probate.controllers.simulated_nodes.pod_status import PodIPs, StatusInputs

MAX_TIMES_PER_POD = 4
"""The number of exact times that are remembered of one pod."""
CONCURRENT_PODS = 50


def start(context: Context) -> list[Workers]:
    """Returns the worker queue of the pods, or none if the server simulates no nodes."""
    return [PodAgent(context).workers] if context.settings.nodes else []


class PodAgent:
    """Runs the pods of all simulated nodes."""

    def __init__(self, context: Context) -> None:
        self._clock, self._settings = context.clock, context.settings
        self._pods = context.informers.for_resource(PODS)
        self._nodes = context.informers.for_resource(NODES)
        self._pods_by_node: dict[str, dict[NamespacedName, None]] = {}  # by the name of the node
        self._exact_times: dict[str, list[float]] = {}  # by uid
        self._addresses = PodAddresses()
        self._allocations = NodeAllocations()
        self._deferred: dict[
            str, dict[NamespacedName, None]
        ] = {}  # pods whose resize waits for resources, by the name of their node
        self._events = KubeletEvents(context.events, context.clock)
        self.workers = Workers("simulated pods", self._sync, context.clock, at_once=CONCURRENT_PODS)
        self._pods.add_event_handler(self._on_pod_change)
        self._nodes.add_event_handler(self._on_node_change)

    def _on_pod_change(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._forget(old)
        if new is None or not node_name_of(new):
            return
        self._pods_by_node.setdefault(node_name_of(new), {})[name_of(new)] = None
        self._addresses.observe(new)
        self._update_allocation(new)
        if old is not None and is_deleting(new) and not is_deleting(old) and self._active_node(new) is not None:
            self._events.record_stop(new)
        if old is None or not node_name_of(old) or _is_deletion_changed(old, new):
            self._remember_time(new)
        self.workers.add(name_of(new))

    def _update_allocation(self, pod: Object) -> None:
        """Updates the allocation: a started pod has one until it is finished."""
        if is_pod_finished(pod):
            self._release_allocation(pod)
        elif (pod.get("status") or {}).get("startTime") and not self._allocations.is_admitted(pod):
            self._allocations.add(pod)

    def _release_allocation(self, pod: Object) -> None:
        if self._allocations.remove(pod):
            for name in self._deferred.pop(node_name_of(pod), ()):
                self.workers.add(name)

    def _forget(self, pod: Object) -> None:
        self._exact_times.pop(pod["metadata"]["uid"], None)
        self._addresses.release(pod)
        self._release_allocation(pod)
        peers = self._pods_by_node.get(node_name_of(pod), {})
        peers.pop(name_of(pod), None)
        if not peers:
            self._pods_by_node.pop(node_name_of(pod), None)

    def _on_node_change(self, old: Object | None, new: Object | None) -> None:
        if new is None or not simulation_annotations.is_simulated(new):
            return
        cidrs = [(node or {"spec": {}})["spec"].get("podCIDR") for node in (old, new)]
        if old is None or simulation_annotations.is_silent(old) != simulation_annotations.is_silent(new) or cidrs[0] != cidrs[1]:
            for name in self._pods_by_node.get(new["metadata"]["name"], ()):
                self.workers.add(name)

    async def _sync(self, name: NamespacedName) -> float | None:
        pod = self._pods.get(name)
        node = self._active_node(pod) if pod is not None else None
        if pod is None or node is None or not node["spec"].get("podCIDR"):
            return None
        behavior, exact_time = pod_behavior.behavior_of(pod, self._settings), self._exact_time_of(pod)
        step = pod_lifecycle.next_step(pod, behavior, exact_time, now=self._clock.now())
        if step.state.activity in {"running", "pull_failed"} and not self._allocations.is_admitted(pod):
            rejection = self._allocations.admit(pod, node)
            if rejection is not None:
                await self._reject(pod, *rejection)
                return None
        pod = await self._update_status(pod, node, step, behavior=behavior)
        if step.is_removable and pod["metadata"].get("deletionGracePeriodSeconds"):
            await self._pods.delete(pod, grace=0)
        return step.requeue_after

    def _active_node(self, pod: Object) -> Object | None:
        """Returns the pod's node if it is simulated and not silent."""
        node = self._nodes.get(NamespacedName("", node_name_of(pod))) if node_name_of(pod) else None
        return (
            node
            if node is not None and simulation_annotations.is_simulated(node) and not simulation_annotations.is_silent(node)
            else None
        )

    async def _reject(self, pod: Object, reason: str, message: str) -> None:
        status = pod_status.rejected_status(pod, reason=reason, message=message, now=format_time(self._clock.now()))
        self._events.record(await self._pods.update({**pod, "status": status}, "status"), "Warning", reason, message=message)

    async def _update_status(self, pod: Object, node: Object, step: LifecycleStep, *, behavior: PodBehavior) -> Object:
        """Writes the pod's status, unless it is unchanged or the pod has not started."""
        if step.state.activity == "not_started" or is_pod_finished(pod):
            return pod
        now, bound_at = format_time(self._clock.now()), format_time(pod_lifecycle.bound_at(pod, self._exact_time_of(pod)))
        inputs = StatusInputs(
            self._pod_ips(pod, node), behavior.is_ready, behavior.unpullable, self._grant(pod, node), bound_at, now
        )
        before = pod.get("status") or {}
        status = pod_status.status(pod, step.state, inputs)
        if status == before:
            return pod
        self._remember_time(pod)
        written = await self._pods.update({**pod, "status": status}, "status")
        self._events.record_status_change(written, before)
        return written

    def _grant(self, pod: Object, node: Object) -> Grant:
        """Returns the resources of the pod, which may have requested a resize."""
        desired, allocated = pod_resize.desired_resources(pod), pod_resize.allocated_resources(pod)
        if all(allocated.get(name, resources) == resources for name, resources in desired.items()):
            return Grant(desired)
        grant = pod_resize.decide(pod, pod_resources.of_node(node), self._allocations.used_by_others(pod))
        if not grant.reason:
            self._allocations.add(pod)
        elif grant.reason == pod_resize.DEFERRED:
            self._deferred.setdefault(node_name_of(pod), {})[name_of(pod)] = None
        return grant

    def _pod_ips(self, pod: Object, node: Object) -> PodIPs:
        addresses = (node.get("status") or {}).get("addresses") or ()
        host_ip = next((address["address"] for address in addresses if address["type"] == "InternalIP"), "")
        pod_ip = (pod.get("status") or {}).get("podIP")
        if pod["spec"].get("hostNetwork"):
            return PodIPs(host_ip, host_ip)
        return PodIPs(host_ip, pod_ip or self._addresses.allocate(pod, node["spec"]["podCIDR"]))

    def _remember_time(self, pod: Object) -> None:
        """Remembers the current time as the exact time of a change of the pod."""
        times = self._exact_times.setdefault(pod["metadata"]["uid"], [])
        times.append(self._clock.now())
        del times[:-MAX_TIMES_PER_POD]

    def _exact_time_of(self, pod: Object) -> Callable[[str], float]:
        times = self._exact_times.get(pod["metadata"]["uid"], [])

        def exact_time(text: str) -> float:
            second = parse_time(text)
            return next((time for time in reversed(times) if math.floor(time) == second), second)

        return exact_time


def _is_deletion_changed(old: Object, new: Object) -> bool:
    fields = ("deletionTimestamp", "deletionGracePeriodSeconds")
    return any(old["metadata"].get(field) != new["metadata"].get(field) for field in fields)
