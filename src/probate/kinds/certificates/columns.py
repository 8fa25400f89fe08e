"""Table columns of CertificateSigningRequests, ClusterTrustBundles and PodCertificateRequests."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text


def _request(request: Object, now: float) -> list[Any]:
    lifetime = object_fields.at(request, "spec", "expirationSeconds")
    return [
        object_fields.name(request),
        ages.object_age(request, now),
        object_fields.text(request, "spec", "signerName") or cell_text.NONE,
        object_fields.text(request, "spec", "username"),
        ages.format_duration(lifetime) if isinstance(lifetime, int) else cell_text.NONE,
        _condition(request),
    ]


def _condition(request: Object) -> str:
    """Returns the state of a request: a denial takes precedence over an approval; failure and issuance are added."""
    types = {object_fields.text(one, "type") for one in object_fields.objects(request, "status", "conditions")}
    states = [next((one for one in ("Denied", "Approved") if one in types), "Pending")]
    if "Failed" in types:
        states.append("Failed")
    if object_fields.text(request, "status", "certificate"):
        states.append("Issued")
    return ",".join(states)


def _trust_bundle(bundle: Object, _: float) -> list[Any]:
    return [object_fields.name(bundle), object_fields.text(bundle, "spec", "signerName") or cell_text.NONE]


def _pod_request(request: Object, _: float) -> list[Any]:
    spec = object_fields.mapping(request, "spec")
    cells = (object_fields.text(spec, one) for one in ("podName", "serviceAccountName", "nodeName", "signerName"))
    return [object_fields.name(request), *cells, _state(request)]


def _state(request: Object) -> str:
    types = [object_fields.text(one, "type") for one in object_fields.objects(request, "status", "conditions")]
    return next((one for one in reversed(types) if one in {"Issued", "Denied", "Failed"}), "Pending")


_SIGNER = text("SignerName", "The signer of the request.")
_GROUP = "certificates.k8s.io"

PRINTERS = {
    (_GROUP, "certificatesigningrequests"): Printer(
        (
            NAME,
            AGE,
            _SIGNER,
            text("Requestor", "The user who sent the request."),
            text("RequestedDuration", "The requested lifetime of the certificate."),
            text("Condition", "Whether it is pending, approved, denied, failed or issued."),
        ),
        _request,
    ),
    (_GROUP, "clustertrustbundles"): Printer(
        (NAME, text("SignerName", "The signer whose certificates the bundle contains.")), _trust_bundle
    ),
    (_GROUP, "podcertificaterequests"): Printer(
        (
            NAME,
            text("PodName", "The pod that the certificate is for."),
            text("ServiceAccountName", "The service account that the pod runs as."),
            text("NodeName", "The node that the pod runs on."),
            _SIGNER,
            text("State", "Whether it is pending, issued, denied or failed."),
        ),
        _pod_request,
    ),
}
