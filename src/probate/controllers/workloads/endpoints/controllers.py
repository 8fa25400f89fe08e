"""The EndpointSlice and Endpoints controllers: they follow Services and pods.

EndpointSlices are owned by their Service, so the garbage collector deletes them with it. Endpoints have no owner, so their
controller deletes them itself when the Service is gone. (EPS-1, EPS-3)
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, name_of
from probate.client.objects import is_terminating
from probate.client.resources import NODES, PODS, is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads.endpoints import endpoint_slices, endpoints_object, service_pods, trigger_time
from probate.controllers.workloads.endpoints.endpoint_slices import SERVICE, ZONE
from probate.controllers.workloads.endpoints.trigger_time import TriggerTimeTracker
from probate.controllers.workloads.owner_kinds import namespace_of
from probate.core import errors


def start_slices(context: Context) -> list[Workers]:
    """Returns the workers of the EndpointSlice controller."""
    return [EndpointSliceController(context).workers]


def start_endpoints(context: Context) -> list[Workers]:
    """Returns the workers of the Endpoints controller."""
    return [EndpointsController(context).workers]


class ServiceEnqueuer:
    """Enqueues the Services that a change of a Service or a pod concerns."""

    def __init__(self, services: Informer, pods: Informer, workers: Workers) -> None:
        self._services = services
        self._workers = workers
        services.add_event_handler(self._on_service_change)
        pods.add_event_handler(self._on_pod_change)

    def _on_service_change(self, old: Object | None, new: Object | None) -> None:
        service = new or old
        if service is not None:
            self._workers.add(name_of(service))

    def _on_pod_change(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _has_same_endpoints(old, new):
            return
        versions = [pod for pod in (old, new) if pod is not None]
        for service in self._services.in_namespace(namespace_of(versions[0])):
            if any(service_pods.selects(service, pod) for pod in versions):
                self._workers.add(name_of(service))


class EndpointSliceController:
    """Reconciles the EndpointSlices of Services."""

    def __init__(self, context: Context) -> None:
        self._pods = context.informers.for_resource(PODS)
        self._nodes = context.informers.for_resource(NODES)
        self._slices = context.informers.for_resource(endpoint_slices.SLICES)
        self._services = context.informers.for_resource(SERVICE.resource)
        self._trigger_times = TriggerTimeTracker()
        self.workers = Workers("endpointslice-controller", self._sync, context.clock)
        ServiceEnqueuer(self._services, self._pods, self.workers)
        self._slices.add_event_handler(self._on_slice_change)

    def _on_slice_change(self, old: Object | None, new: Object | None) -> None:
        endpoint_slice = new or old
        if endpoint_slice is not None and endpoint_slices.is_managed(endpoint_slice) and endpoint_slices.service_of(endpoint_slice):
            self.workers.add(NamespacedName(namespace_of(endpoint_slice), endpoint_slices.service_of(endpoint_slice)))

    async def _sync(self, name: NamespacedName) -> float | None:
        service = self._services.get(name)
        if service is None or is_deleting(service) or not service_pods.has_managed_endpoints(service):
            self._trigger_times.forget(name)
            return None
        existing = [
            endpoint_slice
            for endpoint_slice in self._slices.in_namespace(name.namespace)
            if endpoint_slices.is_managed(endpoint_slice) and endpoint_slices.service_of(endpoint_slice) == name.name
        ]
        zones = {_name(node): (node["metadata"].get("labels") or {}).get(ZONE, "") for node in self._nodes}
        pods = [pod for pod in self._pods.in_namespace(name.namespace) if service_pods.selects(service, pod)]
        changes = endpoint_slices.diff_slices(service, endpoint_slices.desired_endpoints(service, pods, zones), existing)
        changed_at = self._trigger_times.compute(service, pods)
        for endpoint_slice in changes.creates:
            await create_unless_terminating(
                self._slices, name.namespace, trigger_time.with_trigger_time(endpoint_slice, changed_at)
            )
        for endpoint_slice in changes.updates:
            await self._slices.update(trigger_time.with_trigger_time(endpoint_slice, changed_at))
        for endpoint_slice in changes.deletes:
            await self._slices.delete(endpoint_slice)
        return None


class EndpointsController:
    """Reconciles the Endpoints of Services."""

    def __init__(self, context: Context) -> None:
        self._pods = context.informers.for_resource(PODS)
        self._endpoints = context.informers.for_resource(endpoints_object.ENDPOINTS)
        self._services = context.informers.for_resource(SERVICE.resource)
        self._deleted_services: set[NamespacedName] = set()  # since the start of this process, until their Endpoints are deleted
        self._trigger_times = TriggerTimeTracker()
        self.workers = Workers("endpoint-controller", self._sync, context.clock)
        self._services.add_event_handler(self._on_service_deletion)
        ServiceEnqueuer(self._services, self._pods, self.workers)
        self._endpoints.add_event_handler(self._on_endpoints_change)

    def _on_service_deletion(self, old: Object | None, new: Object | None) -> None:
        if old is not None and new is None:
            self._deleted_services.add(name_of(old))

    def _on_endpoints_change(self, old: Object | None, new: Object | None) -> None:
        endpoints = new or old
        if endpoints is not None:
            self.workers.add(name_of(endpoints))

    async def _sync(self, name: NamespacedName) -> float | None:
        service, existing = self._services.get(name), self._endpoints.get(name)
        if service is None:
            self._trigger_times.forget(name)
            if existing is not None and (name in self._deleted_services or endpoints_object.is_managed(existing)):
                await self._endpoints.delete(existing)
            self._deleted_services.discard(name)
            return None
        self._deleted_services.discard(name)
        if is_deleting(service) or not service_pods.has_managed_endpoints(service):
            return None
        pods = [pod for pod in self._pods.in_namespace(name.namespace) if service_pods.selects(service, pod)]
        desired, changed_at = endpoints_object.desired_object(service, existing, pods), self._trigger_times.compute(service, pods)
        if existing is None:
            await create_unless_terminating(self._endpoints, name.namespace, trigger_time.with_trigger_time(desired, changed_at))
        elif desired != existing:
            await self._endpoints.update(trigger_time.with_trigger_time(desired, changed_at))
        return None


async def create_unless_terminating(informer: Informer, namespace: str, object_: Object) -> None:
    """Creates the object. A terminating namespace rejects it; that is not an error."""
    try:
        await informer.create(namespace, object_)
    except errors.ApiError as error:
        if not is_terminating(error):
            raise


def _has_same_endpoints(old: Object, new: Object) -> bool:
    """Returns whether the two versions of a pod have the same endpoints."""
    return old["spec"] == new["spec"] and _endpoint_fields(old) == _endpoint_fields(new)


def _endpoint_fields(pod: Object) -> list[object]:
    status, meta = pod.get("status") or {}, pod["metadata"]
    fields = [status.get(name) for name in ("podIP", "podIPs", "phase", "conditions")]
    return [*fields, meta.get("labels"), is_deleting(pod), meta["uid"]]


def _name(node: Object) -> str:
    name: str = node["metadata"]["name"]
    return name
