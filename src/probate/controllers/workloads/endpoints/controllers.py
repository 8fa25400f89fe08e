"""The controllers of EndpointSlices and of Endpoints: they follow Services and pods.

Slices belong to their Service, and the collector takes them with it. Endpoints belong to nobody, so their controller deletes them
itself when the Service is gone. (EPS-1, EPS-3)
"""

from __future__ import annotations

from probate.client.informers import Informer, Name, name_of
from probate.client.objects import Object, has_cause
from probate.client.resources import NODES, PODS, is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object, service_pods, trigger_time
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, ZONE
from probate.controllers.workloads.endpoints.trigger_time import Triggers
from probate.controllers.workloads.owner_kinds import namespace_of
from probate.core import errors


def start_slices(means: Means) -> list[Workers]:
    """The workers of the controller of EndpointSlices."""
    return [Slices(means).workers]


def start_endpoints(means: Means) -> list[Workers]:
    """The workers of the controller of Endpoints."""
    return [Endpoints(means).workers]


class Following:
    """Tells workers which services are to be looked at."""

    def __init__(self, services: Informer, pods: Informer, workers: Workers) -> None:
        self._services = services
        self._workers = workers
        services.listen(self._take_service)
        pods.listen(self._take_pod)

    def _take_service(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self._workers.add(name_of(one))

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _is_same(old, new):
            return
        either = [one for one in (old, new) if one is not None]
        for service in self._services.within(namespace_of(either[0])):
            if any(service_pods.selects(service, one) for one in either):
                self._workers.add(name_of(service))


class Slices:
    """The controller of EndpointSlices."""

    def __init__(self, means: Means) -> None:
        self._pods = means.informers.of(PODS)
        self._nodes = means.informers.of(NODES)
        self._slices = means.informers.of(endpoint_slices.SLICES)
        self._services = means.informers.of(SERVICE.resource)
        self._triggers = Triggers()
        self.workers = Workers("endpointslice-controller", self._sync, means.clock)
        Following(self._services, self._pods, self.workers)
        self._slices.listen(self._take_slice)

    def _take_slice(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None and endpoint_slices.is_ours(one) and endpoint_slices.service_of(one):
            self.workers.add(Name(namespace_of(one), endpoint_slices.service_of(one)))

    async def _sync(self, name: Name) -> float | None:
        service = self._services.get(name)
        if service is None or is_deleting(service) or not service_pods.is_kept(service):
            self._triggers.forget(name)
            return None
        there = [
            one
            for one in self._slices.within(name.namespace)
            if endpoint_slices.is_ours(one) and endpoint_slices.service_of(one) == name.name
        ]
        zones = {_name(node): (node["metadata"].get("labels") or {}).get(ZONE, "") for node in self._nodes}
        pods = [pod for pod in self._pods.within(name.namespace) if service_pods.selects(service, pod)]
        changes = endpoint_slices.compare(service, endpoint_slices.wanted(service, pods, zones), there)
        time = self._triggers.note(service, pods)
        for one in changes.creates:
            await made(self._slices, name.namespace, trigger_time.dated(one, time))
        for one in changes.updates:
            await self._slices.update(trigger_time.dated(one, time))
        for one in changes.deletes:
            await self._slices.delete(one)
        return None


class Endpoints:
    """The controller of Endpoints."""

    def __init__(self, means: Means) -> None:
        self._pods = means.informers.of(PODS)
        self._endpoints = means.informers.of(endpoints_object.ENDPOINTS)
        self._services = means.informers.of(SERVICE.resource)
        self._left: set[Name] = set()  # of services that were seen to go
        self._triggers = Triggers()
        self.workers = Workers("endpoint-controller", self._sync, means.clock)
        self._services.listen(self._take_end)
        Following(self._services, self._pods, self.workers)
        self._endpoints.listen(self._take_endpoints)

    def _take_end(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is None:
            self._left.add(name_of(old))

    def _take_endpoints(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self.workers.add(name_of(one))

    async def _sync(self, name: Name) -> float | None:
        service, there = self._services.get(name), self._endpoints.get(name)
        if service is None:
            self._triggers.forget(name)
            if there is not None and (name in self._left or endpoints_object.is_ours(there)):
                await self._endpoints.delete(there)
            self._left.discard(name)
            return None
        self._left.discard(name)
        if is_deleting(service) or not service_pods.is_kept(service):
            return None
        pods = [pod for pod in self._pods.within(name.namespace) if service_pods.selects(service, pod)]
        new, time = endpoints_object.described(service, there, pods), self._triggers.note(service, pods)
        if there is None:
            await made(self._endpoints, name.namespace, trigger_time.dated(new, time))
        elif new != there:
            await self._endpoints.update(trigger_time.dated(new, time))
        return None


async def made(informer: Informer, namespace: str, new: Object) -> None:
    """Create the object. In a namespace that is being deleted nothing can be made, and that is no failure."""
    try:
        await informer.create(namespace, new)
    except errors.ApiError as error:
        if not has_cause(error, "NamespaceTerminating"):
            raise


def _is_same(old: Object, new: Object) -> bool:
    """Whether nothing has changed in the pod that matters here."""
    return old["spec"] == new["spec"] and _matters(old) == _matters(new)


def _matters(pod: Object) -> list[object]:
    status, meta = pod.get("status") or {}, pod["metadata"]
    said = [status.get(name) for name in ("podIP", "podIPs", "phase", "conditions")]
    return [*said, meta.get("labels"), is_deleting(pod), meta["uid"]]


def _name(node: Object) -> str:
    name: str = node["metadata"]["name"]
    return name
