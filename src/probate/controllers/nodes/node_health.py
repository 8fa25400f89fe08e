"""Derives a node's conditions and taints, and how fast the nodes of a zone may be tainted for eviction. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from probate.api.objects import Object
from probate.controllers.runtime import conditions
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
NO_EXECUTE_TAINTS = {"False": NOT_READY, "Unknown": UNREACHABLE}
MONITORED_CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
TAINT_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
OWN_TAINTS = frozenset({*TAINT_BY_CONDITION.values(), UNSCHEDULABLE})
"""The taints that mirror conditions, and that this controller owns."""
EXCLUDED = "node.kubernetes.io/exclude-disruption"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


class EvictionRates(NamedTuple):
    """Nodes of a zone that are tainted for eviction per second.

    `secondary` applies when a share of at least `unhealthy_threshold` of the zone's nodes is not ready, if the zone has more than
    `large_threshold` nodes; in a smaller zone evictions stop then.
    """

    normal: float
    secondary: float
    large_threshold: int
    unhealthy_threshold: float


class Disruption(Enum):
    """How much of a zone is not ready."""

    NORMAL = "normal"
    PARTIAL = "partial"
    FULL = "full"


class Zone(NamedTuple):
    """The number of nodes in a zone, and of those that are not ready."""

    size: int = 0
    unready: int = 0

    def disruption(self, threshold: float) -> Disruption:
        if self.unready and self.unready == self.size:
            return Disruption.FULL
        is_partial = self.unready > 2 and self.unready / self.size >= threshold
        return Disruption.PARTIAL if is_partial else Disruption.NORMAL

    def eviction_rate(self, rates: EvictionRates) -> float:
        """Returns how many nodes per second may be tainted for eviction. (NODE-4)"""
        if self.disruption(rates.unhealthy_threshold) is not Disruption.PARTIAL:
            return rates.normal
        return rates.secondary if self.size > rates.large_threshold else 0.0


def readiness(node: Object) -> str:
    """Returns the status of the Ready condition: True, False or Unknown; empty if the node never reported one."""
    ready = conditions.find(conditions_of(node), "Ready")
    return ready["status"] if ready is not None else ""


def conditions_of(node: Object) -> list[Object]:
    """Returns the node's conditions."""
    found: list[Object] = (node.get("status") or {}).get("conditions") or []
    return found


def unknown_conditions(node: Object, now: str) -> list[Object]:
    """Returns the conditions of a node that has not reported for too long. (NODE-3)"""
    result = conditions_of(node)
    for type_ in MONITORED_CONDITIONS:
        before = conditions.find(result, type_)
        if before is None:
            new = conditions.new_condition(
                type_, "Unknown", reason="NodeStatusNeverUpdated", message="Kubelet never posted node status."
            )
            result = [*result, {**new, "lastHeartbeatTime": node["metadata"]["creationTimestamp"], "lastTransitionTime": now}]
        elif before["status"] != "Unknown":
            new = {**before, "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
            result = [{**new, "lastTransitionTime": now} if condition is before else condition for condition in result]
    return result


def scheduling_taints(node: Object) -> list[str]:
    """Returns the keys of the NoSchedule taints of a node with these conditions. (NODE-7)"""
    found = [key for c in conditions_of(node) if (key := TAINT_BY_CONDITION.get((c["type"], c["status"])))]
    return [*found, *([UNSCHEDULABLE] if node["spec"].get("unschedulable") else [])]


def no_execute_taint(node: Object) -> str:
    """Returns the key of the NoExecute taint that the node should have; empty if none. (NODE-4)"""
    return NO_EXECUTE_TAINTS.get(readiness(node), "")


def has_no_execute_taint(node: Object) -> bool:
    """Whether the node has a NoExecute taint of this controller already."""
    return any(_is_own_no_execute(taint) for taint in node["spec"].get("taints") or ())


def taints(node: Object, no_execute: str, now: str) -> list[Object]:
    """Returns the taints that the node should have. `no_execute` is the key of its NoExecute taint. Taints of others stay."""
    before = node["spec"].get("taints") or []
    no_schedule = scheduling_taints(node)
    remaining = [taint for taint in before if _stays(taint, no_schedule, no_execute)]
    has = {(taint["key"], taint["effect"]) for taint in remaining}
    added: list[Object] = [{"key": key, "effect": NO_SCHEDULE} for key in no_schedule if (key, NO_SCHEDULE) not in has]
    if no_execute and (no_execute, NO_EXECUTE) not in has:
        added.append({"key": no_execute, "effect": NO_EXECUTE, "timeAdded": now})
    return [*remaining, *added]


def zone_of(node: Object) -> str:
    """Returns the node's region and zone."""
    labels = node["metadata"].get("labels") or {}
    return f"{labels.get(REGION, '')}:{labels.get(ZONE, '')}"


def zones(nodes: Iterable[Object]) -> dict[str, Zone]:
    """Returns all zones. Nodes with the label `EXCLUDED` are not counted."""
    found: dict[str, Zone] = {}
    for node in nodes:
        zone = found.setdefault(zone_of(node), Zone())
        if EXCLUDED not in (node["metadata"].get("labels") or {}):
            is_unready = readiness(node) in NO_EXECUTE_TAINTS
            found[zone_of(node)] = Zone(zone.size + 1, zone.unready + is_unready)
    return found


def _stays(taint: Object, no_schedule: list[str], no_execute: str) -> bool:
    if taint["effect"] == NO_SCHEDULE and taint["key"] in OWN_TAINTS:
        return taint["key"] in no_schedule
    return not _is_own_no_execute(taint) or taint["key"] == no_execute


def _is_own_no_execute(taint: Object) -> bool:
    return taint["effect"] == NO_EXECUTE and taint["key"] in (NOT_READY, UNREACHABLE)
