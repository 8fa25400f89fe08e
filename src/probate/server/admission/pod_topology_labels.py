"""Where a pod runs, told by its labels: those of its node for the zone and the region are the pod's too, from the binding on.

So a pod can tell its containers where they are, without the right to look at nodes. What somebody else says there gives way.
"""

from __future__ import annotations

from typing import Any

from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.storage import storage_keys

Object = dict[str, Any]

LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


async def note_new(api: Api, pod: Object) -> None:
    """Label a new pod that has its node already."""
    if found := await labels_of(api, pod["spec"]["nodeName"]):
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **found}


async def labels_of(api: Api, node: str) -> dict[str, str]:
    """What the node says of where it is; nothing if there is no such node."""
    nodes = api.catalog.find("", "v1", "nodes")
    record = None if nodes is None else await api.store.read(storage_keys.of(nodes, "", node))
    if nodes is None or record is None or b'"topology.kubernetes.io/' not in record.value:
        return {}
    said = object_codec.loaded(record, nodes)["metadata"].get("labels") or {}
    return {name: said[name] for name in LABELS if name in said}
