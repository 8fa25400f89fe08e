"""What a pod's claims have to say about where it can go.

A claim that is bound ties the pod to the nodes of its volume. One that is not bound yet holds the pod back; and if its class waits
for the first consumer, the claim is told which node that will be on, and is bound then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from probate.client.informers import Informer, Name, controller_of
from probate.client.objects import Object
from probate.client.resources import CLAIMS, CLASSES, VOLUMES, is_deleting
from probate.controllers.runtime.context import Means
from probate.kinds.core import node_selection

SELECTED_NODE = "volume.kubernetes.io/selected-node"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"


class Stored(NamedTuple):
    """What a pod stores where: an objection to every node, the volumes it is tied to, and the claims that wait for a node."""

    objection: str = ""
    volumes: tuple[Object, ...] = ()
    waiting: tuple[Object, ...] = ()

    def objection_to(self, node: Object) -> str | None:
        """Why the pod cannot go to the node, as far as its volumes are concerned."""
        return None if all(_reaches(volume, node) for volume in self.volumes) else ELSEWHERE


class Storage:
    """All claims and volumes."""

    def __init__(self, means: Means) -> None:
        self.claims = means.informers.of(CLAIMS)
        self._volumes = means.informers.of(VOLUMES)
        self._classes = means.informers.of(CLASSES)

    def listen(self, wake: Callable[[], None]) -> None:
        """Be told when a pod may be able to go where it could not."""
        for informer in (self.claims, self._volumes, self._classes):
            informer.listen(lambda _, new: wake() if new is not None else None)

    def of(self, pod: Object) -> Stored:
        """What the pod stores where."""
        volumes, waiting = [], []
        for name, is_own in claims_of(pod).items():
            claim = self.claims.get(Name(pod["metadata"]["namespace"], name))
            if claim is None:
                return Stored(f'persistentvolumeclaim "{name}" not found')
            if is_own and (controller_of(claim) or {}).get("uid") != pod["metadata"]["uid"]:
                return Stored(f'persistentvolumeclaim "{name}" was not created for pod "{pod["metadata"]["name"]}"')
            if is_deleting(claim):
                return Stored(f'persistentvolumeclaim "{name}" is being deleted')
            volume = self._volume_of(claim)
            if volume is not None:
                volumes.append(volume)
            elif self._waits(claim):
                waiting.append(claim)
            else:
                return Stored(UNBOUND)
        return Stored("", tuple(volumes), tuple(waiting))

    def _volume_of(self, claim: Object) -> Object | None:
        if (claim.get("status") or {}).get("phase") != "Bound":
            return None
        return self._volumes.get(Name("", claim["spec"].get("volumeName") or ""))

    def _waits(self, claim: Object) -> bool:
        class_ = self._classes.get(Name("", claim["spec"].get("storageClassName") or ""))
        is_tied = bool(claim["spec"].get("volumeName"))
        return class_ is not None and not is_tied and class_.get("volumeBindingMode") == "WaitForFirstConsumer"


async def tell(claims: Informer, claim: Object, node: str) -> None:
    """Tell a claim on which node its first consumer will be."""
    meta = claim["metadata"]
    if (meta.get("annotations") or {}).get(SELECTED_NODE) != node:
        change = {"metadata": {"uid": meta["uid"], "annotations": {SELECTED_NODE: node}}}
        await claims.patch(Name(meta["namespace"], meta["name"]), change)


def claims_of(pod: Object) -> dict[str, bool]:
    """The names of the pod's claims, and of each whether it is made for the pod and nobody else."""
    found = {}
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found[volume["persistentVolumeClaim"]["claimName"]] = False
        elif "ephemeral" in volume:
            found[f"{pod['metadata']['name']}-{volume['name']}"] = True
    return found


def _reaches(volume: Object, node: Object) -> bool:
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or any(node_selection.matches(term, node) for term in required["nodeSelectorTerms"])
