"""Requests for certificates that have served their purpose, or never will, go. Each has a timer for when that is so.

A CertificateSigningRequest is deleted an hour after it was signed, was denied or failed, a day after it was approved and not
signed, or else a day after it was created. A PodCertificateRequest is a kubelet's own, which asks again if it needs to: it goes a
quarter of an hour after it was made, whatever became of it.
"""

from __future__ import annotations

import base64
import binascii

from probate.api.timestamps import seconds
from probate.client.objects import Kind, Object
from probate.controllers.lifecycle.expiration_timers import Expiry
from probate.controllers.runtime import durations
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.lib.x509 import certificates

TITLE = "certificatesigningrequest-cleaner-controller"
REQUESTS = Kind("certificates.k8s.io", "v1", "certificatesigningrequests")
POD_TITLE = "podcertificaterequest-cleaner-controller"
POD_REQUESTS = Kind("certificates.k8s.io", "v1", "podcertificaterequests")
POD_SECONDS = 15 * 60.0
HOUR, DAY = 3600.0, 24 * 3600.0
SETTLED = {"Denied": HOUR, "Failed": HOUR}


def start(means: Means) -> list[Workers]:
    """The controller's worker, which is told by the informers where to look."""
    deleted = means.metrics.counter("probate_signing_requests_deleted", "CertificateSigningRequests that were deleted.")

    def note(_: Object) -> None:
        deleted[()] += 1

    return [
        Expiry(TITLE, means, means.informers.of(REQUESTS), left, on_deletion=note).workers,
        Expiry(POD_TITLE, means, means.informers.of(POD_REQUESTS), left_of_pod).workers,
    ]


def expires_at(request: Object) -> float:
    """After which moment the request goes. (CSR-2, CSR-3)

    Kubernetes keeps a request for ever if all its conditions are of types that it does not know; here it goes a day after it was
    created. Older releases of Kubernetes also keep requests that were approved and never signed.
    """
    status = request.get("status") or {}
    told, issued = status.get("conditions") or [], status.get("certificate") or ""
    limits = {**SETTLED, "Approved": HOUR if issued else DAY}
    ends = [
        seconds(one["lastUpdateTime"]) + limits[one["type"]] for one in told if one["type"] in limits and one.get("lastUpdateTime")
    ]
    if issued and any(one["type"] == "Approved" for one in told):
        end = certificates.not_after(_decoded(issued))
        ends += [] if end is None else [end]
    return min(ends, default=seconds(request["metadata"]["creationTimestamp"]) + DAY)


def left(request: Object, now: float) -> float:
    """In how many seconds the request is to go: its time has to be over. (CSR-3)"""
    return durations.past(expires_at(request), now)


def left_of_pod(request: Object, now: float) -> float | None:
    """In how many seconds a PodCertificateRequest is to go. (CSR-5)"""
    return durations.until(seconds(request["metadata"]["creationTimestamp"]) + POD_SECONDS, now)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (ValueError, binascii.Error):
        return b""
