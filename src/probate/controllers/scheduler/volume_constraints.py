"""The constraints of a pod's claims on its node.

A bound claim ties the pod to the nodes of its volume. An unbound claim keeps the pod pending; if its storage class waits for the
first consumer, the scheduler writes the selected node to the claim, and the claim is then bound there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, controller_of
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, is_deleting
from probate.controllers.runtime.context import Context
from probate.kinds.core import node_selection

SELECTED_NODE = "volume.kubernetes.io/selected-node"
UNBOUND_CLAIMS = "pod has unbound immediate PersistentVolumeClaims"
VOLUME_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"


class PodVolumes(NamedTuple):
    """The storage of a pod: a reason that rejects every node, the volumes that tie the pod, and the claims that wait for a
    selected node.
    """

    rejection: str = ""
    volumes: tuple[Object, ...] = ()
    unbound_claims: tuple[Object, ...] = ()

    def rejection_by(self, node: Object) -> str | None:
        """Returns why the pod's volumes reject the node, or None."""
        return None if all(_is_reachable(volume, node) for volume in self.volumes) else VOLUME_NODE_CONFLICT


class VolumeConstraints:
    """All claims, volumes and storage classes."""

    def __init__(self, context: Context) -> None:
        self.claims = context.informers.for_resource(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = context.informers.for_resource(PERSISTENT_VOLUMES)
        self._classes = context.informers.for_resource(STORAGE_CLASSES)

    def listen(self, wake: Callable[[], None]) -> None:
        """Subscribes to changes that may make a pod schedulable."""
        for informer in (self.claims, self._volumes, self._classes):
            informer.add_event_handler(lambda _, new: wake() if new is not None else None)

    def of(self, pod: Object) -> PodVolumes:
        """Returns the storage of the pod."""
        volumes, unbound_claims = [], []
        for name, is_ephemeral in claim_names(pod).items():
            claim = self.claims.get(NamespacedName(pod["metadata"]["namespace"], name))
            if claim is None:
                return PodVolumes(f'persistentvolumeclaim "{name}" not found')
            if is_ephemeral and (controller_of(claim) or {}).get("uid") != pod["metadata"]["uid"]:
                return PodVolumes(f'persistentvolumeclaim "{name}" was not created for pod "{pod["metadata"]["name"]}"')
            if is_deleting(claim):
                return PodVolumes(f'persistentvolumeclaim "{name}" is being deleted')
            volume = self._volume_of(claim)
            if volume is not None:
                volumes.append(volume)
            elif self._waits_for_consumer(claim):
                unbound_claims.append(claim)
            else:
                return PodVolumes(UNBOUND_CLAIMS)
        return PodVolumes("", tuple(volumes), tuple(unbound_claims))

    def _volume_of(self, claim: Object) -> Object | None:
        if (claim.get("status") or {}).get("phase") != "Bound":
            return None
        return self._volumes.get(NamespacedName("", claim["spec"].get("volumeName") or ""))

    def _waits_for_consumer(self, claim: Object) -> bool:
        storage_class = self._classes.get(NamespacedName("", claim["spec"].get("storageClassName") or ""))
        is_prebound = bool(claim["spec"].get("volumeName"))
        return storage_class is not None and not is_prebound and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


async def set_selected_node(claims: Informer, claim: Object, node: str) -> None:
    """Writes the node of the first consumer to the claim."""
    meta = claim["metadata"]
    if (meta.get("annotations") or {}).get(SELECTED_NODE) != node:
        patch = {"metadata": {"uid": meta["uid"], "annotations": {SELECTED_NODE: node}}}
        await claims.patch(NamespacedName(meta["namespace"], meta["name"]), patch)


def claim_names(pod: Object) -> dict[str, bool]:
    """Returns the names of the pod's claims, and for each whether it is an ephemeral claim created for this pod."""
    names = {}
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names[volume["persistentVolumeClaim"]["claimName"]] = False
        elif "ephemeral" in volume:
            names[f"{pod['metadata']['name']}-{volume['name']}"] = True
    return names


def _is_reachable(volume: Object, node: Object) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or any(node_selection.matches(term, node) for term in required["nodeSelectorTerms"])
