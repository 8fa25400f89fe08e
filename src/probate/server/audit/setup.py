"""The audit log from the settings: opened before anybody is served, and closed after everybody was."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from probate.api.audit import policy_file
from probate.api.audit.policy import Policy
from probate.api.uids import Uids
from probate.core import errors
from probate.server.audit import log_file
from probate.server.audit.audit_log import Audit
from probate.server.audit.log_file import MEGABYTE, Limits
from probate.server.context import Api
from probate.settings import Settings


@asynccontextmanager
async def running(settings: Settings, api: Api) -> AsyncGenerator[None, None]:
    """Everything that happens is written down, until the end; nothing is, if no place for it is given."""
    if not settings.audit_log_path:
        if settings.audit_policy_file:
            raise errors.CannotOpen("--audit-policy-file says what is to be written down: give --audit-log-path, which says where")
        yield
        return
    audit = _opened(settings, api)
    api.audit = audit
    if audit.is_strict:
        api.readiness["audit"] = lambda: audit.trouble
    try:
        yield
    finally:
        api.audit = None
        await audit.close()


def _opened(settings: Settings, api: Api) -> Audit:
    policy = read_policy(settings.audit_policy_file)
    limits = Limits(settings.audit_log_maxsize * MEGABYTE, settings.audit_log_maxbackup, settings.audit_log_maxage)
    try:
        out = log_file.opened(settings.audit_log_path, limits, api.clock)
    except OSError as error:
        raise errors.CannotOpen(f"--audit-log-path {settings.audit_log_path} cannot be written: {error}") from error
    is_strict = settings.audit_log_mode == "strict"
    return Audit(policy, out, api.clock, Uids(os.urandom), is_strict=is_strict, metrics=api.figures.registry)


def read_policy(path: str) -> Policy:
    """The policy in this file; the usual one if none is given. `CannotOpen` says what is wrong with it."""
    if not path:
        return policy_file.usual()
    try:
        return policy_file.read(Path(path).read_bytes())
    except OSError as error:
        raise errors.CannotOpen(f"--audit-policy-file {path} cannot be read: {error}") from error
    except policy_file.Wrong as error:
        raise errors.CannotOpen(f"--audit-policy-file {path}: {error}") from error
