"""Nodes whose machines are gone: they are deleted. Who knows about machines says so by an annotation on the node.

    probate.dev/machine: gone    there is no such machine any more
    probate.dev/machine: off     it is there, and shut down

A node that is ready is believed more than the annotation. What became of its pods is the affair of others: those of a node that is
gone are collected, those of one that is off are told to leave.
"""

from __future__ import annotations

from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.client.resources import NODES, is_deleting
from probate.controllers.nodes import node_health
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.workers import Workers
from probate.core import errors
from probate.kinds.core.taints import NO_SCHEDULE

COMPONENT = "cloud-node-lifecycle-controller"
MACHINE = "probate.dev/machine"
SHUT_DOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": NO_SCHEDULE}


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [Machines(means).workers]


class Machines:
    """Takes the nodes of machines that are gone away."""

    def __init__(self, means: Means) -> None:
        self._tell = Voice(means.events, COMPONENT, "v1", "Node")
        self._nodes = means.informers.of(NODES)
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        self._nodes.listen(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)

    async def _sync(self, name: Name) -> None:
        node = self._nodes.get(name)
        if node is None or is_deleting(node):
            return
        is_ready = node_health.readiness(node) == "True"
        machine = (node["metadata"].get("annotations") or {}).get(MACHINE)
        if machine == "gone" and not is_ready:  # CNL-3
            await self._delete(node)
        else:  # CNL-1, CNL-4
            await self._mark(node, is_off=machine == "off" and not is_ready)

    async def _delete(self, node: Object) -> None:
        name = node["metadata"]["name"]
        self._tell(node, "Normal", "DeletingNode", f"Deleting node {name} because its machine does not exist")
        try:
            await self._nodes.delete(node)
        except errors.ApiError as error:
            self._tell(node, "Warning", "DeletingNodeFailed", f"Node {name} could not be deleted: {error}")
            raise

    async def _mark(self, node: Object, *, is_off: bool) -> None:
        before = node["spec"].get("taints") or []
        others = [one for one in before if one["key"] != SHUT_DOWN["key"]]
        if is_off != (len(others) < len(before)):
            wanted = [*others, SHUT_DOWN] if is_off else others
            await self._nodes.update({**node, "spec": {**node["spec"], "taints": wanted}})
