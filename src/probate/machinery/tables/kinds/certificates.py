"""Requests for certificates, and bundles of those to trust."""

from __future__ import annotations

from typing import Any

from probate.machinery.tables import ages, fields, notation
from probate.machinery.tables.columns import AGE, NAME, Object, Printer, text


def _request(request: Object, now: float) -> list[Any]:
    lifetime = fields.at(request, "spec", "expirationSeconds")
    return [
        fields.name(request),
        ages.of(request, now),
        fields.text(request, "spec", "signerName") or notation.NONE,
        fields.text(request, "spec", "username"),
        ages.duration(lifetime) if isinstance(lifetime, int) else notation.NONE,
        _condition(request),
    ]


def _condition(request: Object) -> str:
    """A denial outweighs an approval. Failure and the certificate are told besides."""
    types = {fields.text(one, "type") for one in fields.objects(request, "status", "conditions")}
    said = [next((one for one in ("Denied", "Approved") if one in types), "Pending")]
    if "Failed" in types:
        said.append("Failed")
    if fields.text(request, "status", "certificate"):
        said.append("Issued")
    return ",".join(said)


def _trust_bundle(bundle: Object, _: float) -> list[Any]:
    return [fields.name(bundle), fields.text(bundle, "spec", "signerName") or notation.NONE]


def _pod_request(request: Object, _: float) -> list[Any]:
    spec = fields.mapping(request, "spec")
    told = (fields.text(spec, one) for one in ("podName", "serviceAccountName", "nodeName", "signerName"))
    return [fields.name(request), *told, _state(request)]


def _state(request: Object) -> str:
    types = [fields.text(one, "type") for one in fields.objects(request, "status", "conditions")]
    return next((one for one in reversed(types) if one in {"Issued", "Denied", "Failed"}), "Pending")


_SIGNER = text("SignerName", "Who is asked to sign.")
_GROUP = "certificates.k8s.io"

PRINTERS = {
    (_GROUP, "certificatesigningrequests"): Printer(
        (
            NAME,
            AGE,
            _SIGNER,
            text("Requestor", "Who asks for the certificate."),
            text("RequestedDuration", "How long the certificate should be good for."),
            text("Condition", "Whether it is pending, approved, denied, failed or issued."),
        ),
        _request,
    ),
    (_GROUP, "clustertrustbundles"): Printer((NAME, text("SignerName", "Whose certificates they are.")), _trust_bundle),
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
