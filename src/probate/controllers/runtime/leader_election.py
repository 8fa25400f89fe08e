"""Which of several servers on one store runs the controllers: whoever holds the Lease.

The holder renews the Lease twice a second. The other candidates watch it. By their own monotonic clocks, a Lease that has not
changed for its whole duration has a dead holder, and the first to write itself into it leads; one that was given back is taken at
once. What time anybody's clock shows does not matter.

The duration is short, so that the work goes on within 2 s after a holder was killed. A holder that was merely held up for longer
loses the Lease and learns of it when it renews next. Until then two may work at once. That does no harm: whatever a controller
writes is refused if it was based on something old, and what two have made is one too many for both of them. So a holder stops by
itself only when it could not reach the store for long, when nothing that it does would get there anyway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from probate.api.timestamps import micro_time
from probate.client.informers import Informer, Name, name_of
from probate.client.objects import Client, Kind, Object
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock

LEASES = Kind("coordination.k8s.io", "v1", "leases")
DURATION_SECONDS = 2
"""A whole number: the API has no others."""
EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
"""A holder that could not reach the store for so long stops."""
RESPITE_SECONDS = 1.0
"""How long a holder has to renew when the store has stood still for everybody, and answers again."""

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
        self._version = ""  # the newest one of the Lease that this candidate has seen
        self._expires = 0.0  # when its holder counts as dead, by our monotonic clock
        self._respited = ""  # the version that was given a respite
        self._news = asyncio.Event()
        self._is_held_by_another = False
        self.is_leader = False

    async def run(self, work: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        """Do the work whenever, and as long as, this candidate leads. Never returns."""
        while True:
            await self._stand_by()
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

    async def _stand_by(self) -> None:
        """Returns when this candidate holds the Lease."""
        if await self._try():  # nobody else is there, most often: then nothing has to be watched
            return
        informer = Informer(self._client, LEASES, self._clock, f"metadata.name={self._name}")
        informer.listen(self._hear)
        following = asyncio.ensure_future(informer.run())
        try:
            while not await self._try():
                await self._wait_for_expiry()
        finally:
            await tasks.stop(following)

    def _hear(self, before: Object | None, after: Object | None) -> None:
        """The Lease has changed."""
        if name_of(after or before or {}) != Name(self._namespace, self._name):
            return
        if after is None:  # somebody deleted it
            self._expires = self._clock.monotonic()
        else:
            self._note(after)
        self._news.set()

    async def _wait_for_expiry(self) -> None:
        """Returns when the Lease may be free, at the latest when its holder counts as dead."""
        if not self._is_held_by_another:  # what it was that failed is not known
            await self._clock.sleep(EVERY_SECONDS)
        while (left := self._expires - self._clock.monotonic()) > 0:
            self._news.clear()
            heard, waited = asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(self._clock.sleep(left))
            try:
                await asyncio.wait({heard, waited}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await tasks.stop(heard, waited)

    async def _renew(self) -> None:
        """Returns when another holds the Lease, or when the store could not be reached for long."""
        renewed = self._clock.monotonic()
        while True:
            await self._clock.sleep(EVERY_SECONDS)
            began = self._clock.monotonic()
            trying = asyncio.ensure_future(self._try())
            # However late it is, one attempt is made: who was merely busy still holds the Lease, if nobody has taken it.
            patience = asyncio.ensure_future(self._clock.sleep(max(renewed + PATIENCE_SECONDS - began, EVERY_SECONDS)))
            try:
                await asyncio.wait({trying, patience}, return_when=asyncio.FIRST_COMPLETED)
                if trying.done() and trying.result():
                    renewed = began
                elif self._is_held_by_another or self._clock.monotonic() - renewed >= PATIENCE_SECONDS:
                    return
            finally:
                await tasks.stop(trying, patience)

    async def _try(self) -> bool:
        """Write this candidate into the Lease, if it may be. False if not, or if that is not known."""
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
            log.info("the lease could not be written: %s", error)
            return False
        return True

    def _may_take(self, lease: Object, *, since: float) -> bool:
        self._note(lease)
        now, holder = self._clock.monotonic(), (lease.get("spec") or {}).get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        if now - since >= EVERY_SECONDS and self._respited != self._version:  # the store stood still: so did the holder's renewals
            self._expires, self._respited = max(self._expires, now + RESPITE_SECONDS), self._version
        return self._expires <= now

    def _note(self, lease: Object) -> None:
        """See whether it was renewed, and until when that is good."""
        version, spec = lease["metadata"]["resourceVersion"], lease.get("spec") or {}
        if version != self._version:
            duration = float(spec.get("leaseDurationSeconds") or DURATION_SECONDS) if spec.get("holderIdentity") else 0.0
            self._version, self._expires = version, self._clock.monotonic() + duration

    def _spec(self, before: Object) -> Object:
        now = micro_time(self._clock.now())
        is_new = before.get("holderIdentity") != self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": now if is_new else before.get("acquireTime") or now,
            "renewTime": now,
            "leaseTransitions": (before.get("leaseTransitions") or 0) + (1 if is_new and before else 0),
        }
