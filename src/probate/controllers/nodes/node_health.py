"""What follows from how a node is: conditions, taints, and how fast the nodes of a zone may be given up. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from probate.client.objects import Object
from probate.controllers.runtime import conditions
from probate.kinds.core.taints import NO_EXECUTE, NO_SCHEDULE

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
EXECUTING = {"False": NOT_READY, "Unknown": UNREACHABLE}
WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
KEPT = frozenset({*BY_CONDITION.values(), UNSCHEDULABLE})
"""The taints that say nothing but what conditions say too."""
EXCLUDED = "node.kubernetes.io/exclude-disruption"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


class Pace(NamedTuple):
    """How many nodes of a zone are given up in a second: usually, and when `most` of one with more than `large` nodes is away."""

    usual: float
    reduced: float
    large: int
    most: float


class Disruption(Enum):
    """How much of a zone is away."""

    NORMAL = "normal"
    PARTIAL = "partial"
    FULL = "full"


class Zone(NamedTuple):
    """How many nodes there are in a zone, and how many of them are not ready."""

    size: int = 0
    unready: int = 0

    def disruption(self, most: float) -> Disruption:
        if self.unready and self.unready == self.size:
            return Disruption.FULL
        is_most = self.unready > 2 and self.unready / self.size >= most
        return Disruption.PARTIAL if is_most else Disruption.NORMAL

    def rate(self, pace: Pace) -> float:
        """How many nodes a second may be given up. (NODE-4)"""
        if self.disruption(pace.most) is not Disruption.PARTIAL:
            return pace.usual
        return pace.reduced if self.size > pace.large else 0.0


def readiness(node: Object) -> str:
    """True, False or Unknown; empty if the node has never said anything."""
    found = conditions.find(told(node), "Ready")
    return found["status"] if found is not None else ""


def told(node: Object) -> list[Object]:
    """The node's conditions."""
    found: list[Object] = (node.get("status") or {}).get("conditions") or []
    return found


def unknown(node: Object, now: str) -> list[Object]:
    """The conditions of a node of which nothing was heard for too long. (NODE-3)"""
    result = told(node)
    for type_ in WATCHED:
        before = conditions.find(result, type_)
        if before is None:
            new = conditions.made(type_, "Unknown", "NodeStatusNeverUpdated", "the node has never said how it is")
            result = [*result, {**new, "lastHeartbeatTime": node["metadata"]["creationTimestamp"], "lastTransitionTime": now}]
        elif before["status"] != "Unknown":
            new = {**before, "status": "Unknown", "reason": "NodeStatusUnknown", "message": "the node says nothing any more"}
            result = [{**new, "lastTransitionTime": now} if one is before else one for one in result]
    return result


def scheduling_taints(node: Object) -> list[str]:
    """The keys of the taints that keep new pods away from a node with these conditions. (NODE-7)"""
    found = [key for one in told(node) if (key := BY_CONDITION.get((one["type"], one["status"])))]
    return [*found, *([UNSCHEDULABLE] if node["spec"].get("unschedulable") else [])]


def executing_taint(node: Object) -> str:
    """The key of the taint that makes pods leave the node; empty if they may stay. (NODE-4)"""
    return EXECUTING.get(readiness(node), "")


def has_executing_taint(node: Object) -> bool:
    """Whether pods have to leave already."""
    return any(_is_executing(one) for one in node["spec"].get("taints") or ())


def taints(node: Object, executing: str, now: str) -> list[Object]:
    """The taints that the node should have; those that are somebody else's stay."""
    before = node["spec"].get("taints") or []
    wanted = scheduling_taints(node)
    kept = [one for one in before if _stays(one, wanted, executing)]
    has = {(one["key"], one["effect"]) for one in kept}
    added: list[Object] = [{"key": key, "effect": NO_SCHEDULE} for key in wanted if (key, NO_SCHEDULE) not in has]
    if executing and (executing, NO_EXECUTE) not in has:
        added.append({"key": executing, "effect": NO_EXECUTE, "timeAdded": now})
    return [*kept, *added]


def zone_of(node: Object) -> str:
    """The zone that the node is in."""
    labels = node["metadata"].get("labels") or {}
    return f"{labels.get(REGION, '')}:{labels.get(ZONE, '')}"


def zones(nodes: Iterable[Object]) -> dict[str, Zone]:
    """All zones. Nodes with the label that exempts them are counted nowhere."""
    found: dict[str, Zone] = {}
    for node in nodes:
        zone = found.setdefault(zone_of(node), Zone())
        if EXCLUDED not in (node["metadata"].get("labels") or {}):
            is_away = readiness(node) in EXECUTING
            found[zone_of(node)] = Zone(zone.size + 1, zone.unready + is_away)
    return found


def _stays(taint: Object, wanted: list[str], executing: str) -> bool:
    if taint["effect"] == NO_SCHEDULE and taint["key"] in KEPT:
        return taint["key"] in wanted
    return not _is_executing(taint) or taint["key"] == executing


def _is_executing(taint: Object) -> bool:
    return taint["effect"] == NO_EXECUTE and taint["key"] in (NOT_READY, UNREACHABLE)
