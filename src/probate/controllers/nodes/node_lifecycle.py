"""Taints nodes that stopped reporting, so that taint eviction deletes their pods.

Every heartbeat, in the status or the Lease, restarts the node's timer, by our own clock. When it runs out, the node counts as
unreachable at once. Nodes are tainted for eviction one after the other, and not at all when all zones are fully disrupted: then it
is more likely that the server cannot reach them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.timestamps import format_time, parse_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH
from probate.client.resources import LEASES, NODES, PODS, node_name_of
from probate.controllers.nodes import node_health
from probate.controllers.nodes.node_health import Disruption, EvictionRates, Zone
from probate.controllers.runtime import conditions, remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.parallel_requests import for_each
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.core.metrics import Registry
from probate.settings import Settings

COMPONENT = "node-controller"
LEASE_NAMESPACE = "kube-node-lease"


class Heartbeat(NamedTuple):
    """A node's last heartbeat: the times in its status and its Lease, and when they changed by our clock."""

    node: Object
    times: tuple[str, str]
    received_at: float


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [NodeLifecycle(context).workers]


class NodeLifecycle:
    """Monitors all nodes."""

    def __init__(self, context: Context) -> None:
        self._clock, self._settings = context.clock, context.settings
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Node")
        self._record_pod_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Pod")
        self._rates = _eviction_rates(context.settings)
        self._nodes = context.informers.for_resource(NODES)
        self._leases = context.informers.for_resource(LEASES)
        self._pods = context.informers.for_resource(PODS)
        self._heartbeats: dict[str, Heartbeat] = {}  # by node name
        self._evicted_at: dict[str, float] = {}  # when a node of the zone was last tainted for eviction
        self._readiness: dict[str, str] = {}  # that pods were last marked for, by node name
        self.workers = Workers(COMPONENT, self._sync, context.clock, at_once=1)
        self._nodes.add_event_handler(self._on_node)
        self._leases.add_event_handler(self._on_lease)
        self._evictions = context.metrics.counter("node_collector_evictions", "Nodes that were tainted for eviction.", ("zone",))
        self._add_gauge("zone_size", "Nodes of a zone.", lambda zone: zone.size, metrics=context.metrics)
        self._add_gauge(
            "unhealthy_nodes_in_zone", "Nodes of a zone that are not ready.", lambda zone: zone.unready, metrics=context.metrics
        )
        self._add_gauge(
            "zone_health",
            "Ready nodes of a zone, in percent.",
            lambda zone: 100 - 100 * zone.unready / zone.size,
            metrics=context.metrics,
        )

    def _add_gauge(self, name: str, help_: str, read: Callable[[Zone], float], *, metrics: Registry) -> None:
        def now() -> dict[tuple[str | int, ...], float]:
            return {(key,): read(zone) for key, zone in node_health.zones(self._nodes).items() if zone.size}

        metrics.gauges(f"node_collector_{name}", help_, ("zone",), read=now)

    def _on_node(self, old: Object | None, new: Object | None) -> None:
        changed = new or old
        if changed is not None:
            self.workers.add(name_of(changed))
        if old is None or new is None or node_health.readiness(old) != node_health.readiness(new):
            for node in self._nodes:  # the eviction rate depends on all nodes of the zone
                if node_health.no_execute_taint(node):
                    self.workers.add(name_of(node))

    def _on_lease(self, _: Object | None, new: Object | None) -> None:
        if new is not None and new["metadata"]["namespace"] == LEASE_NAMESPACE:
            self.workers.add(NamespacedName("", new["metadata"]["name"]))

    async def _sync(self, name: NamespacedName) -> Result:
        node = self._nodes.get(name)
        last = self._heartbeats.get(name.name)
        if last is not None and (node is None or node["metadata"]["uid"] != last.node["metadata"]["uid"]):
            self._record_event(last.node, "Normal", "RemovingNode", message=f"Removing Node {name.name} from Controller")
            del self._heartbeats[name.name]
            self._readiness.pop(name.name, None)
        if node is None:
            return None
        is_new = name.name not in self._heartbeats
        if is_new:
            self._record_event(node, "Normal", "RegisteredNode", message=f"Registered Node {name.name} in Controller")
        left = self._left(node)
        if not left:
            node = await self._mark_unknown(node)
        await self._mark_pods_unready(node)
        eviction_wait = await self._taint(node, is_new=is_new)
        return min((seconds_ for seconds_ in (left, eviction_wait) if seconds_), default=None)

    def _left(self, node: Object) -> float:
        """Returns in how many seconds the node becomes unreachable; 0 if it is. (NODE-2, NODE-3)"""
        name, now = node["metadata"]["name"], self._clock.monotonic()
        lease = self._leases.get(NamespacedName(LEASE_NAMESPACE, name)) or {}
        ready = conditions.find(node_health.conditions_of(node), "Ready")
        is_lost = ready is not None and ready["status"] == "Unknown"
        status_time = "" if ready is None else ready.get("lastHeartbeatTime") or ""
        times = (status_time, (lease.get("spec") or {}).get("renewTime") or "")
        before = self._heartbeats.get(name)
        if before is None and ready is None and not times[1]:
            received_at = now - max(0.0, self._clock.now() - parse_time(node["metadata"]["creationTimestamp"]))
        else:
            received_at = now if before is None or before.times != times else before.received_at
        self._heartbeats[name] = Heartbeat(node, times, received_at)
        grace = self._settings.node_startup_grace_period if ready is None else self._settings.node_monitor_grace_period
        left = remaining_time.until(received_at + grace, now)
        return 0.0 if is_lost and not left else left

    async def _mark_unknown(self, node: Object) -> Object:
        """Sets the conditions of a node that stopped reporting to Unknown."""
        new = node_health.unknown_conditions(node, format_time(self._clock.now()))
        if new == node_health.conditions_of(node):
            return node
        return await self._nodes.update({**node, "status": {**(node.get("status") or {}), "conditions": new}}, "status")

    async def _mark_pods_unready(self, node: Object) -> None:
        """Marks the pods of a node as not ready when the node stops being ready. (NODE-6)"""
        name, readiness = node["metadata"]["name"], node_health.readiness(node)
        before = self._readiness.get(name)
        self._readiness[name] = readiness
        if readiness not in node_health.NO_EXECUTE_TAINTS:
            return
        if before == "True":
            self._record_event(node, "Normal", "NodeNotReady", message=f"Node {name} status is now: NodeNotReady")
        pods = [pod for pod in self._pods if node_name_of(pod) == name and _is_ready(pod)]
        failures = await for_each(pods, self._mark_pod_unready)
        if failures:
            raise ExceptionGroup(f"pods of {name} could not be marked as not ready", failures)

    async def _mark_pod_unready(self, pod: Object) -> None:
        ready = conditions.new_condition("Ready", "False", reason="NodeNotReady", message="the pod's node is not ready")
        change = {"conditions": [{**ready, "lastTransitionTime": format_time(self._clock.now())}]}
        uid = pod["metadata"]["uid"]
        await self._pods.patch(name_of(pod), {"metadata": {"uid": uid}, "status": change}, "status", media=STRATEGIC_MERGE_PATCH)
        self._record_pod_event(pod, "Warning", "NodeNotReady", message="Node is not ready")

    async def _taint(self, node: Object, *, is_new: bool) -> Result:
        """Writes the node's taints. Returns in how many seconds it may be tainted for eviction, if not now. (NODE-4, NODE-5)"""
        zone, now = node_health.zone_of(node), self._clock.monotonic()
        no_execute, wait = node_health.no_execute_taint(node), None
        if no_execute and self._are_all_zones_down():
            no_execute = ""
        elif no_execute and (is_new or not node_health.has_no_execute_taint(node)):
            wait = self._eviction_wait(zone, now)
            no_execute = "" if wait is None or wait > 0 else no_execute
        taints = node_health.taints(node, no_execute, format_time(self._clock.now()))
        if taints != (node["spec"].get("taints") or []):
            is_evicted = bool(no_execute) and not node_health.has_no_execute_taint(node)
            await self._nodes.update({**node, "spec": {**node["spec"], "taints": taints}})
            if is_evicted:
                self._evicted_at[zone] = now
                self._evictions[zone,] += 1
        return wait

    def _eviction_wait(self, zone: str, now: float) -> float | None:
        """Returns in how many seconds the next node of the zone may be tainted for eviction; None if none may."""
        found = node_health.zones(self._nodes).get(zone)
        rate = found.eviction_rate(self._rates) if found is not None else 0.0
        if rate <= 0:
            return None
        return remaining_time.until(self._evicted_at[zone] + 1 / rate, now) if zone in self._evicted_at else 0.0

    def _are_all_zones_down(self) -> bool:
        zones = [zone for zone in node_health.zones(self._nodes).values() if zone.size]
        return bool(zones) and all(zone.disruption(self._rates.unhealthy_threshold) is Disruption.FULL for zone in zones)


def _eviction_rates(settings: Settings) -> EvictionRates:
    return EvictionRates(
        settings.node_eviction_rate,
        settings.secondary_node_eviction_rate,
        settings.large_cluster_size_threshold,
        settings.unhealthy_zone_threshold,
    )


def _is_ready(pod: Object) -> bool:
    return conditions.is_true((pod.get("status") or {}).get("conditions") or [], "Ready")
