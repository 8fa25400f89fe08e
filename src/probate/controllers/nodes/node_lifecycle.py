"""Nodes: which of them are still there, by what is heard of them. Those that are not get taints; pods leave because of those.

Every sign of life, a status or a renewed Lease, sets the node's timer anew, by our own clock. When it runs out the node counts as
unreachable at that moment. Nodes are given up one after the other and not at all when everything seems to be away: then it is
rather we who cannot see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api.timestamps import seconds, timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import STRATEGIC_MERGE_PATCH, Object
from probate.client.resources import LEASES, NODES, PODS, node_of
from probate.controllers.nodes import node_health
from probate.controllers.nodes.node_health import Disruption, Pace, Zone
from probate.controllers.runtime import conditions, durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.parallel_requests import together
from probate.controllers.runtime.workers import Workers
from probate.core.metrics import Registry
from probate.settings import Settings

COMPONENT = "node-controller"
LEASE_NAMESPACE = "kube-node-lease"


class Sign(NamedTuple):
    """What was last heard of a node, and when."""

    node: Object
    heard: tuple[str, str]
    when: float


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [NodeLifecycle(means).workers]


class NodeLifecycle:
    """Watches over all nodes."""

    def __init__(self, means: Means) -> None:
        self._clock, self._settings = means.clock, means.settings
        self._tell = Voice(means.events, COMPONENT, "v1", "Node")
        self._of_pod = Voice(means.events, COMPONENT, "v1", "Pod")
        self._pace = _pace(means.settings)
        self._nodes = means.informers.of(NODES)
        self._leases = means.informers.of(LEASES)
        self._pods = means.informers.of(PODS)
        self._signs: dict[str, Sign] = {}  # by the node's name
        self._given_up: dict[str, float] = {}  # when a node of the zone was last given up
        self._readiness: dict[str, str] = {}  # as it was told last
        self.workers = Workers(COMPONENT, self._sync, means.clock, at_once=1)
        self._nodes.listen(self._take_node)
        self._leases.listen(self._take_lease)
        self._evictions = means.metrics.counter("node_collector_evictions", "Nodes whose pods were told to leave.", ("zone",))
        self._show("zone_size", "Nodes of a zone.", lambda zone: zone.size, means.metrics)
        self._show("unhealthy_nodes_in_zone", "Nodes of a zone that are not ready.", lambda zone: zone.unready, means.metrics)
        self._show(
            "zone_health", "Ready nodes of a zone, in percent.", lambda zone: 100 - 100 * zone.unready / zone.size, means.metrics
        )

    def _show(self, name: str, what: str, read: Callable[[Zone], float], metrics: Registry) -> None:
        def now() -> dict[tuple[str | int, ...], float]:
            return {(key,): read(zone) for key, zone in node_health.zones(self._nodes).items() if zone.size}

        metrics.gauges(f"node_collector_{name}", what, ("zone",), now)

    def _take_node(self, old: Object | None, new: Object | None) -> None:
        for one in (new, old):
            if one is not None:
                self.workers.add(name_of(one))
                break
        if old is None or new is None or node_health.readiness(old) != node_health.readiness(new):
            for node in self._nodes:  # what becomes of one depends on how the others are
                if node_health.executing_taint(node):
                    self.workers.add(name_of(node))

    def _take_lease(self, _: Object | None, new: Object | None) -> None:
        if new is not None and new["metadata"]["namespace"] == LEASE_NAMESPACE:
            self.workers.add(Name("", new["metadata"]["name"]))

    async def _sync(self, name: Name) -> float | None:
        node = self._nodes.get(name)
        known = self._signs.get(name.name)
        if known is not None and (node is None or node["metadata"]["uid"] != known.node["metadata"]["uid"]):
            self._tell(known.node, "Normal", "RemovingNode", f"Node {name.name} is gone")
            del self._signs[name.name]
            self._readiness.pop(name.name, None)
        if node is None:
            return None
        is_new = name.name not in self._signs
        if is_new:
            self._tell(node, "Normal", "RegisteredNode", f"Node {name.name} is watched from now on")
        left = self._left(node)
        if not left:
            node = await self._lose(node)
        await self._tell_pods(node)
        wait = await self._taint(node, is_new=is_new)
        return min((one for one in (left, wait) if one), default=None)

    def _left(self, node: Object) -> float:
        """For how many seconds the node is still believed in. (NODE-2, NODE-3)"""
        name, now = node["metadata"]["name"], self._clock.monotonic()
        lease = self._leases.get(Name(LEASE_NAMESPACE, name)) or {}
        ready = conditions.find(node_health.told(node), "Ready")
        is_lost = ready is not None and ready["status"] == "Unknown"
        beat = "" if ready is None else ready.get("lastHeartbeatTime") or ""
        heard = (beat, (lease.get("spec") or {}).get("renewTime") or "")
        before = self._signs.get(name)
        if before is None and ready is None and not heard[1]:
            when = now - max(0.0, self._clock.now() - seconds(node["metadata"]["creationTimestamp"]))
        else:
            when = now if before is None or before.heard != heard else before.when
        self._signs[name] = Sign(node, heard, when)
        grace = self._settings.node_startup_grace_period if ready is None else self._settings.node_monitor_grace_period
        left = durations.until(when + grace, now)
        return 0.0 if is_lost and not left else left

    async def _lose(self, node: Object) -> Object:
        """Nothing was heard of the node for too long."""
        told = node_health.unknown(node, timestamp(self._clock.now()))
        if told == node_health.told(node):
            return node
        return await self._nodes.update({**node, "status": {**(node.get("status") or {}), "conditions": told}}, "status")

    async def _tell_pods(self, node: Object) -> None:
        """When a node stops being ready its pods do too. (NODE-6)"""
        name, now = node["metadata"]["name"], node_health.readiness(node)
        before = self._readiness.get(name)
        self._readiness[name] = now
        if now not in node_health.EXECUTING:
            return
        if before == "True":
            self._tell(node, "Normal", "NodeNotReady", f"Node {name} is not ready any more")
        pods = [pod for pod in self._pods if node_of(pod) == name and _is_ready(pod)]
        failures = await together(pods, self._tell_pod)
        if failures:
            raise ExceptionGroup(f"pods of {name} could not be told", failures)

    async def _tell_pod(self, pod: Object) -> None:
        ready = conditions.made("Ready", "False", "NodeNotReady", "the node of the pod is not ready")
        change = {"conditions": [{**ready, "lastTransitionTime": timestamp(self._clock.now())}]}
        uid = pod["metadata"]["uid"]
        await self._pods.patch(name_of(pod), {"metadata": {"uid": uid}, "status": change}, "status", media=STRATEGIC_MERGE_PATCH)
        self._of_pod(pod, "Warning", "NodeNotReady", "Node is not ready")

    async def _taint(self, node: Object, *, is_new: bool) -> float | None:
        """Give the node its taints. Returns in how many seconds it may be given up, if it is not its turn. (NODE-4, NODE-5)"""
        zone, now = node_health.zone_of(node), self._clock.monotonic()
        executing, wait = node_health.executing_taint(node), None
        if executing and self._is_everything_away():
            executing = ""
        elif executing and (is_new or not node_health.has_executing_taint(node)):
            wait = self._turn(zone, now)
            executing = "" if wait is None or wait > 0 else executing
        wanted = node_health.taints(node, executing, timestamp(self._clock.now()))
        if wanted != (node["spec"].get("taints") or []):
            is_given_up = bool(executing) and not node_health.has_executing_taint(node)
            await self._nodes.update({**node, "spec": {**node["spec"], "taints": wanted}})
            if is_given_up:
                self._given_up[zone] = now
                self._evictions[zone,] += 1
        return wait

    def _turn(self, zone: str, now: float) -> float | None:
        """In how many seconds the next node of the zone may be given up; None: not as things are."""
        found = node_health.zones(self._nodes).get(zone)
        rate = found.rate(self._pace) if found is not None else 0.0
        if rate <= 0:
            return None
        return durations.until(self._given_up[zone] + 1 / rate, now) if zone in self._given_up else 0.0

    def _is_everything_away(self) -> bool:
        found = [zone for zone in node_health.zones(self._nodes).values() if zone.size]
        return bool(found) and all(zone.disruption(self._pace.most) is Disruption.FULL for zone in found)


def _pace(settings: Settings) -> Pace:
    large, most = settings.large_cluster_size_threshold, settings.unhealthy_zone_threshold
    return Pace(settings.node_eviction_rate, settings.secondary_node_eviction_rate, large, most)


def _is_ready(pod: Object) -> bool:
    return conditions.is_true((pod.get("status") or {}).get("conditions") or [], "Ready")
