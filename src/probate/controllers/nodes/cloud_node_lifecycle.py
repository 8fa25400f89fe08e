"""Deletes nodes whose machines are gone. An annotation on the node says so, in place of a cloud provider.

    probate.dev/machine: gone    the machine does not exist any more
    probate.dev/machine: off     the machine exists, and is shut down

If a node is ready, the annotation is ignored. Other controllers handle the pods: pod garbage collection deletes those of a node
that is gone, taint eviction those of a node that is off.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.resources import NODES, is_deleting
from probate.controllers.nodes import node_health
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.core import errors
from probate.kinds.core.taints import NO_SCHEDULE

COMPONENT = "cloud-node-lifecycle-controller"
MACHINE = "probate.dev/machine"
SHUT_DOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": NO_SCHEDULE}


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [CloudNodeLifecycle(context).workers]


class CloudNodeLifecycle:
    """Deletes or taints nodes according to the state of their machines."""

    def __init__(self, context: Context) -> None:
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Node")
        self._nodes = context.informers.for_resource(NODES)
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        self._nodes.add_event_handler(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)

    async def _sync(self, name: NamespacedName) -> None:
        node = self._nodes.get(name)
        if node is None or is_deleting(node):
            return
        is_ready = node_health.readiness(node) == "True"
        machine = (node["metadata"].get("annotations") or {}).get(MACHINE)
        if machine == "gone" and not is_ready:  # CNL-3
            await self._delete(node)
        else:  # CNL-1, CNL-4
            await self._taint(node, is_off=machine == "off" and not is_ready)

    async def _delete(self, node: Object) -> None:
        name = node["metadata"]["name"]
        self._record_event(node, "Normal", "DeletingNode", message=f"Deleting node {name} because its machine does not exist")
        try:
            await self._nodes.delete(node)
        except errors.ApiError as error:
            self._record_event(node, "Warning", "DeletingNodeFailed", message=f"Node {name} could not be deleted: {error}")
            raise

    async def _taint(self, node: Object, *, is_off: bool) -> None:
        before = node["spec"].get("taints") or []
        others = [taint for taint in before if taint["key"] != SHUT_DOWN["key"]]
        if is_off != (len(others) < len(before)):
            taints = [*others, SHUT_DOWN] if is_off else others
            await self._nodes.update({**node, "spec": {**node["spec"], "taints": taints}})
