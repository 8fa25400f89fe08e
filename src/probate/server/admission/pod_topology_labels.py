"""Copies the zone and region labels of a node to its pods when they are bound.

So a pod can pass its location to its containers without the right to read nodes. The node's labels override the pod's own.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.storage import storage_keys
from probate.store.contract import Store

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    """Reads the topology labels of nodes."""

    def __init__(self, store: Store, kinds: KindRegistry) -> None:
        self._store = store
        self._kinds = kinds

    async def label_new_pod(self, pod: Object) -> None:
        """Labels a new pod that already names its node."""
        if labels := await self.of_node(pod["spec"]["nodeName"]):
            pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **labels}

    async def of_node(self, node: str) -> dict[str, str]:
        """Returns the topology labels of a node; none if the node does not exist."""
        nodes = self._kinds.catalog.find("", "v1", "nodes")
        record = None if nodes is None else await self._store.read(storage_keys.object_key(nodes, "", node))
        if nodes is None or record is None or b'"topology.kubernetes.io/' not in record.value:
            return {}
        labels = object_codec.loaded(record, nodes)["metadata"].get("labels") or {}
        return {name: labels[name] for name in LABELS if name in labels}
