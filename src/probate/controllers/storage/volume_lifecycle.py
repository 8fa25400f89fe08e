"""Applies the reclaim policy of volumes whose claims are gone.

Retain      the volume stays as it is, for an administrator
Delete      the storage behind the volume is deleted, then the volume
Recycle     the storage is erased, and the volume is available again
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, is_pod_finished
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.event_recorder import ObjectEventRecorder
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.controllers.storage import volume_matcher, volume_plugins
from probate.controllers.storage.claim_binder import COMPONENT, ClaimBinding
from probate.controllers.storage.volume_matcher import BOUND_BY_US, PROVISIONED_BY, annotation
from probate.controllers.storage.volume_plugins import Deleter

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.5, 122.0


def start(context: Context) -> list[Workers]:
    """Starts the controller: one queue of claims, and one of volumes."""
    return [ClaimBinding(context).workers, VolumeLifecycle(context).workers]


class VolumeLifecycle:
    """Maintains volumes."""

    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._record_event = ObjectEventRecorder(context.events, COMPONENT, api_version="v1", kind="PersistentVolume")
        self._claims = context.informers.for_resource(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = context.informers.for_resource(PERSISTENT_VOLUMES)
        self._pods = context.informers.for_resource(PODS)
        self._failures: dict[str, int] = {}  # to delete the storage, by the volume's uid
        self.workers = Workers("volumes", self._sync, context.clock)
        self._errors = context.metrics.counter(
            "volume_operation_errors", "Failed operations on volumes.", ("plugin_name", "operation_name")
        )
        for name, what, informer in (("pv", "volumes", self._volumes), ("pvc", "claims", self._claims)):
            for bound in (True, False):
                context.metrics.gauge(
                    f"pv_collector_{'bound' if bound else 'unbound'}_{name}_count",
                    f"The {what} that are {'' if bound else 'not '}bound.",
                    lambda informer=informer, bound=bound: sum(_is_bound(object_) == bound for object_ in informer),  # type: ignore[misc]
                )
        context.metrics.gauge("pv_collector_total_pv_count", "All volumes.", lambda: len(self._volumes))
        self._volumes.add_event_handler(self._on_volume)
        self._claims.add_event_handler(self._on_claim)
        self._pods.add_event_handler(self._on_pod)

    def _on_volume(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))
        elif old is not None:
            self._failures.pop(old["metadata"]["uid"], None)

    def _on_claim(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the claim's volume. (PV-6)"""
        for claim in (old, new):
            name = claim["spec"].get("volumeName") if claim is not None else None
            if name:
                self.workers.add(NamespacedName("", name))
        removed = old if new is None else None
        if removed is not None and not removed["spec"].get("volumeName"):
            for volume in self._volumes:
                if volume_matcher.claim_of(volume).get("uid") == removed["metadata"]["uid"]:
                    self.workers.add(name_of(volume))

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the volumes that may wait for this pod to be recycled."""
        if old is not None and (new is None or is_pod_finished(new)):
            for volume in self._volumes:
                phase = (volume.get("status") or {}).get("phase")
                if phase == "Released" and volume_matcher.claim_of(volume).get("name") in _claims_of(old):
                    self.workers.add(name_of(volume))

    async def _sync(self, name: NamespacedName) -> Result:
        volume = self._volumes.get(name)
        if volume is None:
            return None
        volume = await self._update_metadata(volume)
        if not volume_matcher.claim_of(volume).get("uid"):  # PV-1
            await self._set_status(volume, "Available")
            return None
        claim = await self._claim_of(volume)
        if claim is None:  # PV-4
            return await self._release(volume)
        bound = claim["spec"].get("volumeName")
        if bound == name.name:
            await self._set_status(volume, "Bound")
        elif bound:  # PV-5
            is_made = bool(annotation(volume, PROVISIONED_BY)) and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
            if is_made:
                return await self._release(volume)
            await self._unbind(volume)
        return None

    async def _update_metadata(self, volume: Object) -> Object:
        finalizers = volume_plugins.finalizers(volume)
        if finalizers == (volume["metadata"].get("finalizers") or []) or not annotation(volume, PROVISIONED_BY):
            return volume
        return await self._volumes.update({**volume, "metadata": {**volume["metadata"], "finalizers": finalizers}})

    async def _claim_of(self, volume: Object) -> Object | None:
        """Returns the volume's claim if it exists; reads it from the server if it seems to be gone. (PV-2, PV-3)"""
        reference = volume_matcher.claim_of(volume)
        name = volume_matcher.claim_name(volume)
        if not (name.namespace and name.name):
            return None
        claim = self._claims.get(name)
        is_over = (volume.get("status") or {}).get("phase") in {"Released", "Failed"}
        if (claim is None and not is_over) or (claim is not None and claim["metadata"]["uid"] != reference["uid"]):
            claim = await self._client.get(PERSISTENT_VOLUME_CLAIMS, name.namespace, name.name)
        return claim if claim is not None and claim["metadata"]["uid"] == reference["uid"] else None

    async def _release(self, volume: Object) -> Result:
        """Applies the reclaim policy: the claim is gone. (PV-4, PV-8)"""
        if (volume.get("status") or {}).get("phase") not in {"Released", "Failed"}:
            volume = await self._set_status(volume, "Released")
        if annotation(volume, volume_matcher.MIGRATED_TO):
            return None
        match volume["spec"].get("persistentVolumeReclaimPolicy") or "Retain":
            case "Retain":
                return None
            case "Delete":
                return await self._delete(volume)
            case "Recycle":
                await self._recycle(volume)
                return None
            case policy:
                await self._fail(volume, "VolumeUnknownReclaimPolicy", f"there is no reclaim policy {policy!r}")
                return None

    async def _delete(self, volume: Object) -> Result:
        """Deletes the storage behind the volume, then the volume. Returns when to retry. (PV-11 to PV-15)"""
        deleter = volume_plugins.deleter_of(volume)
        if deleter is Deleter.EXTERNAL:
            return None
        if deleter is Deleter.NOBODY:
            await self._fail(volume, "VolumeFailedDelete", "no volume plugin can delete it")
            return None
        live = await self._still_released(volume)
        if live is None:
            return None
        failure = volume_plugins.delete(live)
        if failure is not None:
            self._errors[volume_plugins.HOST_PATH, "delete"] += 1
            await self._fail(volume, "VolumeFailedDelete", failure.message)
            return self._retry(volume)
        self._failures.pop(volume["metadata"]["uid"], None)
        finalizers = [other for other in live["metadata"].get("finalizers") or [] if other != volume_plugins.FINALIZER]
        if finalizers != (live["metadata"].get("finalizers") or []):
            live = await self._volumes.update({**live, "metadata": {**live["metadata"], "finalizers": finalizers}})
        await self._volumes.delete(live)
        return None

    async def _still_released(self, volume: Object) -> Object | None:
        """Returns the volume as the server has it, if it still refers to the claim that is gone. (PV-10, PV-12)"""
        live = await self._client.get(PERSISTENT_VOLUMES, "", volume["metadata"]["name"])
        if live is None or live["metadata"]["uid"] != volume["metadata"]["uid"]:
            return None
        reference = volume_matcher.claim_of(live)
        if not reference.get("uid") or reference != volume_matcher.claim_of(volume):
            return None
        claim = self._claims.get(volume_matcher.claim_name(live))
        is_back = claim is not None and claim["metadata"]["uid"] == reference["uid"]
        if claim is not None and is_back and claim["spec"].get("volumeName", "") in {"", live["metadata"]["name"]}:
            return None
        return live

    def _retry(self, volume: Object) -> float:
        """Returns in how many seconds to retry: exponential backoff. (PV-9)"""
        failures = self._failures.get(volume["metadata"]["uid"], 0)
        self._failures[volume["metadata"]["uid"]] = failures + 1
        return min(FIRST_RETRY_SECONDS * 2.0 ** min(failures, 10), MAX_RETRY_SECONDS)

    async def _recycle(self, volume: Object) -> None:
        """Erases the storage, unless a pod still uses it. (PV-17, PV-18)"""
        name = volume_matcher.claim_name(volume)
        is_used = any(name.name in _claims_of(pod) for pod in self._pods.in_namespace(name.namespace) if not is_pod_finished(pod))
        if is_used and self._claims.get(name) is None:
            self._record_event(volume, "Normal", "VolumeFailedRecycle", message="a pod still uses the volume")
            return
        live = await self._still_released(volume)
        if live is None:
            return
        failure = volume_plugins.recycle(live)
        if failure is not None:
            self._errors["", "recycle"] += 1
            await self._fail(volume, "VolumeFailedRecycle", failure.message)
            return
        self._record_event(volume, "Normal", "VolumeRecycled", message="Volume recycled")
        await self._unbind(live)

    async def _unbind(self, volume: Object) -> None:
        """Makes the volume available to any claim or, if a user chose its claim, to a claim of that name. (PV-5)"""
        spec, meta = dict(volume["spec"]), dict(volume["metadata"])
        if annotation(volume, BOUND_BY_US):
            meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != BOUND_BY_US}
            del spec["claimRef"]
        else:
            spec["claimRef"] = {key: value for key, value in spec["claimRef"].items() if key not in ("uid", "resourceVersion")}
        await self._set_status(await self._volumes.update({**volume, "metadata": meta, "spec": spec}), "Available")

    async def _fail(self, volume: Object, reason: str, message: str) -> None:
        status = volume.get("status") or {}
        if (status.get("phase"), status.get("message")) != ("Failed", message):
            self._record_event(volume, "Warning", reason, message=message)
            await self._set_status(volume, "Failed", message=message)

    async def _set_status(self, volume: Object, phase: str, **fields: str) -> Object:
        if (volume.get("status") or {}).get("phase") == phase and not fields:
            return volume
        return await self._volumes.update({**volume, "status": {"phase": phase, **fields}}, "status")


def _is_bound(object_: Object) -> bool:
    return (object_.get("status") or {}).get("phase") == "Bound"


def _claims_of(pod: Object) -> set[str]:
    volumes = pod["spec"].get("volumes") or ()
    return {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one}
