"""Registers the kinds of the API group certificates.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.certificates import columns, strategy, validation
from probate.kinds.kind import Kind, Strategy, Validation

KINDS = (
    Kind(
        group="certificates.k8s.io",
        name="CertificateSigningRequest",
        plural="certificatesigningrequests",
        strategy=lambda: Strategy(has_status=True, update=strategy.update_signing_request, update_status_at=strategy.update_status),
        validation=lambda: Validation(
            create=validation.create_signing_request,
            update=validation.update_signing_request,
            status=validation.check_signed,
            new_on_update=validation.check_signing_request,
            subresources={"approval": validation.check_approval},
        ),
        columns=lambda: columns.PRINTERS["certificates.k8s.io", "certificatesigningrequests"],
    ),
    Kind(
        group="certificates.k8s.io",
        name="ClusterTrustBundle",
        plural="clustertrustbundles",
        columns=lambda: columns.PRINTERS["certificates.k8s.io", "clustertrustbundles"],
    ),
    Kind(
        group="certificates.k8s.io",
        name="PodCertificateRequest",
        plural="podcertificaterequests",
        columns=lambda: columns.PRINTERS["certificates.k8s.io", "podcertificaterequests"],
    ),
)
