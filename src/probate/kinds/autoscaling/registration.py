"""Registers the kinds of the API group autoscaling: one row for each."""

from __future__ import annotations

from probate.kinds.apps import status_validation as apps_status_validation
from probate.kinds.autoscaling import columns, conversion, defaults, strategy, validation
from probate.kinds.kind import Conversion, Kind, Strategy, Validation

KINDS = (
    Kind(
        group="autoscaling",
        name="HorizontalPodAutoscaler",
        plural="horizontalpodautoscalers",
        defaults=lambda: defaults.default_autoscaler_v2,
        defaults_of_version={"v1": lambda: defaults.default_autoscaler_v1},
        strategy=lambda: Strategy(has_status=True, create=strategy.create_autoscaler, update=strategy.update_autoscaler),
        validation=lambda: Validation(create=validation.check_autoscaler, status=apps_status_validation.check_autoscaler),
        columns=lambda: columns.PRINTERS["autoscaling", "horizontalpodautoscalers"],
        conversions={"v1": lambda: Conversion(conversion.to_v2, conversion.from_v2)},
    ),
    Kind(
        group="autoscaling",
        name="Scale",
        plural="scales",
        columns=lambda: columns.PRINTERS["autoscaling", "scales"],
    ),
)
