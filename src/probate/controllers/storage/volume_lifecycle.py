"""Volumes: what becomes of them when their claims are gone.

Retain      they stay as they are, for somebody to look after
Delete      what they stand for is deleted, and then they are
Recycle     they are made as good as new, and anybody can have them
"""

from __future__ import annotations

from probate.client.informers import Name, name_of
from probate.client.objects import Object
from probate.client.resources import CLAIMS, PODS, VOLUMES, is_finished
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.event_recorder import Voice
from probate.controllers.runtime.workers import Workers
from probate.controllers.storage import volume_matching, volume_plugins
from probate.controllers.storage.claim_binding import COMPONENT, Claims
from probate.controllers.storage.volume_matching import BOUND_BY_US, PROVISIONED_BY, annotation
from probate.controllers.storage.volume_plugins import Deleter

FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 0.5, 122.0


def start(means: Means) -> list[Workers]:
    """The workers of claims and of volumes, which are told by the informers where to look."""
    return [Claims(means).workers, Volumes(means).workers]


class Volumes:
    """Looks after volumes."""

    def __init__(self, means: Means) -> None:
        self._client = means.client
        self._tell = Voice(means.events, COMPONENT, "v1", "PersistentVolume")
        self._claims = means.informers.of(CLAIMS)
        self._volumes = means.informers.of(VOLUMES)
        self._pods = means.informers.of(PODS)
        self._failures: dict[str, int] = {}  # of deleting what a volume stands for, by its uid
        self.workers = Workers(f"{COMPONENT} (volumes)", self._sync, means.clock)
        self._errors = means.metrics.counter(
            "volume_operation_errors", "Failed operations on volumes.", ("plugin_name", "operation_name")
        )
        for name, what, informer in (("pv", "volumes", self._volumes), ("pvc", "claims", self._claims)):
            for bound in (True, False):
                means.metrics.gauge(
                    f"pv_collector_{'bound' if bound else 'unbound'}_{name}_count",
                    f"The {what} that are {'' if bound else 'not '}bound.",
                    lambda informer=informer, bound=bound: sum(_is_bound(one) == bound for one in informer),  # type: ignore[misc]
                )
        means.metrics.gauge("pv_collector_total_pv_count", "All volumes.", lambda: len(self._volumes))
        self._volumes.listen(self._take_volume)
        self._claims.listen(self._take_claim)
        self._pods.listen(self._take_pod)

    def _take_volume(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))
        elif old is not None:
            self._failures.pop(old["metadata"]["uid"], None)

    def _take_claim(self, old: Object | None, new: Object | None) -> None:
        """What becomes of a claim concerns its volume. (PV-6)"""
        for one in (old, new):
            name = one["spec"].get("volumeName") if one is not None else None
            if name:
                self.workers.add(Name("", name))
        gone = old if new is None else None
        if gone is not None and not gone["spec"].get("volumeName"):
            for volume in self._volumes:
                if volume_matching.claim_of(volume).get("uid") == gone["metadata"]["uid"]:
                    self.workers.add(name_of(volume))

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        """A volume may wait to be recycled until no pod uses it."""
        if old is not None and (new is None or is_finished(new)):
            for volume in self._volumes:
                phase = (volume.get("status") or {}).get("phase")
                if phase == "Released" and volume_matching.claim_of(volume).get("name") in _claims_of(old):
                    self.workers.add(name_of(volume))

    async def _sync(self, name: Name) -> float | None:
        volume = self._volumes.get(name)
        if volume is None:
            return None
        volume = await self._upkeep(volume)
        if not volume_matching.claim_of(volume).get("uid"):  # PV-1
            await self._describe(volume, "Available")
            return None
        claim = await self._claim_of(volume)
        if claim is None:  # PV-4
            return await self._release(volume)
        bound = claim["spec"].get("volumeName")
        if bound == name.name:
            await self._describe(volume, "Bound")
        elif bound:  # PV-5
            is_made = bool(annotation(volume, PROVISIONED_BY)) and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
            if is_made:
                return await self._release(volume)
            await self._unbind(volume)
        return None

    async def _upkeep(self, volume: Object) -> Object:
        wanted = volume_plugins.finalizers(volume)
        if wanted == (volume["metadata"].get("finalizers") or []) or not annotation(volume, PROVISIONED_BY):
            return volume
        return await self._volumes.update({**volume, "metadata": {**volume["metadata"], "finalizers": wanted}})

    async def _claim_of(self, volume: Object) -> Object | None:
        """The volume's claim, if that is there: asked of the server when it seems to be gone. (PV-2, PV-3)"""
        reference = volume_matching.claim_of(volume)
        name = Name(reference["namespace"], reference["name"])
        claim = self._claims.get(name)
        is_over = (volume.get("status") or {}).get("phase") in {"Released", "Failed"}
        if (claim is None and not is_over) or (claim is not None and claim["metadata"]["uid"] != reference["uid"]):
            claim = await self._client.get(CLAIMS, name.namespace, name.name)
        return claim if claim is not None and claim["metadata"]["uid"] == reference["uid"] else None

    async def _release(self, volume: Object) -> float | None:
        """The volume's claim is gone. (PV-4, PV-8)"""
        if (volume.get("status") or {}).get("phase") not in {"Released", "Failed"}:
            volume = await self._describe(volume, "Released")
        if annotation(volume, volume_matching.MIGRATED_TO):
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

    async def _delete(self, volume: Object) -> float | None:
        """Delete what the volume stands for, and then the volume. Returns when to try again. (PV-11 to PV-15)"""
        deleter = volume_plugins.deleter_of(volume)
        if deleter is Deleter.EXTERNAL:
            return None
        if deleter is Deleter.NOBODY:
            await self._fail(volume, "VolumeFailedDelete", "no volume plugin can delete it")
            return None
        live = await self._still_released(volume)
        if live is None:
            return None
        trouble = volume_plugins.delete(live)
        if trouble is not None:
            self._errors[volume_plugins.HOST_PATH, "delete"] += 1
            await self._fail(volume, "VolumeFailedDelete", trouble.message)
            return self._retry(volume)
        self._failures.pop(volume["metadata"]["uid"], None)
        kept = [one for one in live["metadata"].get("finalizers") or [] if one != volume_plugins.FINALIZER]
        if kept != (live["metadata"].get("finalizers") or []):
            live = await self._volumes.update({**live, "metadata": {**live["metadata"], "finalizers": kept}})
        await self._volumes.delete(live)
        return None

    async def _still_released(self, volume: Object) -> Object | None:
        """The volume as it really is, if its claim is still the one that is gone. (PV-10, PV-12)"""
        live = await self._client.get(VOLUMES, "", volume["metadata"]["name"])
        if live is None or live["metadata"]["uid"] != volume["metadata"]["uid"]:
            return None
        reference = volume_matching.claim_of(live)
        if not reference.get("uid") or reference != volume_matching.claim_of(volume):
            return None
        claim = self._claims.get(Name(reference["namespace"], reference["name"]))
        is_back = claim is not None and claim["metadata"]["uid"] == reference["uid"]
        if claim is not None and is_back and claim["spec"].get("volumeName", "") in {"", live["metadata"]["name"]}:
            return None
        return live

    def _retry(self, volume: Object) -> float:
        """In how many seconds to try again: later each time. (PV-9)"""
        times = self._failures.get(volume["metadata"]["uid"], 0)
        self._failures[volume["metadata"]["uid"]] = times + 1
        return min(FIRST_RETRY_SECONDS * 2.0 ** min(times, 10), LONGEST_RETRY_SECONDS)

    async def _recycle(self, volume: Object) -> None:
        """Make the volume as good as new, unless a pod still uses it. (PV-17, PV-18)"""
        reference = volume_matching.claim_of(volume)
        name = Name(reference["namespace"], reference["name"])
        is_used = any(name.name in _claims_of(pod) for pod in self._pods.within(name.namespace) if not is_finished(pod))
        if is_used and self._claims.get(name) is None:
            self._tell(volume, "Normal", "VolumeFailedRecycle", "a pod still uses the volume")
            return
        live = await self._still_released(volume)
        if live is None:
            return
        trouble = volume_plugins.recycle(live)
        if trouble is not None:
            self._errors["", "recycle"] += 1
            await self._fail(volume, "VolumeFailedRecycle", trouble.message)
            return
        self._tell(volume, "Normal", "VolumeRecycled", "Volume recycled")
        await self._unbind(live)

    async def _unbind(self, volume: Object) -> None:
        """Let anybody have the volume; if its claim was chosen by a user, only a claim of that name. (PV-5)"""
        spec, meta = dict(volume["spec"]), dict(volume["metadata"])
        if annotation(volume, BOUND_BY_US):
            meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != BOUND_BY_US}
            del spec["claimRef"]
        else:
            spec["claimRef"] = {key: value for key, value in spec["claimRef"].items() if key not in ("uid", "resourceVersion")}
        await self._describe(await self._volumes.update({**volume, "metadata": meta, "spec": spec}), "Available")

    async def _fail(self, volume: Object, reason: str, message: str) -> None:
        status = volume.get("status") or {}
        if (status.get("phase"), status.get("message")) != ("Failed", message):
            self._tell(volume, "Warning", reason, message)
            await self._describe(volume, "Failed", message=message)

    async def _describe(self, volume: Object, phase: str, **more: str) -> Object:
        if (volume.get("status") or {}).get("phase") == phase and not more:
            return volume
        return await self._volumes.update({**volume, "status": {"phase": phase, **more}}, "status")


def _is_bound(object_: Object) -> bool:
    return (object_.get("status") or {}).get("phase") == "Bound"


def _claims_of(pod: Object) -> set[str]:
    volumes = pod["spec"].get("volumes") or ()
    return {one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one}
