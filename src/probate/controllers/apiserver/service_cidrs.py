"""ServiceCIDRs are ready when they are there, and go when nobody has an address of theirs any more that no other one has.

A finalizer holds them until then. Addresses are IPAddresses: when one of these goes, those that wait are looked at again.
"""

from __future__ import annotations

from probate.api.timestamps import timestamp
from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object
from probate.client.resources import is_deleting
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.kinds.networking import service_cidrs
from probate.kinds.networking.service_cidrs import FINALIZER, IN_USE, READY

TITLE = "service-cidr-controller"
RANGES = Kind("networking.k8s.io", "v1", "servicecidrs")
ADDRESSES = Kind("networking.k8s.io", "v1", "ipaddresses")


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [ServiceRanges(means).workers]


class ServiceRanges:
    """Holds ServiceCIDRs, says whether they are ready, and lets them go."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._ranges = means.informers.of(RANGES)
        self._addresses = means.informers.of(ADDRESSES)
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._ranges.listen(self._take_range)
        self._addresses.listen(self._take_address)

    def _take_range(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self.workers.add(name_of(new))
        if old is None:
            self._look_at_leaving()  # a new one may have the addresses that others wait for

    def _take_address(self, _: Object | None, new: Object | None) -> None:
        if new is None:
            self._look_at_leaving()

    def _look_at_leaving(self) -> None:
        for one in self._ranges:
            if is_deleting(one):
                self.workers.add(name_of(one))

    async def _sync(self, name: Name) -> None:
        range_ = self._ranges.get(name)
        if range_ is None:
            return
        held = FINALIZER in (range_["metadata"].get("finalizers") or ())
        if not is_deleting(range_):
            if not held:
                range_ = await self._hold(range_)
            await self._tell(range_, READY)
        elif held and self._is_used(range_):
            await self._tell(range_, IN_USE)
        elif held:
            finalizers = [one for one in range_["metadata"]["finalizers"] if one != FINALIZER]
            await self._ranges.update({**range_, "metadata": {**range_["metadata"], "finalizers": finalizers}})

    def _is_used(self, range_: Object) -> bool:
        others = [one for one in self._ranges if not is_deleting(one)]
        return service_cidrs.is_used(range_, others, self._addresses)

    async def _hold(self, range_: Object) -> Object:
        finalizers = [*(range_["metadata"].get("finalizers") or ()), FINALIZER]
        return await self._ranges.update({**range_, "metadata": {**range_["metadata"], "finalizers": finalizers}})

    async def _tell(self, range_: Object, condition: Object) -> None:
        status = range_.get("status") or {}
        told = status.get("conditions") or []
        put = conditions.put(told, condition, timestamp(self._clock.now()))
        if put != told:
            await self._ranges.update({**range_, "status": {**status, "conditions": put}}, "status")
