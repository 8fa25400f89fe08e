"""Creates a PersistentVolumeClaim for each generic ephemeral volume of a pod. The pod owns it, so it is collected after the pod.

A claim of that name with another owner is left alone. The pod gets an Event, and is retried later: the claim may be removed.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import NamespacedName, controller_of, name_of
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PODS, is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.core import errors

COMPONENT = "ephemeral_volume"


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [EphemeralVolumes(context).workers]


class EphemeralVolumes:
    """Creates the claims."""

    def __init__(self, context: Context) -> None:
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="Pod")
        self._pods = context.informers.for_resource(PODS)
        self._claims = context.informers.for_resource(PERSISTENT_VOLUME_CLAIMS)
        self.workers = Workers(COMPONENT, self._sync, context.clock)
        self._pods.add_event_handler(self._on_pod)
        self._claims.add_event_handler(self._on_claim)

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        """Enqueues new pods. (The volumes of a pod cannot change.)"""
        if new is not None and (old is None or old["metadata"]["uid"] != new["metadata"]["uid"]) and _volumes(new):
            self.workers.add(name_of(new))

    def _on_claim(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the pod of a removed claim: the claim is created again if the pod still exists."""
        owner = controller_of(old) if old is not None and new is None else None
        if old is not None and owner is not None and owner["kind"] == "Pod":
            self.workers.add(NamespacedName(old["metadata"]["namespace"], owner["name"]))

    async def _sync(self, name: NamespacedName) -> None:
        pod = self._pods.get(name)
        if pod is None or is_deleting(pod):
            return
        for volume in _volumes(pod):
            try:
                await self._ensure_claim(pod, volume)
            except errors.ApiError as error:
                self._record_event(pod, "Warning", "FailedBinding", message=f"ephemeral volume {volume['name']}: {error}")
                raise

    async def _ensure_claim(self, pod: Object, volume: Object) -> None:
        meta = pod["metadata"]
        name = f"{meta['name']}-{volume['name']}"
        claim = self._claims.get(NamespacedName(meta["namespace"], name))
        if claim is None:
            await self._claims.create(meta["namespace"], _claim(pod, name, volume["ephemeral"]["volumeClaimTemplate"]))
        elif (controller_of(claim) or {}).get("uid") != meta["uid"]:
            raise errors.ApiError(f"PVC {meta['namespace']}/{name} was not created for pod {meta['namespace']}/{meta['name']}")


def _volumes(pod: Object) -> list[Object]:
    return [volume for volume in pod["spec"].get("volumes") or () if volume.get("ephemeral")]


def _claim(pod: Object, name: str, template: Object) -> Object:
    meta, metadata = pod["metadata"], template.get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    copied = {field: metadata[field] for field in ("labels", "annotations") if field in metadata}
    references = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return {"metadata": {"name": name, **copied, "ownerReferences": references}, "spec": template["spec"]}
