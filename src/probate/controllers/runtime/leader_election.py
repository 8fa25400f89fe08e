"""Leader election: of several servers on one store, the holder of a Lease runs the controllers.

The holder renews the Lease twice a second. The other candidates watch it. A candidate counts the holder as dead when the Lease has
not changed for its whole duration, by the candidate's own monotonic clock; the first candidate to write itself into the Lease then
leads. A Lease that was released is taken at once. Wall clocks do not matter.

The duration is short, so that a new holder works within 2 s after the old one was killed. A holder that was merely held up for
longer loses the Lease, and learns of it at its next renewal. Until then two may work at once, which does no harm: every write of a
controller is refused if it was based on an old version, and if both created the same object, each sees that one is surplus. So a
holder stops by itself only when it could not reach the store for long, when none of its writes would arrive anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from probate.api.objects import Object
from probate.api.timestamps import format_micro_time
from probate.client.informers import Informer, NamespacedName, name_of
from probate.client.objects import Client, GroupVersionResource
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.logs import facts

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
DURATION_SECONDS = 2
"""A whole number, as the API requires."""
RENEW_SECONDS = 0.5
MAX_UNREACHABLE_SECONDS = 10.0
"""A holder that could not reach the store for so long stops."""
STALL_GRACE_SECONDS = 1.0
"""How long a holder has to renew after the store has stalled for all clients and answers again."""

log = logging.getLogger(__name__)


class LeaderElection:
    """One candidate. `identity` is unique, also across restarts of the same server."""

    def __init__(
        self, client: Client, clock: Clock, identity: str, *, namespace: str = "kube-system", name: str = "probate"
    ) -> None:
        self._client = client
        self._clock = clock
        self._identity = identity
        self._namespace, self._name = namespace, name
        self._version = ""  # resourceVersion of the Lease that this candidate read last
        self._expires = 0.0  # when its holder counts as dead, by our monotonic clock
        self._stalled_version = ""  # the resourceVersion that was granted `STALL_GRACE_SECONDS`
        self._changed = asyncio.Event()
        self._is_held_by_another = False
        self.is_leader = False

    async def run(self, work: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Enters the context whenever this candidate becomes the holder, for as long as it is. Never returns."""
        while True:
            await self._acquire()
            self.is_leader = True
            log.info("became leader", extra=facts(identity=self._identity))
            try:
                async with work():
                    await self._renew()
            finally:
                self.is_leader = False
                log.warning("stopped leading", extra=facts(identity=self._identity))

    async def resign(self) -> None:
        """Releases the Lease, so that the next candidate leads at once."""
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if lease is not None and lease["spec"].get("holderIdentity") == self._identity:
                await self._client.update(
                    LEASES, {**lease, "spec": {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}}
                )
        except errors.ApiError as error:
            log.info("lease not released", extra=facts(identity=self._identity, error=str(error)))

    async def _acquire(self) -> None:
        """Blocks until this candidate holds the Lease."""
        if await self._try():  # there is usually no other candidate: then nothing has to be watched
            return
        informer = Informer(self._client, LEASES, self._clock, field_selector=f"metadata.name={self._name}")
        informer.add_event_handler(self._on_change)
        following = asyncio.ensure_future(informer.run())
        try:
            while not await self._try():
                await self._wait_for_expiry()
        finally:
            await tasks.stop(following)

    def _on_change(self, before: Object | None, after: Object | None) -> None:
        if name_of(after or before or {}) != NamespacedName(self._namespace, self._name):
            return
        if after is None:  # a client deleted it
            self._expires = self._clock.monotonic()
        else:
            self._observe(after)
        self._changed.set()

    async def _wait_for_expiry(self) -> None:
        """Blocks until the Lease may be free, at the latest until its holder counts as dead."""
        if not self._is_held_by_another:  # the attempt failed for an unknown reason
            await self._clock.sleep(RENEW_SECONDS)
        while (remaining := self._expires - self._clock.monotonic()) > 0:
            self._changed.clear()
            changed, expired = asyncio.ensure_future(self._changed.wait()), asyncio.ensure_future(self._clock.sleep(remaining))
            try:
                await asyncio.wait({changed, expired}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await tasks.stop(changed, expired)

    async def _renew(self) -> None:
        """Renews until another candidate holds the Lease, or the store could not be reached for long."""
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(RENEW_SECONDS)
            began = self._clock.monotonic()
            trying = asyncio.ensure_future(self._try())
            # However late it is, try once more: a holder that was merely busy still holds the Lease if no other has taken it.
            timeout = asyncio.ensure_future(self._clock.sleep(max(renewed + MAX_UNREACHABLE_SECONDS - began, RENEW_SECONDS)))
            try:
                await asyncio.wait({trying, timeout}, return_when=asyncio.FIRST_COMPLETED)
                if trying.done() and trying.result():
                    renewed = began
                elif self._is_held_by_another or self._clock.monotonic() - renewed >= MAX_UNREACHABLE_SECONDS:
                    return
            finally:
                await tasks.stop(trying, timeout)

    async def _try(self) -> bool:
        """Writes this candidate into the Lease if it may. Returns False if it may not, or if the outcome is unknown."""
        self._is_held_by_another = False
        began = self._clock.monotonic()
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
            if lease is None:
                await self._client.create(LEASES, self._namespace, {"metadata": {"name": self._name}, "spec": self._spec({})})
                return True
            if not self._may_take(lease, since=began):
                self._is_held_by_another = True
                return False
            await self._client.update(LEASES, {**lease, "spec": self._spec(lease.get("spec") or {})})
        except errors.ApiError as error:
            log.info("lease not written", extra=facts(identity=self._identity, error=str(error)))
            return False
        return True

    def _may_take(self, lease: Object, *, since: float) -> bool:
        self._observe(lease)
        now, holder = self._clock.monotonic(), (lease.get("spec") or {}).get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        if now - since >= RENEW_SECONDS and self._stalled_version != self._version:  # the store stalled, and so did renewals
            self._expires, self._stalled_version = max(self._expires, now + STALL_GRACE_SECONDS), self._version
        return self._expires <= now

    def _observe(self, lease: Object) -> None:
        """Records whether the Lease was renewed, and when it expires."""
        version, spec = lease["metadata"]["resourceVersion"], lease.get("spec") or {}
        if version != self._version:
            duration = float(spec.get("leaseDurationSeconds") or DURATION_SECONDS) if spec.get("holderIdentity") else 0.0
            self._version, self._expires = version, self._clock.monotonic() + duration

    def _spec(self, before: Object) -> Object:
        now = format_micro_time(self._clock.now())
        is_new = before.get("holderIdentity") != self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": now if is_new else before.get("acquireTime") or now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and before else 0),
        }
