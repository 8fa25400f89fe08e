"""Protects volumes, claims and VolumeAttributesClasses in use: a finalizer holds a deleting one until it is not used any more.

A volume is in use while it is bound. A claim is in use while a pod that has a node mounts it, whatever the state of that pod;
before a claim is released, the server is asked for pods that have not reached the informer. A VolumeAttributesClass is in use while
a claim or a volume names it; one that names it a moment too late does no harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, controller_of, name_of
from probate.client.objects import Client, GroupVersionResource
from probate.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, is_deleting, node_name_of
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers

CONCURRENCY = 200
"""Claims that are reconciled in parallel."""
ATTRIBUTES_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "volumeattributesclasses")
PV_FINALIZER, PVC_FINALIZER = "kubernetes.io/pv-protection", "kubernetes.io/pvc-protection"
VAC_FINALIZER = "kubernetes.io/vac-protection"


def start_volumes(context: Context) -> list[Workers]:
    """Starts the controller of volumes."""
    return [VolumeProtection(context).workers]


def start_claims(context: Context) -> list[Workers]:
    """Starts the controller of claims."""
    return [ClaimProtection(context).workers]


def start_attributes(context: Context) -> list[Workers]:
    """Starts the controller of VolumeAttributesClasses."""
    return [AttributesClassProtection(context).workers]


class PodLists:
    """Lists the pods of a namespace from the server. Concurrent callers share one request. (PVC-2)

    A request that has begun is not shared: its result may miss what has happened since.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pending: dict[str, asyncio.Task[list[Object]]] = {}  # requests that have not begun

    async def of(self, namespace: str) -> list[Object]:
        if namespace not in self._pending:
            self._pending[namespace] = asyncio.ensure_future(self._request(namespace))
        return await self._pending[namespace]

    async def _request(self, namespace: str) -> list[Object]:
        await asyncio.sleep(0)  # so that other callers can join
        del self._pending[namespace]
        return (await self._client.list(PODS, namespace)).items


class VolumeProtection:
    """Protects volumes while they are bound. (PVP-1)"""

    def __init__(self, context: Context) -> None:
        self._volumes = context.informers.for_resource(PERSISTENT_VOLUMES)
        self.workers = Workers("persistentvolume-protection-controller", self._sync, context.clock)
        self._volumes.add_event_handler(_enqueue_if_affected(self.workers, PV_FINALIZER))

    async def _sync(self, name: NamespacedName) -> None:
        volume = self._volumes.get(name)
        if volume is None:
            return
        if _lacks_finalizer(volume, PV_FINALIZER):
            await _add_finalizer(self._volumes, volume, PV_FINALIZER)
        elif _is_releasable(volume, PV_FINALIZER) and (volume.get("status") or {}).get("phase") != "Bound":
            await _remove_finalizer(self._volumes, volume, PV_FINALIZER)


class ClaimProtection:
    """Protects claims while pods use them. (PVC-1 to PVC-5)"""

    def __init__(self, context: Context) -> None:
        self._claims = context.informers.for_resource(PERSISTENT_VOLUME_CLAIMS)
        self._pods = context.informers.for_resource(PODS)
        self.workers = Workers("persistentvolumeclaim-protection-controller", self._sync, context.clock, at_once=CONCURRENCY)
        self._pod_lists = PodLists(context.client)
        self._users: dict[NamespacedName, dict[NamespacedName, None]] = {}  # pods, by claim
        self._claims.add_event_handler(_enqueue_if_affected(self.workers, PVC_FINALIZER))
        self._pods.add_event_handler(self._on_pod)

    def _on_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            for claim in claims_of(old):
                users = self._users.get(claim, {})
                users.pop(name_of(old), None)
                if not users:
                    self._users.pop(claim, None)
                self._enqueue(claim)
        if new is not None:
            for claim in claims_of(new):
                self._users.setdefault(claim, {})[name_of(new)] = None

    def _enqueue(self, name: NamespacedName) -> None:
        claim = self._claims.get(name)
        if claim is not None and _is_releasable(claim, PVC_FINALIZER):
            self.workers.add(name)

    async def _sync(self, name: NamespacedName) -> None:
        claim = self._claims.get(name)
        if claim is None:
            return
        if _lacks_finalizer(claim, PVC_FINALIZER):
            await _add_finalizer(self._claims, claim, PVC_FINALIZER)
        elif _is_releasable(claim, PVC_FINALIZER) and not await self._is_used(claim):
            await _remove_finalizer(self._claims, claim, PVC_FINALIZER)

    async def _is_used(self, claim: Object) -> bool:
        name = name_of(claim)
        pods = (self._pods.get(user) for user in self._users.get(name, ()))
        if any(pod is not None and uses(pod, claim) for pod in pods):
            return True
        return any(uses(pod, claim) for pod in await self._pod_lists.of(name.namespace))


class AttributesClassProtection:
    """Protects VolumeAttributesClasses while claims or volumes have them, or are about to."""

    def __init__(self, context: Context) -> None:
        self._classes = context.informers.for_resource(ATTRIBUTES_CLASSES)
        self._users: dict[str, int] = {}  # the number of claims and volumes, by class
        self.workers = Workers("volumeattributesclass-protection-controller", self._sync, context.clock)
        self._classes.add_event_handler(_enqueue_if_affected(self.workers, VAC_FINALIZER))
        for kind in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES):
            context.informers.for_resource(kind).add_event_handler(self._on_user)

    def _on_user(self, old: Object | None, new: Object | None) -> None:
        before, after = attributes_of(old), attributes_of(new)
        for name in after:
            self._users[name] = self._users.get(name, 0) + 1
        for name in before:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
                self.workers.add(NamespacedName("", name))

    async def _sync(self, name: NamespacedName) -> None:
        class_ = self._classes.get(name)
        if class_ is None:
            return
        if _lacks_finalizer(class_, VAC_FINALIZER):
            await _add_finalizer(self._classes, class_, VAC_FINALIZER)
        elif _is_releasable(class_, VAC_FINALIZER) and name.name not in self._users:
            await _remove_finalizer(self._classes, class_, VAC_FINALIZER)


def attributes_of(user: Object | None) -> set[str]:
    """Returns the VolumeAttributesClasses that a claim or a volume has or is changing to."""
    spec, status = ((user or {}).get(part) or {} for part in ("spec", "status"))
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    named = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in named if name}


def uses(pod: Object, claim: Object) -> bool:
    """Whether the pod uses the claim. (PVC-4)"""
    if not node_name_of(pod):
        return False
    name, meta = claim["metadata"]["name"], pod["metadata"]
    for volume in pod["spec"].get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        if "ephemeral" in volume and f"{meta['name']}-{volume['name']}" == name:
            owner = controller_of(claim)
            is_shut_down = is_deleting(pod) and meta.get("deletionGracePeriodSeconds") == 0
            if owner is not None and owner["uid"] == meta["uid"] and not is_shut_down:
                return True
    return False


def claims_of(pod: Object) -> Iterable[NamespacedName]:
    """Yields the claims that the pod names, and those of its ephemeral volumes."""
    namespace, pod_name = name_of(pod)
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield NamespacedName(namespace, volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            yield NamespacedName(namespace, f"{pod_name}-{volume['name']}")


def _enqueue_if_affected(workers: Workers, finalizer: str) -> Callable[[Object | None, Object | None], None]:
    def on_change(_: Object | None, new: Object | None) -> None:
        if new is not None and (_lacks_finalizer(new, finalizer) or _is_releasable(new, finalizer)):
            workers.add(name_of(new))

    return on_change


def _is_releasable(object_: Object, finalizer: str) -> bool:
    return is_deleting(object_) and finalizer in (object_["metadata"].get("finalizers") or ())


def _lacks_finalizer(object_: Object, finalizer: str) -> bool:
    return not is_deleting(object_) and finalizer not in (object_["metadata"].get("finalizers") or ())


async def _add_finalizer(informer: Informer, object_: Object, finalizer: str) -> None:
    finalizers = [*(object_["metadata"].get("finalizers") or ()), finalizer]
    await informer.update({**object_, "metadata": {**object_["metadata"], "finalizers": finalizers}})


async def _remove_finalizer(informer: Informer, object_: Object, finalizer: str) -> None:
    finalizers = [other for other in object_["metadata"]["finalizers"] if other != finalizer]
    await informer.update({**object_, "metadata": {**object_["metadata"], "finalizers": finalizers}})
