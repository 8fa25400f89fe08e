"""Registers the kinds of the API group batch: one row for each."""

from __future__ import annotations

from probate.kinds.apps import warnings as apps_warnings
from probate.kinds.batch import columns, defaults, status_validation, strategy, validation
from probate.kinds.kind import Kind, Strategy, Validation, Warnings

KINDS = (
    Kind(
        group="batch",
        name="CronJob",
        plural="cronjobs",
        defaults=lambda: defaults.default_cron_job,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",)),
        validation=lambda: Validation(
            create=validation.create_cron_job, update=validation.update_cron_job, new_on_update=validation.check_cron_job
        ),
        warnings=lambda: Warnings(apps_warnings.with_name_warnings(apps_warnings.of_cron_job), apps_warnings.of_changed_cron_job),
        columns=lambda: columns.PRINTERS["batch", "cronjobs"],
    ),
    Kind(
        group="batch",
        name="Job",
        plural="jobs",
        defaults=lambda: defaults.default_job,
        strategy=lambda: Strategy(has_status=True, generation_fields=("spec",), create_named=strategy.create_job),
        validation=lambda: Validation(
            create=validation.check_job, update=validation.update_job, status=status_validation.check_job_status
        ),
        warnings=lambda: Warnings(
            apps_warnings.with_name_warnings(apps_warnings.of_job), apps_warnings.if_spec_changed(apps_warnings.of_job)
        ),
        columns=lambda: columns.PRINTERS["batch", "jobs"],
    ),
)
