"""Options of the groups Authorization and admission, Audit and logging."""

from __future__ import annotations

import click

from probate.cli.option_groups import OptionGroup, option
from probate.core import logs
from probate.settings import (
    ADMISSION,
    AUDIT_MODES,
    DEFAULT_AUDIT_BACKUPS,
    DEFAULT_AUDIT_MODE,
    DEFAULT_AUDIT_SIZE,
    DEFAULT_LOG_FORMAT,
    DEFAULT_LOG_LEVEL,
    DEFAULT_OWNER_CHECKS,
    DEFAULT_OWNER_RIGHTS,
    DEFAULT_WEBHOOK_SERVICES,
    OWNER_CHECKS,
    OWNER_RIGHTS,
)

AUTHORIZATION = OptionGroup(
    "Authorization and admission",
    [
        option(
            "--owner-rights",
            "Which owner references require permission on the owner: none, those with blockOwnerDeletion, or all.",
            type=click.Choice(OWNER_RIGHTS),
            default=DEFAULT_OWNER_RIGHTS,
        ),
        option(
            "--owner-checks",
            "The response to an owner reference that cannot work: accept it (off), warn, or refuse the write.",
            type=click.Choice(OWNER_CHECKS),
            default=DEFAULT_OWNER_CHECKS,
        ),
        option(
            "--admission",
            "An additional admission plugin to enable; repeatable.",
            type=click.Choice(ADMISSION),
            default=None,
            shown="none",
            multiple=True,
        ),
        option(
            "--webhook-service",
            "The URL of a Service that webhooks refer to, since there is no cluster network; repeatable.",
            metavar="NAMESPACE/NAME[:PORT]=URL",
            default=DEFAULT_WEBHOOK_SERVICES,
            shown="none",
            multiple=True,
        ),
    ],
)

LOGGING = OptionGroup(
    "Audit and logging",
    [
        option(
            "--log-level",
            "The lowest level of log lines on standard error; info includes why each object was collected.",
            type=click.Choice(logs.LEVELS),
            default=DEFAULT_LOG_LEVEL,
        ),
        option(
            "--log-format",
            "The format of log lines: text for people, json for machines.",
            type=click.Choice(logs.FORMATS),
            default=DEFAULT_LOG_FORMAT,
        ),
        option(
            "--audit-log-path",
            "The audit log file, in JSON lines; - for standard output.",
            metavar="FILE",
            shown="none",
        ),
        option(
            "--audit-policy-file",
            "The audit policy file, a Policy of audit.k8s.io/v1.",
            metavar="FILE",
            shown="a built-in policy",
        ),
        option(
            "--audit-log-maxsize",
            "The size of the audit log file at which it is rotated.",
            metavar="MEGABYTES",
            type=click.IntRange(1),
            default=DEFAULT_AUDIT_SIZE,
        ),
        option(
            "--audit-log-maxbackup",
            "The number of rotated audit log files to keep; 0 keeps all.",
            metavar="NUMBER",
            type=click.IntRange(0),
            default=DEFAULT_AUDIT_BACKUPS,
        ),
        option(
            "--audit-log-maxage",
            "The number of days to keep rotated audit log files; 0 keeps them forever.",
            metavar="DAYS",
            type=click.IntRange(0),
            default=0,
        ),
        option(
            "--audit-log-mode",
            "What to do while the audit log cannot be written: count lost events (batch) or refuse requests (strict).",
            type=click.Choice(AUDIT_MODES),
            default=DEFAULT_AUDIT_MODE,
        ),
    ],
)

GROUPS = (AUTHORIZATION, LOGGING)
