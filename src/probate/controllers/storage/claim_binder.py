"""Binds each PersistentVolumeClaim to a volume that fits, or to one that is provisioned for it.

A claim and a volume are bound when each names the other. The volume is written first, so no volume is ever bound to two claims: the
second write conflicts. A binding that was interrupted is completed by the next reconcile.
"""

from __future__ import annotations

from probate.api import tenants
from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES, is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.controllers.storage import volume_matcher, volume_plugins
from probate.controllers.storage.volume_matcher import BIND_COMPLETED, BOUND_BY_US, annotation
from probate.core import errors

COMPONENT = "persistentvolume-controller"
STANDARD = "standard"


class ClaimBinding:
    """Binds claims."""

    def __init__(self, context: Context) -> None:
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="PersistentVolumeClaim")
        self._creates_class = context.settings.nodes > 0
        self._claims = context.informers.for_resource(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = context.informers.for_resource(PERSISTENT_VOLUMES)
        self._classes = context.informers.for_resource(STORAGE_CLASSES)
        self.workers = Workers("claims", self._sync, context.clock)
        if self._creates_class:
            self.workers.add(NamespacedName("", STANDARD))
        self._claims.add_event_handler(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)
        self._volumes.add_event_handler(self._on_volume)
        self._classes.add_event_handler(lambda _, new: self._enqueue_unbound() if new is not None else None)

    def _on_volume(self, old: Object | None, new: Object | None) -> None:
        for volume in (old, new):
            name = volume_matcher.claim_name(volume) if volume is not None else NamespacedName("", "")
            if name.namespace and name.name:
                self.workers.add(name)
        if new is not None and not volume_matcher.claim_of(new):
            self._enqueue_unbound()

    def _enqueue_unbound(self) -> None:
        """Enqueues all claims that may fit a volume or class that was added."""
        for claim in self._claims:
            if (claim.get("status") or {}).get("phase") != "Bound":
                self.workers.add(name_of(claim))

    async def _sync(self, name: NamespacedName) -> None:
        if not name.namespace:
            await self._ensure_class()
            return
        claim = self._claims.get(name)
        if claim is None:
            return
        if annotation(claim, BIND_COMPLETED):
            await self._check_bound(claim)
        elif not is_deleting(claim):
            await self._find_volume(claim)

    async def _ensure_class(self) -> None:
        """Creates the default StorageClass of simulated nodes, also for tenants, if the platform has no other class."""
        if not all(map(tenants.tenant_of, self._classes)):
            return
        labels, annotations = {tenants.SHARED_LABEL: "true"}, {volume_matcher.DEFAULT_CLASS: "true"}
        meta = {"name": STANDARD, "labels": labels, "annotations": annotations}
        class_ = {"provisioner": volume_plugins.PROVISIONER, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
        await self._classes.create("", {"metadata": meta, **class_})

    async def _find_volume(self, claim: Object) -> None:
        """Binds an unbound claim, or provisions a volume for it."""
        volume_name = claim["spec"].get("volumeName")
        if volume_name:
            volume = self._volumes.get(NamespacedName("", volume_name))
            if volume is None or (volume_matcher.claim_of(volume) and not volume_matcher.is_for(volume, claim)):
                await self._set_status(claim, "Pending")
            elif not volume_matcher.fits(volume, claim):
                self._record_event(claim, "Warning", "VolumeMismatch", message=f"volume {volume_name} does not satisfy the claim")
                await self._set_status(claim, "Pending")
            else:
                await self._bind(volume, claim)
            return
        if "storageClassName" not in claim["spec"]:
            default = volume_matcher.default_class(self._classes, claim)
            if default is not None:
                spec = {**claim["spec"], "storageClassName": default["metadata"]["name"]}
                claim = await self._claims.update({**claim, "spec": spec})
        volume = volume_matcher.best(self._volumes, claim)
        class_ = self._classes.get(NamespacedName("", volume_matcher.class_of(claim)))
        if _waits_for_consumer(claim, class_) and (volume is None or not volume_matcher.claim_of(volume)):
            self._record_event(
                claim, "Normal", "WaitForFirstConsumer", message="waiting for first consumer to be created before binding"
            )
            await self._set_status(claim, "Pending")
        elif volume is not None:
            await self._bind(volume, claim)
        else:
            await self._provision(claim, class_)

    async def _provision(self, claim: Object, class_: Object | None) -> None:
        """Provisions a volume for a claim that no volume fits."""
        if class_ is None:
            name = volume_matcher.class_of(claim)
            unclassified = "no persistent volumes available for this claim and no storage class is set"
            message = f'storageclass.storage.k8s.io "{name}" not found' if name else unclassified
            reason = "ProvisioningFailed" if name else "FailedBinding"
            self._record_event(claim, "Warning" if name else "Normal", reason, message=message)
        elif class_["provisioner"] == volume_plugins.PROVISIONER:
            try:
                volume = await self._volumes.create("", volume_plugins.new_volume(claim, class_, _reference(claim)))
            except errors.AlreadyExists:
                return  # its watch event is on the way
            self._record_event(
                claim, "Normal", "ProvisioningSucceeded", message=f"Successfully provisioned volume {volume['metadata']['name']}"
            )
            await self._bind(volume, claim)
            return
        elif class_["provisioner"] != "kubernetes.io/no-provisioner":
            claim = await self._delegate(claim, class_["provisioner"])
        await self._set_status(claim, "Pending")

    async def _delegate(self, claim: Object, provisioner: str) -> Object:
        if annotation(claim, volume_matcher.PROVISIONER) == provisioner:
            return claim
        self._record_event(claim, "Normal", "ExternalProvisioning", message=f"waiting for {provisioner!r} to provision a volume")
        return await self._claims.patch(name_of(claim), {"metadata": {"annotations": {volume_matcher.PROVISIONER: provisioner}}})

    async def _bind(self, volume: Object, claim: Object) -> None:
        """Makes volume and claim name each other, the volume first."""
        if volume_matcher.claim_of(volume).get("uid") != claim["metadata"]["uid"]:
            annotations = {} if volume_matcher.claim_of(volume) else {BOUND_BY_US: "yes"}
            adopted = volume_matcher.adopted(volume, claim)
            volume = await self._volumes.update(_with(adopted, annotations, claimRef=_reference(claim)))
        if (volume.get("status") or {}).get("phase") != "Bound":
            volume = await self._volumes.update({**volume, "status": {"phase": "Bound"}}, "status")
        name = volume["metadata"]["name"]
        annotations = {BIND_COMPLETED: "yes", **({} if claim["spec"].get("volumeName") else {BOUND_BY_US: "yes"})}
        if not annotation(claim, BIND_COMPLETED) or claim["spec"].get("volumeName") != name:
            claim = await self._claims.update(_with(claim, annotations, volumeName=name))
        properties = {"accessModes": volume["spec"]["accessModes"], "capacity": volume["spec"]["capacity"]}
        await self._set_status(claim, "Bound", **properties, **_attributes(volume, claim))

    async def _check_bound(self, claim: Object) -> None:
        """Checks that a bound claim still has its volume."""
        name = claim["spec"].get("volumeName") or ""
        volume = self._volumes.get(NamespacedName("", name)) if name else None
        if volume is None:  # PV-6
            await self._mark_lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        elif not volume_matcher.is_in_reach(volume, claim):
            await self._mark_lost(claim, "ClaimMisbound", "The claim is bound to a volume of a tenant that is not the claim's")
        elif volume_matcher.claim_of(volume) and not volume_matcher.is_for(volume, claim):
            await self._mark_lost(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
        else:
            await self._bind(volume, claim)

    async def _mark_lost(self, claim: Object, reason: str, message: str) -> None:
        if (claim.get("status") or {}).get("phase") != "Lost":
            self._record_event(claim, "Warning", reason, message=message)
            await self._claims.update({**claim, "status": {"phase": "Lost"}}, "status")

    async def _set_status(self, claim: Object, phase: str, **fields: object) -> None:
        status = {**(claim.get("status") or {}), "phase": phase, **fields}
        if status != claim.get("status"):
            await self._claims.update({**claim, "status": status}, "status")


def _attributes(volume: Object, claim: Object) -> Object:
    """Returns the VolumeAttributesClass of a claim that is being bound. Afterwards only drivers write it."""
    if (claim.get("status") or {}).get("phase") == "Bound":
        return {}
    is_own = annotation(volume, volume_matcher.PROVISIONED_BY) == volume_plugins.PROVISIONER
    name = volume_matcher.attributes_class_of(claim if is_own else volume)
    return {"currentVolumeAttributesClassName": name} if name else {}


def _waits_for_consumer(claim: Object, class_: Object | None) -> bool:
    if class_ is None or annotation(claim, volume_matcher.SELECTED_NODE):
        return False
    return class_.get("volumeBindingMode") == "WaitForFirstConsumer"


def _reference(claim: Object) -> Object:
    meta = {name: claim["metadata"][name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta}


def _with(object_: Object, annotations: dict[str, str], **spec: object) -> Object:
    meta = object_["metadata"]
    merged = {**(meta.get("annotations") or {}), **annotations}
    return {**object_, "metadata": {**meta, "annotations": merged}, "spec": {**object_["spec"], **spec}}
