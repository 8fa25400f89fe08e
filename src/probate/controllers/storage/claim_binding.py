"""Claims: each gets a volume that fits, or one that is made for it.

A claim and a volume are bound when each names the other. The volume says so first: so no volume is ever had by two, and who comes
second finds it taken. What was begun is finished by whoever looks next.
"""

from __future__ import annotations

from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.client.resources import CLAIMS, CLASSES, VOLUMES, is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.workers import Workers
from probate.controllers.storage import volume_matching, volume_plugins
from probate.controllers.storage.volume_matching import BIND_COMPLETED, BOUND_BY_US, annotation
from probate.core import errors

COMPONENT = "persistentvolume-controller"
STANDARD = "standard"


class Claims:
    """Binds claims."""

    def __init__(self, means: Means) -> None:
        self._tell = Voice(means.events, COMPONENT, "v1", "PersistentVolumeClaim")
        self._makes_class = means.settings.nodes > 0
        self._claims = means.informers.of(CLAIMS)
        self._volumes = means.informers.of(VOLUMES)
        self._classes = means.informers.of(CLASSES)
        self.workers = Workers(f"{COMPONENT} (claims)", self._sync, means.clock)
        if self._makes_class:
            self.workers.add(Name("", STANDARD))
        self._claims.listen(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)
        self._volumes.listen(self._take_volume)
        self._classes.listen(lambda _, new: self._look_at_all() if new is not None else None)

    def _take_volume(self, old: Object | None, new: Object | None) -> None:
        for one in (old, new):
            reference = volume_matching.claim_of(one) if one is not None else {}
            if reference.get("name"):
                self.workers.add(Name(reference["namespace"], reference["name"]))
        if new is not None and not volume_matching.claim_of(new):
            self._look_at_all()

    def _look_at_all(self) -> None:
        """Something came that somebody may have waited for."""
        for claim in self._claims:
            if (claim.get("status") or {}).get("phase") != "Bound":
                self.workers.add(name_of(claim))

    async def _sync(self, name: Name) -> None:
        if not name.namespace:
            await self._ensure_class()
            return
        claim = self._claims.get(name)
        if claim is None:
            return
        if annotation(claim, BIND_COMPLETED):
            await self._keep(claim)
        elif not is_deleting(claim):
            await self._seek(claim)

    async def _ensure_class(self) -> None:
        """Simulated nodes come with a class of storage, if nobody has brought one."""
        if len(self._classes):
            return
        meta = {"name": STANDARD, "annotations": {volume_matching.DEFAULT_CLASS: "true"}}
        class_ = {"provisioner": volume_plugins.OURS, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
        await self._classes.create("", {"metadata": meta, **class_})

    async def _seek(self, claim: Object) -> None:
        """Find a volume for a claim that has none."""
        wanted = claim["spec"].get("volumeName")
        if wanted:
            volume = self._volumes.get(Name("", wanted))
            if volume is None or (volume_matching.claim_of(volume) and not volume_matching.is_for(volume, claim)):
                await self._describe(claim, "Pending")
            elif not volume_matching.fits(volume, claim):
                self._tell(claim, "Warning", "VolumeMismatch", f"volume {wanted} is not what the claim asks for")
                await self._describe(claim, "Pending")
            else:
                await self._bind(volume, claim)
            return
        if "storageClassName" not in claim["spec"]:
            usual = volume_matching.default_class(self._classes)
            if usual is not None:
                spec = {**claim["spec"], "storageClassName": usual["metadata"]["name"]}
                claim = await self._claims.update({**claim, "spec": spec})
        volume = volume_matching.best(self._volumes, claim)
        class_ = self._classes.get(Name("", volume_matching.class_of(claim)))
        if _waits(claim, class_) and (volume is None or not volume_matching.claim_of(volume)):
            self._tell(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
            await self._describe(claim, "Pending")
        elif volume is not None:
            await self._bind(volume, claim)
        else:
            await self._provision(claim, class_)

    async def _provision(self, claim: Object, class_: Object | None) -> None:
        """Have a volume made for a claim that none fits."""
        if class_ is None:
            name = volume_matching.class_of(claim)
            why = f'storageclass.storage.k8s.io "{name}" not found' if name else "there is no volume for it, and it has no class"
            reason = "ProvisioningFailed" if name else "FailedBinding"
            self._tell(claim, "Warning" if name else "Normal", reason, why)
        elif class_["provisioner"] == volume_plugins.OURS:
            try:
                volume = await self._volumes.create("", volume_plugins.new_volume(claim, class_, _reference(claim)))
            except errors.AlreadyExists:
                return  # it comes as news
            self._tell(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {volume['metadata']['name']}")
            await self._bind(volume, claim)
            return
        elif class_["provisioner"] != "kubernetes.io/no-provisioner":
            claim = await self._hand_over(claim, class_["provisioner"])
        await self._describe(claim, "Pending")

    async def _hand_over(self, claim: Object, provisioner: str) -> Object:
        if annotation(claim, volume_matching.PROVISIONER) == provisioner:
            return claim
        self._tell(claim, "Normal", "ExternalProvisioning", f"waiting for a volume to be made by {provisioner!r}")
        return await self._claims.patch(name_of(claim), {"metadata": {"annotations": {volume_matching.PROVISIONER: provisioner}}})

    async def _bind(self, volume: Object, claim: Object) -> None:
        """Let each name the other, the volume first."""
        if volume_matching.claim_of(volume).get("uid") != claim["metadata"]["uid"]:
            notes = {} if volume_matching.claim_of(volume) else {BOUND_BY_US: "yes"}
            volume = await self._volumes.update(_noted(volume, notes, claimRef=_reference(claim)))
        if (volume.get("status") or {}).get("phase") != "Bound":
            volume = await self._volumes.update({**volume, "status": {"phase": "Bound"}}, "status")
        name = volume["metadata"]["name"]
        notes = {BIND_COMPLETED: "yes", **({} if claim["spec"].get("volumeName") else {BOUND_BY_US: "yes"})}
        if not annotation(claim, BIND_COMPLETED) or claim["spec"].get("volumeName") != name:
            claim = await self._claims.update(_noted(claim, notes, volumeName=name))
        has = {"accessModes": volume["spec"]["accessModes"], "capacity": volume["spec"]["capacity"]}
        await self._describe(claim, "Bound", **has, **_attributes(volume, claim))

    async def _keep(self, claim: Object) -> None:
        """Look after a claim that was bound."""
        name = claim["spec"].get("volumeName") or ""
        volume = self._volumes.get(Name("", name)) if name else None
        if volume is None:  # PV-6
            await self._lose(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        elif volume_matching.claim_of(volume) and not volume_matching.is_for(volume, claim):
            await self._lose(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
        else:
            await self._bind(volume, claim)

    async def _lose(self, claim: Object, reason: str, message: str) -> None:
        if (claim.get("status") or {}).get("phase") != "Lost":
            self._tell(claim, "Warning", reason, message)
            await self._claims.update({**claim, "status": {"phase": "Lost"}}, "status")

    async def _describe(self, claim: Object, phase: str, **has: object) -> None:
        status = {**(claim.get("status") or {}), "phase": phase, **has}
        if status != claim.get("status"):
            await self._claims.update({**claim, "status": status}, "status")


def _attributes(volume: Object, claim: Object) -> Object:
    """The VolumeAttributesClass that a claim has from when it is bound. Afterwards it is for drivers to write."""
    if (claim.get("status") or {}).get("phase") == "Bound":
        return {}
    is_ours = annotation(volume, volume_matching.PROVISIONED_BY) == volume_plugins.OURS
    name = volume_matching.attributes_class_of(claim if is_ours else volume)
    return {"currentVolumeAttributesClassName": name} if name else {}


def _waits(claim: Object, class_: Object | None) -> bool:
    if class_ is None or annotation(claim, volume_matching.SELECTED_NODE):
        return False
    return class_.get("volumeBindingMode") == "WaitForFirstConsumer"


def _reference(claim: Object) -> Object:
    meta = {name: claim["metadata"][name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **meta}


def _noted(object_: Object, notes: dict[str, str], **spec: object) -> Object:
    meta = object_["metadata"]
    annotations = {**(meta.get("annotations") or {}), **notes}
    return {**object_, "metadata": {**meta, "annotations": annotations}, "spec": {**object_["spec"], **spec}}
