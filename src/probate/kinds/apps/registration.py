"""Registers the kinds of the API group apps: one row for each."""

from __future__ import annotations

from probate.kinds.apps import columns, defaults, status_validation, strategy, validation, warnings
from probate.kinds.kind import Kind, Strategy, Validation, Warnings

KINDS = (
    Kind(
        group="apps",
        name="ControllerRevision",
        plural="controllerrevisions",
        validation=lambda: Validation(create=validation.check_controller_revision, update=validation.update_controller_revision),
        columns=lambda: columns.PRINTERS["apps", "controllerrevisions"],
    ),
    Kind(
        group="apps",
        name="DaemonSet",
        plural="daemonsets",
        defaults=lambda: defaults.default_daemon_set,
        strategy=lambda: Strategy(
            has_status=True, generation_fields=("spec",), create=strategy.create_daemon_set, update=strategy.update_daemon_set
        ),
        validation=lambda: Validation(
            create=validation.check_daemon_set, update=validation.update_by_selector, status=status_validation.check_daemons
        ),
        warnings=lambda: Warnings(warnings.of_workload, warnings.if_spec_changed(warnings.of_workload)),
        columns=lambda: columns.PRINTERS["apps", "daemonsets"],
    ),
    Kind(
        group="apps",
        name="Deployment",
        plural="deployments",
        defaults=lambda: defaults.default_deployment,
        strategy=lambda: Strategy(
            has_status=True, generation_fields=("spec",), generation_metadata="annotations", metadata_kept_on_status=("labels",)
        ),
        validation=lambda: Validation(
            create=validation.check_deployment, update=validation.update_by_selector, status=status_validation.check_deployment
        ),
        warnings=lambda: Warnings(
            warnings.with_name_warnings(warnings.of_workload), warnings.if_spec_changed(warnings.of_workload)
        ),
        columns=lambda: columns.PRINTERS["apps", "deployments"],
    ),
    Kind(
        group="apps",
        name="ReplicaSet",
        plural="replicasets",
        defaults=lambda: defaults.default_replica_set,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=validation.check_replica_set, update=validation.update_by_selector, status=status_validation.check_replica_set
        ),
        warnings=lambda: Warnings(
            warnings.with_name_warnings(warnings.of_workload), warnings.if_spec_changed(warnings.of_workload)
        ),
        columns=lambda: columns.PRINTERS["apps", "replicasets"],
    ),
    Kind(
        group="apps",
        name="StatefulSet",
        plural="statefulsets",
        defaults=lambda: defaults.default_stateful_set,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=validation.check_stateful_set, update=validation.update_stateful_set, status=status_validation.check_stateful_set
        ),
        warnings=lambda: Warnings(warnings.of_stateful_set, warnings.if_spec_changed(warnings.of_stateful_set)),
        columns=lambda: columns.PRINTERS["apps", "statefulsets"],
    ),
)
