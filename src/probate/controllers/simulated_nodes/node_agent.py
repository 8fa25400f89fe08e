"""The simulated nodes themselves: they register once, say that they are well, and renew their Leases.

A node that somebody deletes does not come back before the server is started again, as a kubelet would not. A node that somebody
else made is simulated too if it has the label. One that is told to be silent says nothing, as if its machine were off.
"""

from __future__ import annotations

import math

from probate.api.timestamps import micro_time, seconds, timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.client.resources import LEASES, NODES, is_deleting
from probate.controllers.runtime import durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.simulated_nodes import annotations as simulated_node_annotations
from probate.controllers.simulated_nodes import node_status
from probate.core import errors

NAMESPACE = "kube-node-lease"
MOST_RENEW_SECONDS = 10.0
RENEWALS = 4
"""How often a node renews its Lease within the Lease's duration, and within the time after which it counts as unreachable."""
LEAST_GRACE_SECONDS = 1.0
"""Within which a node can be heard of in any case: a Lease lasts for whole seconds, and to renew it takes a write."""
REPORT_SECONDS = 300.0
"""How often a node says that it is well although nothing has changed."""


def start(means: Means) -> list[Workers]:
    """The nodes' worker. There is none if there are no nodes."""
    return [Nodes(means).workers] if means.settings.nodes else []


def renew_seconds(grace: float) -> float:
    """How often a node renews its Lease, if it counts as unreachable after `grace` seconds without a sign of life.

    A kubelet renews four times within the duration of its Lease. With a shorter grace period simulated nodes renew more often, so
    that they stay ready whatever the period is. (LEASE-1)
    """
    return min(MOST_RENEW_SECONDS, grace / RENEWALS)


def check_grace_period(grace: float) -> None:
    """`CannotOpen` if no node could renew its Lease often enough."""
    if grace < LEAST_GRACE_SECONDS:
        raise errors.CannotOpen(
            f"--node-monitor-grace-period is {grace:g}s, and nodes would be lost before they renew their Leases. Give 1s or more"
        )


class Nodes:
    """Lets all simulated nodes live."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._renew_seconds = renew_seconds(means.settings.node_monitor_grace_period)
        self._nodes = means.informers.of(NODES)
        self._leases = means.informers.of(LEASES)
        self._unregistered = {node_status.NAMES.format(number) for number in range(1, means.settings.nodes + 1)}
        self._renewed: dict[str, float] = {}  # when each node last renewed its Lease, by uid
        self._blocks: set[str] = set()  # that were given away here
        self.workers = Workers("simulated nodes", self._sync, means.clock)
        for name in sorted(self._unregistered):
            self.workers.add(Name("", name))
        self._nodes.listen(self._take)

    def _take(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or old["metadata"]["uid"] != new["metadata"]["uid"]):
            self._renewed.pop(old["metadata"]["uid"], None)
            self._blocks.discard(old["spec"].get("podCIDR") or "")
        if new is not None and simulated_node_annotations.is_simulated(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: Name) -> float | None:
        node = self._nodes.get(name)
        if node is None:
            node = await self._register(name)
        self._unregistered.discard(name.name)
        if (
            node is None
            or not simulated_node_annotations.is_simulated(node)
            or simulated_node_annotations.is_silent(node)
            or is_deleting(node)
        ):
            return None
        node = await self._settle(node)
        await self._report(node)
        return await self._renew(node)

    async def _register(self, name: Name) -> Object | None:
        if name.name not in self._unregistered:
            return None
        try:
            return await self._nodes.create("", node_status.new(name.name, timestamp(self._clock.now())))
        except errors.AlreadyExists:
            return None  # it comes as news

    async def _settle(self, node: Object) -> Object:
        """Give the node a block of addresses for its pods."""
        if node["spec"].get("podCIDR"):
            return node
        block = node_status.block(self._blocks | {one["spec"]["podCIDR"] for one in self._nodes if one["spec"].get("podCIDR")})
        self._blocks.add(block)  # several nodes settle at once
        change = {"metadata": {"uid": node["metadata"]["uid"]}, "spec": {"podCIDR": block, "podCIDRs": [block]}}
        return await self._nodes.patch(name_of(node), change)

    async def _report(self, node: Object) -> None:
        told = node.get("status") or {}
        beats = [one.get("lastHeartbeatTime") for one in told.get("conditions") or [] if one["type"] == "Ready"]
        is_fresh = bool(beats and beats[0]) and seconds(beats[0]) + REPORT_SECONDS > self._clock.now()
        if is_fresh and node_status.is_well(node) and told.get("addresses"):
            return
        hostname = {"type": "Hostname", "address": node["metadata"]["name"]}
        addresses = [{"type": "InternalIP", "address": node_status.address(node["spec"]["podCIDR"])}, hostname]
        new = {"addresses": addresses, **node_status.status(told, timestamp(self._clock.now()))}
        await self._nodes.update({**node, "status": new}, "status")

    async def _renew(self, node: Object) -> float:
        """Renew the node's Lease if it is time. Returns when it will be. (LEASE-1)"""
        uid, now = node["metadata"]["uid"], self._clock.monotonic()
        due = self._renewed.get(uid, now - self._renew_seconds) + self._renew_seconds
        wait = durations.until(due, now)
        if wait:
            return wait
        await self._write_lease(node)
        self._renewed[uid] = now
        return self._renew_seconds

    async def _write_lease(self, node: Object) -> None:
        name, uid = node["metadata"]["name"], node["metadata"]["uid"]
        renewed = micro_time(self._clock.now())
        duration = math.ceil(self._renew_seconds * RENEWALS)
        spec = {"holderIdentity": name, "leaseDurationSeconds": duration, "renewTime": renewed}
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
        lease = self._leases.get(Name(NAMESPACE, name))
        if lease is None:
            await self._leases.create(NAMESPACE, {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": spec})
            return
        meta = lease["metadata"]
        if not meta.get("ownerReferences"):  # else it is left to whoever set them (LEASE-2)
            meta = {**meta, "ownerReferences": [owner]}
        await self._leases.update({**lease, "metadata": meta, "spec": {**lease["spec"], **spec}})
