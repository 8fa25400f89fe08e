"""Registers the kinds of the API group discovery.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.core.services import columns as service_columns
from probate.kinds.core.services import defaults as service_defaults
from probate.kinds.core.services import endpoints_validation
from probate.kinds.core.services import warnings as service_warnings
from probate.kinds.discovery import strategy
from probate.kinds.kind import Kind, Strategy, Validation, on_every_write

KINDS = (
    Kind(
        group="discovery.k8s.io",
        name="EndpointSlice",
        plural="endpointslices",
        defaults=lambda: service_defaults.default_endpoint_slice,
        strategy=lambda: Strategy(
            generation_fields=("addressType", "endpoints", "ports"),
            generation_metadata="labels",
            create=strategy.create_endpoint_slice,
            update=strategy.update_endpoint_slice,
        ),
        validation=lambda: Validation(create=endpoints_validation.check_slice, update=endpoints_validation.update_slice),
        warnings=lambda: on_every_write(service_warnings.of_slice),
        columns=lambda: service_columns.PRINTERS["discovery.k8s.io", "endpointslices"],
    ),
)
