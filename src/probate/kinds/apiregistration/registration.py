"""Registers the kinds of the API group apiregistration.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.apiextensions import defaults as apiextensions_defaults
from probate.kinds.apiregistration import columns, strategy, validation
from probate.kinds.kind import USER_METADATA, Kind, Strategy, Validation
from probate.kinds.shared import condition_validation

KINDS = (
    Kind(
        group="apiregistration.k8s.io",
        name="APIService",
        plural="apiservices",
        defaults=lambda: apiextensions_defaults.default_api_service,
        strategy=lambda: Strategy(has_status=True, create_at=strategy.create_api_service, metadata_kept_on_status=USER_METADATA),
        validation=lambda: Validation(create=validation.check_api_service, status=condition_validation.check_api_service_status),
        columns=lambda: columns.PRINTERS["apiregistration.k8s.io", "apiservices"],
    ),
)
