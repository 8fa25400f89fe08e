"""Marks ServiceCIDRs as ready, and holds a deleting one with a finalizer while an IPAddress needs it.

An IPAddress needs a ServiceCIDR if no other ServiceCIDR contains it. When an IPAddress is removed, deleting ServiceCIDRs are
checked again.
"""

from __future__ import annotations

from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.kinds.networking import service_cidrs
from probate.kinds.networking.service_cidrs import FINALIZER, IN_USE, READY

TITLE = "service-cidr-controller"
SERVICE_CIDRS = GroupVersionResource("networking.k8s.io", "v1", "servicecidrs")
IP_ADDRESSES = GroupVersionResource("networking.k8s.io", "v1", "ipaddresses")


def start(context: Context) -> list[Workers]:
    """Starts the controller."""
    return [ServiceCidrs(context).workers]


class ServiceCidrs:
    """Maintains the finalizer and the conditions of ServiceCIDRs."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._cidrs = context.informers.for_resource(SERVICE_CIDRS)
        self._addresses = context.informers.for_resource(IP_ADDRESSES)
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._cidrs.add_event_handler(self._on_range)
        self._addresses.add_event_handler(self._on_address)

    def _on_range(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))
        if old is None:
            self._enqueue_deleting()  # a new one may contain the addresses that need them

    def _on_address(self, _: Object | None, new: Object | None) -> None:
        if new is None:
            self._enqueue_deleting()

    def _enqueue_deleting(self) -> None:
        for cidr in self._cidrs:
            if is_deleting(cidr):
                self.workers.add(name_of(cidr))

    async def _sync(self, name: NamespacedName) -> None:
        cidr = self._cidrs.get(name)
        if cidr is None:
            return
        has_finalizer = FINALIZER in (cidr["metadata"].get("finalizers") or ())
        if not is_deleting(cidr):
            if not has_finalizer:
                cidr = await self._add_finalizer(cidr)
            await self._set_condition(cidr, READY)
        elif has_finalizer and self._is_used(cidr):
            await self._set_condition(cidr, IN_USE)
        elif has_finalizer:
            finalizers = [finalizer for finalizer in cidr["metadata"]["finalizers"] if finalizer != FINALIZER]
            await self._cidrs.update({**cidr, "metadata": {**cidr["metadata"], "finalizers": finalizers}})

    def _is_used(self, cidr: Object) -> bool:
        others = [other for other in self._cidrs if not is_deleting(other)]
        return service_cidrs.is_used(cidr, others, self._addresses)

    async def _add_finalizer(self, cidr: Object) -> Object:
        finalizers = [*(cidr["metadata"].get("finalizers") or ()), FINALIZER]
        return await self._cidrs.update({**cidr, "metadata": {**cidr["metadata"], "finalizers": finalizers}})

    async def _set_condition(self, cidr: Object, condition: Object) -> None:
        status = cidr.get("status") or {}
        before = status.get("conditions") or []
        after = conditions.replace(before, condition, format_time(self._clock.now()))
        if after != before:
            await self._cidrs.update({**cidr, "status": {**status, "conditions": after}}, "status")
