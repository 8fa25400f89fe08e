"""Registers the kinds of the API group apiextensions.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.apiextensions import defaults, strategy
from probate.kinds.apps import warnings as apps_warnings
from probate.kinds.kind import USER_METADATA, Kind, Strategy, Warnings
from probate.kinds.shared import object_warnings

KINDS = (
    Kind(
        group="apiextensions.k8s.io",
        name="CustomResourceDefinition",
        defaults=lambda: defaults.default_custom_resource_definition,
        strategy=lambda: Strategy(
            has_status=True, generation_fields=("spec",), create=strategy.create_definition, metadata_kept_on_status=USER_METADATA
        ),
        warnings=lambda: Warnings(object_warnings.of_definition, apps_warnings.if_spec_changed(object_warnings.of_definition)),
    ),
)
