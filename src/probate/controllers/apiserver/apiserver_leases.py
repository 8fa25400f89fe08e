"""Maintains a Lease for each running server, and deletes expired ones.

Every server does both, so this runs in each of them. A server's Lease exists from its start to its stop; the Lease of a server that
crashed is deleted when it has expired, by a timer. Wall clocks of servers differ, and may be set: the server that deletes a Lease
must also have observed no renewal for a while, by its monotonic clock.
"""

from __future__ import annotations

import hashlib

from probate.api.objects import Object
from probate.api.timestamps import format_micro_time, parse_time
from probate.client.informers import NamespacedName
from probate.client.objects import Client
from probate.client.resources import LEASES
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.expiration_timers import ExpirationTimers
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.core.clock import Clock

NAMESPACE = "kube-system"
LABEL, VALUE = "apiserver.kubernetes.io/identity", "kube-apiserver"
DURATION_SECONDS = 3600
RENEW_SECONDS = 10.0
SILENT_SECONDS = 3 * RENEW_SECONDS
"""The time without a renewal, as observed by one server, after which another may be gone."""


def name_for(identity: str) -> str:
    """Returns the name of the Lease of a server."""
    return f"apiserver-{hashlib.sha256(identity.encode()).hexdigest()[:26]}"


def start(context: Context) -> list[Workers]:
    """Starts the controller: one queue for this server's own Lease, and one for all of them."""
    leases = context.informers.for_resource(LEASES)
    expired = ExpirationTimers("expired leases", context, leases, seconds_left=RenewalTracker(context.clock).seconds_left)
    return [OwnLease(context).workers, expired.workers]


async def withdraw(client: Client, identity: str) -> None:
    """Deletes the Lease of this server, which stops."""
    await client.delete(LEASES, NAMESPACE, identity)


def expires_at(lease: Object) -> float | None:
    """Returns when the Lease expires; None if it does not state that: then it counts as expired. (AL-2)"""
    spec = lease.get("spec") or {}
    renewed, duration = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    return None if not renewed or duration is None else parse_time(renewed) + float(duration)


class OwnLease:
    """Renews the Lease of this server. (AL-1)"""

    def __init__(self, context: Context) -> None:
        self._clock, self._client = context.clock, context.client
        self._name = context.server.identity
        self._is_held = False
        self.workers = Workers("own lease", self._sync, context.clock)
        self.workers.add(NamespacedName(NAMESPACE, self._name))

    async def _sync(self, name: NamespacedName) -> Result:
        if not self._is_held:  # an earlier process of this name may have left one
            await self._client.delete(LEASES, name.namespace, name.name)
        lease = await self._client.get(LEASES, name.namespace, name.name)
        now = format_micro_time(self._clock.now())
        spec = {"holderIdentity": self._name, "leaseDurationSeconds": DURATION_SECONDS, "renewTime": now}
        if lease is None:
            await self._client.create(LEASES, NAMESPACE, {"metadata": {"name": self._name, "labels": {LABEL: VALUE}}, "spec": spec})
        else:
            await self._client.update(LEASES, {**lease, "spec": {**lease["spec"], **spec}})
        self._is_held = True
        return RENEW_SECONDS


class RenewalTracker:
    """Tracks when each Lease was last renewed, by our monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._renewals: dict[str, tuple[str, float]] = {}  # by name: the newest resourceVersion, and when it arrived

    def seconds_left(self, lease: Object, now: float) -> float | None:
        """Returns in how many seconds the Lease expires; None if it is not the Lease of a server. (AL-2)"""
        if not _is_server_lease(lease):
            return None
        meta, monotonic, expires = lease["metadata"], self._clock.monotonic(), expires_at(lease)
        if expires is None:
            return 0.0
        renewal = self._renewals.get(meta["name"])
        if renewal is None or renewal[0] != meta["resourceVersion"]:
            renewal = self._renewals[meta["name"]] = meta["resourceVersion"], monotonic
        return max(remaining_time.past(expires, now), remaining_time.until(renewal[1] + SILENT_SECONDS, monotonic))


def _is_server_lease(lease: Object) -> bool:
    meta = lease["metadata"]
    return meta["namespace"] == NAMESPACE and (meta.get("labels") or {}).get(LABEL) == VALUE
