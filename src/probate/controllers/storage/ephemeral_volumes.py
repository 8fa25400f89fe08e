"""Claims that live as long as a pod: one for each of its generic ephemeral volumes, owned by the pod and so collected after it.

A claim of that name that belongs to somebody else is left alone. The pod is told, and looked at again later: it may go.
"""

from __future__ import annotations

from probate.client.informers import Name, controller_of, name_of
from probate.client.objects import Object
from probate.client.resources import CLAIMS, PODS, is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.workers import Workers
from probate.core import errors

COMPONENT = "ephemeral_volume"


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [EphemeralClaims(means).workers]


class EphemeralClaims:
    """Makes the claims of ephemeral volumes."""

    def __init__(self, means: Means) -> None:
        self._tell = Voice(means.events, COMPONENT, "v1", "Pod")
        self._pods = means.informers.of(PODS)
        self._claims = means.informers.of(CLAIMS)
        self.workers = Workers(COMPONENT, self._sync, means.clock)
        self._pods.listen(self._take_pod)
        self._claims.listen(self._take_claim)

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        """A pod's volumes are for life."""
        if new is not None and (old is None or old["metadata"]["uid"] != new["metadata"]["uid"]) and _volumes(new):
            self.workers.add(name_of(new))

    def _take_claim(self, old: Object | None, new: Object | None) -> None:
        """A claim that is gone is made again, if its pod is still there."""
        owner = controller_of(old) if old is not None and new is None else None
        if old is not None and owner is not None and owner["kind"] == "Pod":
            self.workers.add(Name(old["metadata"]["namespace"], owner["name"]))

    async def _sync(self, name: Name) -> None:
        pod = self._pods.get(name)
        if pod is None or is_deleting(pod):
            return
        for volume in _volumes(pod):
            try:
                await self._have(pod, volume)
            except errors.ApiError as error:
                self._tell(pod, "Warning", "FailedBinding", f"ephemeral volume {volume['name']}: {error}")
                raise

    async def _have(self, pod: Object, volume: Object) -> None:
        meta = pod["metadata"]
        name = f"{meta['name']}-{volume['name']}"
        known = self._claims.get(Name(meta["namespace"], name))
        if known is None:
            await self._claims.create(meta["namespace"], _claim(pod, name, volume["ephemeral"]["volumeClaimTemplate"]))
        elif (controller_of(known) or {}).get("uid") != meta["uid"]:
            raise errors.ApiError(f"PVC {meta['namespace']}/{name} was not created for pod {meta['namespace']}/{meta['name']}")


def _volumes(pod: Object) -> list[Object]:
    return [volume for volume in pod["spec"].get("volumes") or () if volume.get("ephemeral")]


def _claim(pod: Object, name: str, template: Object) -> Object:
    meta, described = pod["metadata"], template.get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    given = {field: described[field] for field in ("labels", "annotations") if field in described}
    references = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return {"metadata": {"name": name, **given, "ownerReferences": references}, "spec": template["spec"]}
