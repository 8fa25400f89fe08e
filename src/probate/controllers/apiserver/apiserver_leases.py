"""Which servers are there: each holds a Lease under its own name, and those of servers that are no more go.

Every server does both for itself, so this runs in each of them. A server's Lease is there from its start to its end; that of one
that ended without a word is deleted when it has expired, by a timer. Clocks of servers differ, and may be set: who deletes it must
also have seen no renewal for a while, by a clock that nobody sets.
"""

from __future__ import annotations

import hashlib

from probate.api.timestamps import micro_time, seconds
from probate.client.informers import Name
from probate.client.objects import Client, Object
from probate.client.resources import LEASES
from probate.controllers.lifecycle.expiration_timers import Expiry
from probate.controllers.runtime import durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.core.clock import Clock

NAMESPACE = "kube-system"
LABEL, VALUE = "apiserver.kubernetes.io/identity", "kube-apiserver"
DURATION_SECONDS = 3600
RENEW_SECONDS = 10.0
SILENT_SECONDS = 3 * RENEW_SECONDS
"""Whoever was not heard of for so long, while somebody listened, may be gone."""


def name_for(who: str) -> str:
    """The name of the Lease of a server."""
    return f"apiserver-{hashlib.sha256(who.encode()).hexdigest()[:26]}"


def start(means: Means) -> list[Workers]:
    """The worker of this server's own Lease, and the one that looks at all of them."""
    leases = means.informers.of(LEASES)
    return [Identity(means).workers, Expiry("expired server identities", means, leases, Silence(means.clock).left).workers]


async def withdraw(client: Client, identity: str) -> None:
    """This server goes."""
    await client.delete(LEASES, NAMESPACE, identity)


def expires_at(lease: Object) -> float | None:
    """After which moment the server counts as gone; None if that cannot be known: then it is. (AL-2)"""
    spec = lease.get("spec") or {}
    renewed, duration = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    return None if not renewed or duration is None else seconds(renewed) + float(duration)


class Identity:
    """Keeps the Lease of this server. (AL-1)"""

    def __init__(self, means: Means) -> None:
        self._clock, self._client = means.clock, means.client
        self._name = means.server.identity
        self._is_held = False
        self.workers = Workers("server identity", self._sync, means.clock)
        self.workers.add(Name(NAMESPACE, self._name))

    async def _sync(self, name: Name) -> float | None:
        if not self._is_held:  # a predecessor of this name may have left one
            await self._client.delete(LEASES, name.namespace, name.name)
        lease = await self._client.get(LEASES, name.namespace, name.name)
        now = micro_time(self._clock.now())
        spec = {"holderIdentity": self._name, "leaseDurationSeconds": DURATION_SECONDS, "renewTime": now}
        if lease is None:
            await self._client.create(LEASES, NAMESPACE, {"metadata": {"name": self._name, "labels": {LABEL: VALUE}}, "spec": spec})
        else:
            await self._client.update(LEASES, {**lease, "spec": {**lease["spec"], **spec}})
        self._is_held = True
        return RENEW_SECONDS


class Silence:
    """Knows for how long each Lease was not renewed, as seen from here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._renewed: dict[str, tuple[str, float]] = {}  # by name: the newest version, and when it was seen first

    def left(self, lease: Object, now: float) -> float | None:
        """In how many seconds the server that holds the Lease counts as gone; None if it is none of a server's. (AL-2)"""
        if not _is_ours(lease):
            return None
        meta, heard, expires = lease["metadata"], self._clock.monotonic(), expires_at(lease)
        if expires is None:
            return 0.0
        known = self._renewed.get(meta["name"])
        if known is None or known[0] != meta["resourceVersion"]:
            known = self._renewed[meta["name"]] = meta["resourceVersion"], heard
        return max(durations.past(expires, now), durations.until(known[1] + SILENT_SECONDS, heard))


def _is_ours(lease: Object) -> bool:
    meta = lease["metadata"]
    return meta["namespace"] == NAMESPACE and (meta.get("labels") or {}).get(LABEL) == VALUE
