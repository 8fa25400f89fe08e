"""Opens the audit log from the settings, before the first request, and closes it after the last one."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from probate.api.audit import policy_file
from probate.api.audit.policy import Policy
from probate.api.uids import UidGenerator
from probate.core import errors
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.server.audit import log_file
from probate.server.audit.audit_log import AuditLog
from probate.server.audit.current_log import CurrentAuditLog
from probate.server.audit.log_file import MEGABYTE, RotationLimits
from probate.settings import Settings


@asynccontextmanager
async def open_audit_log(
    settings: Settings,
    current: CurrentAuditLog,
    clock: Clock,
    *,
    metrics: Registry,
    readiness_checks: dict[str, Callable[[], str | None]],
) -> AsyncGenerator[None, None]:
    """Keeps the audit log open until the context ends. Does nothing if the settings name no log file."""
    if not settings.audit_log_path:
        if settings.audit_policy_file:
            raise errors.CannotOpen("--audit-policy-file needs --audit-log-path: give the file to write the events to")
        yield
        return
    audit = _create_log(settings, clock, metrics)
    if audit.is_strict:
        readiness_checks["audit"] = lambda: audit.refusal_reason
    try:
        with current.opened(audit):
            yield
    finally:
        await audit.close()


def _create_log(settings: Settings, clock: Clock, metrics: Registry) -> AuditLog:
    policy = read_policy(settings.audit_policy_file)
    limits = RotationLimits(settings.audit_log_maxsize * MEGABYTE, settings.audit_log_maxbackup, settings.audit_log_maxage)
    try:
        sink = log_file.open_sink(settings.audit_log_path, limits, clock)
    except OSError as error:
        raise errors.CannotOpen(f"--audit-log-path {settings.audit_log_path} cannot be written: {error}") from error
    is_strict = settings.audit_log_mode == "strict"
    return AuditLog(policy, sink, clock, new_id=UidGenerator(os.urandom), is_strict=is_strict, metrics=metrics)


def read_policy(path: str) -> Policy:
    """Returns the policy in this file, or the default policy if no file is given. Raises `CannotOpen` if it is invalid."""
    if not path:
        return policy_file.default_policy()
    try:
        return policy_file.parse_policy(Path(path).read_bytes())
    except OSError as error:
        raise errors.CannotOpen(f"--audit-policy-file {path} cannot be read: {error}") from error
    except policy_file.PolicyError as error:
        raise errors.CannotOpen(f"--audit-policy-file {path}: {error}") from error
