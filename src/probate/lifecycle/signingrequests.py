"""CertificateSigningRequests that have served their purpose, or never will, go. Each has a timer for when that is so."""

from __future__ import annotations

import base64
import binascii

from probate.client.objects import Kind, Object
from probate.control.informers import Name, name_of
from probate.control.kinds import is_deleting
from probate.control.means import Means
from probate.control.times import GRAIN
from probate.control.workers import Workers
from probate.machinery import certificates
from probate.machinery.deletion import seconds

TITLE = "certificatesigningrequest-cleaner-controller"
REQUESTS = Kind("certificates.k8s.io", "v1", "certificatesigningrequests")
HOUR, DAY = 3600.0, 24 * 3600.0
SETTLED = {"Denied": HOUR, "Failed": HOUR}


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    return [SigningRequests(means).workers]


def expires_at(request: Object) -> float | None:
    """After which moment the request goes; None if it never does as it is. (CSR-2, CSR-3)"""
    status = request.get("status") or {}
    told, issued = status.get("conditions") or [], status.get("certificate") or ""
    if not told:
        return seconds(request["metadata"]["creationTimestamp"]) + DAY
    limits = {**SETTLED, "Approved": HOUR if issued else DAY}
    ends = [
        seconds(one["lastUpdateTime"]) + limits[one["type"]] for one in told if one["type"] in limits and one.get("lastUpdateTime")
    ]
    if issued and any(one["type"] == "Approved" for one in told):
        end = certificates.not_after(_decoded(issued))
        ends += [] if end is None else [end]
    return min(ends, default=None)


class SigningRequests:
    """Deletes them."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._requests = means.informers.of(REQUESTS)
        self.workers = Workers(TITLE, self._sync, means.clock)
        self._requests.listen(lambda _, new: self.workers.add(name_of(new)) if new is not None else None)
        self._deleted = means.metrics.counter("probate_signing_requests_deleted", "CertificateSigningRequests that were deleted.")

    async def _sync(self, name: Name) -> float | None:
        request = self._requests.get(name)
        expires = expires_at(request) if request is not None and not is_deleting(request) else None
        if request is None or expires is None:
            return None
        left = expires - self._clock.now()
        if left >= 0:  # it has to be over
            return left + GRAIN
        await self._requests.delete(request)
        self._deleted[()] += 1
        return None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (ValueError, binascii.Error):
        return b""
