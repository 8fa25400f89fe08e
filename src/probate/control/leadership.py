"""Which of several servers on one store runs the controllers: whoever holds the Lease.

The holder renews it every few seconds. Others watch the Lease by their own clocks: once it has not changed for its whole duration,
its holder is taken for dead, and the first to write itself into it leads. A holder that cannot renew stops its work well before
that. So two never work at once, as long as their clocks run equally fast; what time they show does not matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from probate import errors
from probate.aio import tasks
from probate.client.objects import Client, Kind, Object
from probate.clock import Clock
from probate.machinery.moments import micro_time

LEASES = Kind("coordination.k8s.io", "v1", "leases")
DURATION_SECONDS = 15.0
PATIENCE_SECONDS = 10.0
"""A holder that has not renewed for so long stops."""
EVERY_SECONDS = 2.0

log = logging.getLogger(__name__)


class Leadership:
    """One candidate. `identity` tells it from all others, also from itself before a restart."""

    def __init__(
        self, client: Client, clock: Clock, identity: str, *, namespace: str = "kube-system", name: str = "probate"
    ) -> None:
        self._client = client
        self._clock = clock
        self._identity = identity
        self._namespace, self._name = namespace, name
        self._seen: tuple[str, float] = ("", 0.0)  # a version of the Lease, and since when it is the newest
        self._is_held_by_another = False
        self.is_leader = False

    async def run(self, work: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Do the work whenever, and as long as, this candidate leads. Never returns."""
        while True:
            while not await self._try():
                await self._clock.sleep(EVERY_SECONDS)
            self.is_leader = True
            log.info("%s leads", self._identity)
            try:
                async with work():
                    await self._renew()
            finally:
                self.is_leader = False
                log.warning("%s does not lead any more", self._identity)

    async def resign(self) -> None:
        """Let the next one lead at once."""
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if lease is not None and lease["spec"].get("holderIdentity") == self._identity:
                await self._client.update(
                    LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}}
                )
        except errors.ApiError as error:
            log.info("the lease could not be given back: %s", error)

    async def _renew(self) -> None:
        """Returns when the lead is lost, or cannot be kept for sure."""
        renewed = self._clock.monotonic()
        while self._clock.monotonic() - renewed < PATIENCE_SECONDS:
            await self._clock.sleep(EVERY_SECONDS)
            began = self._clock.monotonic()
            trying = asyncio.ensure_future(self._try())
            patience = asyncio.ensure_future(self._clock.sleep(PATIENCE_SECONDS - (began - renewed)))
            try:
                await asyncio.wait({trying, patience}, return_when=asyncio.FIRST_COMPLETED)
                if not trying.done():
                    return
                if trying.result():
                    renewed = began
                elif self._is_held_by_another:
                    return
            finally:
                await tasks.stop(trying, patience)

    async def _try(self) -> bool:
        """Write this candidate into the Lease, if it may be. False if not, or if that is not known."""
        self._is_held_by_another = False
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if lease is None:
                await self._client.create(LEASES, self._namespace, {"metadata": {"name": self._name}, "spec": self._spec({})})
                return True
            if not self._may_take(lease):
                self._is_held_by_another = True
                return False
            await self._client.update(LEASES, {**lease, "spec": self._spec(lease.get("spec") or {})})
        except errors.ApiError as error:
            log.info("the lease could not be written: %s", error)
            return False
        return True

    def _may_take(self, lease: Object) -> bool:
        spec, version = lease.get("spec") or {}, lease["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, self._clock.monotonic())
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        return self._clock.monotonic() - self._seen[1] >= float(spec.get("leaseDurationSeconds") or DURATION_SECONDS)

    def _spec(self, before: Object) -> Object:
        now = micro_time(self._clock.now())
        is_new = before.get("holderIdentity") != self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(DURATION_SECONDS),
            "acquireTime": now if is_new else before.get("acquireTime") or now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and before else 0),
        }
