"""The simulated nodes themselves: they register once, report their status, and renew their Leases.

A node that a user deletes does not come back before the server restarts; a kubelet behaves the same. A node that a user created is
simulated too if it has the label. A node annotated as silent reports nothing, as if its machine were off.
"""

from __future__ import annotations

import math

from probate.api.objects import Object
from probate.api.timestamps import format_micro_time, format_time, parse_time
from probate.client.informers import NamespacedName, name_of
from probate.client.resources import LEASES, NODES, is_deleting
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.simulated_nodes import node_status, simulation_annotations
from probate.core import errors

LEASE_NAMESPACE = "kube-node-lease"
MAX_RENEW_SECONDS = 10.0
RENEWALS_PER_LEASE = 4
"""How often a node renews its Lease within the Lease's duration, and within the grace period after which it counts as
unreachable.
"""
MIN_GRACE_SECONDS = 1.0
"""The shortest grace period that renewals can keep up with: a Lease lasts for whole seconds, and each renewal is a write."""
REPORT_SECONDS = 300.0
"""How often a node reports that it is healthy although nothing has changed."""


def start(context: Context) -> list[Workers]:
    """Returns the worker queue of the nodes, or none if the server simulates no nodes."""
    return [NodeAgent(context).workers] if context.settings.nodes else []


def renew_seconds(grace: float) -> float:
    """Returns how often a node renews its Lease if it counts as unreachable after `grace` seconds without a renewal.

    A kubelet renews four times within the duration of its Lease. With a shorter grace period simulated nodes renew more often, so
    that they stay ready whatever the period is. (LEASE-1)
    """
    return min(MAX_RENEW_SECONDS, grace / RENEWALS_PER_LEASE)


def check_grace_period(grace: float) -> None:
    """Raises `CannotOpen` if no node could renew its Lease often enough."""
    if grace < MIN_GRACE_SECONDS:
        raise errors.CannotOpen(
            f"--node-monitor-grace-period is {grace:g}s, which is too short for nodes to renew their Leases. Use 1s or more"
        )


class NodeAgent:
    """Registers and maintains all simulated nodes."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._renew_seconds = renew_seconds(context.settings.node_monitor_grace_period)
        self._nodes = context.informers.for_resource(NODES)
        self._leases = context.informers.for_resource(LEASES)
        self._unregistered = {node_status.NAME_FORMAT.format(number) for number in range(1, context.settings.nodes + 1)}
        self._renewed_at: dict[str, float] = {}  # monotonic time of each node's last renewal, by uid
        self._assigned_cidrs: set[str] = set()  # assigned by this process
        self.workers = Workers("simulated nodes", self._sync, context.clock)
        for name in sorted(self._unregistered):
            self.workers.add(NamespacedName("", name))
        self._nodes.add_event_handler(self._on_node_change)

    def _on_node_change(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._renewed_at.pop(old["metadata"]["uid"], None)
            self._assigned_cidrs.discard(old["spec"].get("podCIDR") or "")
        if new is not None and simulation_annotations.is_simulated(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: NamespacedName) -> float | None:
        node = self._nodes.get(name)
        if node is None:
            node = await self._register(name)
        self._unregistered.discard(name.name)
        if (
            node is None
            or not simulation_annotations.is_simulated(node)
            or simulation_annotations.is_silent(node)
            or is_deleting(node)
        ):
            return None
        node = await self._assign_pod_cidr(node)
        await self._report(node)
        return await self._renew(node)

    async def _register(self, name: NamespacedName) -> Object | None:
        if name.name not in self._unregistered:
            return None
        try:
            return await self._nodes.create("", node_status.new_node(name.name, format_time(self._clock.now())))
        except errors.AlreadyExists:
            return None  # its event enqueues it

    async def _assign_pod_cidr(self, node: Object) -> Object:
        """Assigns the node a block of addresses for its pods."""
        if node["spec"].get("podCIDR"):
            return node
        cidr = node_status.free_pod_cidr(
            self._assigned_cidrs
            | {other_node["spec"]["podCIDR"] for other_node in self._nodes if other_node["spec"].get("podCIDR")}
        )
        self._assigned_cidrs.add(cidr)  # several nodes are synced concurrently
        patch = {"metadata": {"uid": node["metadata"]["uid"]}, "spec": {"podCIDR": cidr, "podCIDRs": [cidr]}}
        return await self._nodes.patch(name_of(node), patch)

    async def _report(self, node: Object) -> None:
        status = node.get("status") or {}
        heartbeats = [
            condition.get("lastHeartbeatTime") for condition in status.get("conditions") or [] if condition["type"] == "Ready"
        ]
        is_fresh = bool(heartbeats and heartbeats[0]) and parse_time(heartbeats[0]) + REPORT_SECONDS > self._clock.now()
        if is_fresh and node_status.is_healthy(node) and status.get("addresses"):
            return
        hostname = {"type": "Hostname", "address": node["metadata"]["name"]}
        addresses = [{"type": "InternalIP", "address": node_status.node_address(node["spec"]["podCIDR"])}, hostname]
        new = {"addresses": addresses, **node_status.status(status, format_time(self._clock.now()))}
        await self._nodes.update({**node, "status": new}, "status")

    async def _renew(self, node: Object) -> float:
        """Renews the node's Lease if it is due. Returns in how many seconds it is due next. (LEASE-1)"""
        uid, now = node["metadata"]["uid"], self._clock.monotonic()
        due = self._renewed_at.get(uid, now - self._renew_seconds) + self._renew_seconds
        remaining = remaining_time.until(due, now)
        if remaining:
            return remaining
        await self._write_lease(node)
        self._renewed_at[uid] = now
        return self._renew_seconds

    async def _write_lease(self, node: Object) -> None:
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        renew_time = format_micro_time(self._clock.now())
        duration = math.ceil(self._renew_seconds * RENEWALS_PER_LEASE)
        spec = {"holderIdentity": name, "leaseDurationSeconds": duration, "renewTime": renew_time}
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        lease = self._leases.get(NamespacedName(LEASE_NAMESPACE, name))
        if lease is None:
            await self._leases.create(LEASE_NAMESPACE, {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec})
            return
        meta = lease["metadata"]
        if not meta.get("ownerReferences"):  # existing references are left unchanged (LEASE-2)
            meta = {**meta, "ownerReferences": [owner]}
        await self._leases.update({**lease, "metadata": meta, "spec": {**lease["spec"], **spec}})
