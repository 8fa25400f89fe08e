"""Signs approved CertificateSigningRequests for client certificates, or writes a condition that says why not.

A request is signed once. Neither its spec nor the decision can change after the approval, and the certificate is written with the
resourceVersion of the request that was read.

Requests of tenants are never signed: who approves them is the tenant itself, and the certificate would be one of the platform.
"""

from __future__ import annotations

import base64
import binascii

from probate.api.objects import Object
from probate.api.tenants import TENANT_LABEL
from probate.api.timestamps import format_time
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.controllers.runtime import conditions
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.kinds.certificates.signers import SIGNERS, CannotSign, RequestedCertificate

CERTIFICATE_SIGNING_REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")
TITLE = "certificatesigningrequest-signing-controller"
REASON = "SignerValidationFailure"


def start(context: Context) -> list[Workers]:
    """Starts the controller. Without an authority there are no workers."""
    return [CertificateSigning(context).workers] if context.server.sign is not None else []


class CertificateSigning:
    """Signs for all signers: they share one authority."""

    def __init__(self, context: Context) -> None:
        self._sign, self._clock = context.server.sign, context.clock
        self._requests = context.informers.for_resource(CERTIFICATE_SIGNING_REQUESTS)
        self.workers = Workers(TITLE, self._sync, context.clock)
        self._requests.add_event_handler(self._on_change)

    def _on_change(self, _: Object | None, new: Object | None) -> None:
        if new is not None and is_due(new):
            self.workers.add(name_of(new))

    async def _sync(self, name: NamespacedName) -> None:
        request = self._requests.get(name)
        if request is None or not is_due(request) or self._sign is None:
            return
        status = request.get("status") or {}
        try:
            certificate = await self._sign(certificate_request(request))
            status = {**status, "certificate": base64.b64encode(certificate).decode()}
        except CannotSign as error:
            now, before = format_time(self._clock.now()), status.get("conditions") or []
            failed = conditions.new_condition("Failed", "True", reason=REASON, message=str(error))
            status = {**status, "conditions": conditions.replace(before, failed, now, "lastUpdateTime")}
        await self._requests.update({**request, "status": status}, "status")


def is_due(request: Object) -> bool:
    """Whether the request is approved, and neither denied, failed, signed nor being deleted."""
    status = request.get("status") or {}
    found = status.get("conditions") or []
    if request["spec"].get("signerName") not in SIGNERS or status.get("certificate"):
        return False
    is_settled = any(condition.get("type") in {"Denied", "Failed"} for condition in found)
    return conditions.is_true(found, "Approved") and not is_settled and "deletionTimestamp" not in request["metadata"]


def certificate_request(request: Object) -> RequestedCertificate:
    """Returns what the signers need to know of the request. `CannotSign` if it is a tenant's, or its PEM cannot be decoded."""
    spec, tenant = request["spec"], (request["metadata"].get("labels") or {}).get(TENANT_LABEL)
    if tenant:
        raise CannotSign("the users of a tenant get their certificates from the platform: ask its administrators for a kubeconfig")
    try:
        pem = base64.b64decode(spec.get("request") or "")
    except (ValueError, binascii.Error) as error:
        raise CannotSign("the request cannot be read") from error
    return RequestedCertificate(spec["signerName"], pem, tuple(spec.get("usages") or ()), spec.get("expirationSeconds"))
