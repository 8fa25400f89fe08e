"""Deletes certificate requests that are settled or abandoned, by a timer for each.

A CertificateSigningRequest is deleted an hour after it was signed, denied or failed, when the certificate in it expires, a day
after it was approved and not signed, or else a day after it was created. A PodCertificateRequest belongs to a kubelet, which
creates another one if it needs to: it is deleted a quarter of an hour after it was created, whatever its state.
"""

from __future__ import annotations

import base64
import binascii

from probate.api.objects import Object
from probate.api.timestamps import parse_time
from probate.client.objects import GroupVersionResource
from probate.controllers.runtime import remaining_time
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.expiration_timers import ExpirationTimers
from probate.controllers.runtime.workers import Workers
from probate.lib.x509 import certificates

TITLE = "certificatesigningrequest-cleaner-controller"
REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
POD_TITLE = "podcertificaterequest-cleaner-controller"
POD_REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "podcertificaterequests")
POD_SECONDS = 15 * 60.0
HOUR, DAY = 3600.0, 24 * 3600.0
SECONDS_AFTER = {"Denied": HOUR, "Failed": HOUR}


def start(context: Context) -> list[Workers]:
    """Starts the controller: one queue for each kind of request."""
    deleted = context.metrics.counter("probate_signing_requests_deleted", "CertificateSigningRequests that were deleted.")

    def count(_: Object) -> None:
        deleted[()] += 1

    requests, pod_requests = context.informers.for_resource(REQUESTS), context.informers.for_resource(POD_REQUESTS)
    return [
        ExpirationTimers(TITLE, context, requests, seconds_left=seconds_left, on_deletion=count).workers,
        ExpirationTimers(POD_TITLE, context, pod_requests, seconds_left=seconds_left_of_pod_request).workers,
    ]


def expires_at(request: Object) -> float:
    """Returns when the request expires. (CSR-2, CSR-3)

    Kubernetes keeps a request forever if all its conditions are of types that it does not know; here it expires a day after it was
    created. Older releases of Kubernetes also keep requests that were approved and never signed.
    """
    status = request.get("status") or {}
    conditions, certificate = status.get("conditions") or [], status.get("certificate") or ""
    limits = {**SECONDS_AFTER, "Approved": HOUR if certificate else DAY}
    times = [
        parse_time(condition["lastUpdateTime"]) + limits[condition["type"]]
        for condition in conditions
        if condition["type"] in limits and condition.get("lastUpdateTime")
    ]
    if certificate and any(condition["type"] == "Approved" for condition in conditions):
        not_after = certificates.not_after(_decode(certificate))
        times += [] if not_after is None else [not_after]
    return min(times, default=parse_time(request["metadata"]["creationTimestamp"]) + DAY)


def seconds_left(request: Object, now: float) -> float:
    """Returns in how many seconds the request expires: its age must exceed the limit. (CSR-3)"""
    return remaining_time.past(expires_at(request), now)


def seconds_left_of_pod_request(request: Object, now: float) -> float | None:
    """Returns in how many seconds a PodCertificateRequest expires. (CSR-5)"""
    return remaining_time.until(parse_time(request["metadata"]["creationTimestamp"]) + POD_SECONDS, now)


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (ValueError, binascii.Error):
        return b""
