"""Volumes and claims in use stay, whoever deletes them: a finalizer holds them, which is taken off when nobody uses them any more.

A volume is in use while it is bound. A claim is in use while a pod that has a node mounts it, whatever has become of that pod; what
the informer does not know is asked of the server before a claim is let go. A class of volume attributes is in use while a claim or
a volume names it: no harm is done by one that names it a moment too late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from probate.client.informers import Informer, Name, controller_of, name_of
from probate.client.objects import Client, Kind, Object
from probate.client.resources import CLAIMS, PODS, VOLUMES, is_deleting, node_of
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers

AT_ONCE = 200
"""Claims that are looked at together."""
ATTRIBUTES = Kind("storage.k8s.io", "v1", "volumeattributesclasses")
OF_VOLUMES, OF_CLAIMS = "kubernetes.io/pv-protection", "kubernetes.io/pvc-protection"
OF_ATTRIBUTES = "kubernetes.io/vac-protection"


def start_volumes(means: Means) -> list[Workers]:
    """The worker that protects volumes."""
    return [Volumes(means).workers]


def start_claims(means: Means) -> list[Workers]:
    """The worker that protects claims."""
    return [Claims(means).workers]


def start_attributes(means: Means) -> list[Workers]:
    """The worker that protects classes of volume attributes."""
    return [Attributes(means).workers]


class Lists:
    """The pods of namespaces as the server has them now: who asks at the same time shares one answer. (PVC-2)

    An answer that was asked for before is not shared: what has happened since would be missing in it.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked: dict[str, asyncio.Task[list[Object]]] = {}  # that have not begun

    async def of(self, namespace: str) -> list[Object]:
        if namespace not in self._asked:
            self._asked[namespace] = asyncio.ensure_future(self._ask(namespace))
        return await self._asked[namespace]

    async def _ask(self, namespace: str) -> list[Object]:
        await asyncio.sleep(0)  # for others who are about to ask
        del self._asked[namespace]
        return (await self._client.list(PODS, namespace)).items


class Volumes:
    """Holds volumes while they are bound. (PVP-1)"""

    def __init__(self, means: Means) -> None:
        self._volumes = means.informers.of(VOLUMES)
        self.workers = Workers("persistentvolume-protection-controller", self._sync, means.clock)
        self._volumes.listen(_looking_at(self.workers, OF_VOLUMES))

    async def _sync(self, name: Name) -> None:
        volume = self._volumes.get(name)
        if volume is None:
            return
        if _needs(volume, OF_VOLUMES):
            await _hold(self._volumes, volume, OF_VOLUMES)
        elif _is_candidate(volume, OF_VOLUMES) and (volume.get("status") or {}).get("phase") != "Bound":
            await _let_go(self._volumes, volume, OF_VOLUMES)


class Claims:
    """Holds claims while pods use them. (PVC-1 to PVC-5)"""

    def __init__(self, means: Means) -> None:
        self._claims = means.informers.of(CLAIMS)
        self._pods = means.informers.of(PODS)
        self.workers = Workers("persistentvolumeclaim-protection-controller", self._sync, means.clock, at_once=AT_ONCE)
        self._lists = Lists(means.client)
        self._users: dict[Name, dict[Name, None]] = {}  # pods, by the claims that they name
        self._claims.listen(_looking_at(self.workers, OF_CLAIMS))
        self._pods.listen(self._take_pod)

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            for claim in claims_of(old):
                users = self._users.get(claim, {})
                users.pop(name_of(old), None)
                if not users:
                    self._users.pop(claim, None)
                self._look_at(claim)
        if new is not None:
            for claim in claims_of(new):
                self._users.setdefault(claim, {})[name_of(new)] = None

    def _look_at(self, name: Name) -> None:
        claim = self._claims.get(name)
        if claim is not None and _is_candidate(claim, OF_CLAIMS):
            self.workers.add(name)

    async def _sync(self, name: Name) -> None:
        claim = self._claims.get(name)
        if claim is None:
            return
        if _needs(claim, OF_CLAIMS):
            await _hold(self._claims, claim, OF_CLAIMS)
        elif _is_candidate(claim, OF_CLAIMS) and not await self._is_used(claim):
            await _let_go(self._claims, claim, OF_CLAIMS)

    async def _is_used(self, claim: Object) -> bool:
        name = name_of(claim)
        known = (self._pods.get(user) for user in self._users.get(name, ()))
        if any(pod is not None and uses(pod, claim) for pod in known):
            return True
        return any(uses(pod, claim) for pod in await self._lists.of(name.namespace))


class Attributes:
    """Holds classes of volume attributes while claims or volumes are of them, or are about to be."""

    def __init__(self, means: Means) -> None:
        self._classes = means.informers.of(ATTRIBUTES)
        self._users: dict[str, int] = {}  # how many name a class
        self.workers = Workers("volumeattributesclass-protection-controller", self._sync, means.clock)
        self._classes.listen(_looking_at(self.workers, OF_ATTRIBUTES))
        for kind in (CLAIMS, VOLUMES):
            means.informers.of(kind).listen(self._take_user)

    def _take_user(self, old: Object | None, new: Object | None) -> None:
        before, after = attributes_of(old), attributes_of(new)
        for name in after:
            self._users[name] = self._users.get(name, 0) + 1
        for name in before:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
                self.workers.add(Name("", name))

    async def _sync(self, name: Name) -> None:
        class_ = self._classes.get(name)
        if class_ is None:
            return
        if _needs(class_, OF_ATTRIBUTES):
            await _hold(self._classes, class_, OF_ATTRIBUTES)
        elif _is_candidate(class_, OF_ATTRIBUTES) and name.name not in self._users:
            await _let_go(self._classes, class_, OF_ATTRIBUTES)


def attributes_of(user: Object | None) -> set[str]:
    """The classes of volume attributes that a claim or a volume has or is to have."""
    spec, status = ((user or {}).get(part) or {} for part in ("spec", "status"))
    under_way = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    named = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), under_way)
    return {name for name in named if name}


def uses(pod: Object, claim: Object) -> bool:
    """Whether the pod keeps the claim from going. (PVC-4)"""
    if not node_of(pod):
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


def claims_of(pod: Object) -> Iterable[Name]:
    """The claims that the pod names, and those that are made for it."""
    namespace, own = name_of(pod)
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield Name(namespace, volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            yield Name(namespace, f"{own}-{volume['name']}")


def _looking_at(workers: Workers, finalizer: str) -> Callable[[Object | None, Object | None], None]:
    def take(_: Object | None, new: Object | None) -> None:
        if new is not None and (_needs(new, finalizer) or _is_candidate(new, finalizer)):
            workers.add(name_of(new))

    return take


def _is_candidate(object_: Object, finalizer: str) -> bool:
    return is_deleting(object_) and finalizer in (object_["metadata"].get("finalizers") or ())


def _needs(object_: Object, finalizer: str) -> bool:
    return not is_deleting(object_) and finalizer not in (object_["metadata"].get("finalizers") or ())


async def _hold(informer: Informer, object_: Object, finalizer: str) -> None:
    finalizers = [*(object_["metadata"].get("finalizers") or ()), finalizer]
    await informer.update({**object_, "metadata": {**object_["metadata"], "finalizers": finalizers}})


async def _let_go(informer: Informer, object_: Object, finalizer: str) -> None:
    finalizers = [one for one in object_["metadata"]["finalizers"] if one != finalizer]
    await informer.update({**object_, "metadata": {**object_["metadata"], "finalizers": finalizers}})
