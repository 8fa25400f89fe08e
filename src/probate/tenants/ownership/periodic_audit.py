"""PeriodicAudit: audits all tenants from time to time, to notice what must never happen: an object that outlives its tenant.

The result is the metric `probate_tenant_orphan_rows`, and a warning in the log if something was found. Nothing is ever deleted:
`probate tenant verify --all` shows what it is, and an administrator decides. An audit reads the whole store, so it pauses after
each page, and there is none on a server that never had a tenant.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from probate.api import tenants
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.core.metrics import LabelValues, Registry
from probate.store.contract import Store
from probate.tenants.ownership import audit  # loaded late: `probate.app.startup`

FIRST_SECONDS = 60.0
"""When the first audit begins. Until then the process has other things to do."""
AUDIT_SECONDS = 600.0
"""The time between two audits."""
PAUSE_SECONDS = 0.05
MAX_NAMED = 3
"""Findings that the warning names."""

log = logging.getLogger(__name__)


class PeriodicAudit:
    """The audits of one store."""

    def __init__(self, store: Store, clock: Clock, metrics: Registry) -> None:
        self._store = store
        self._clock = clock
        self._had_tenants = False
        self._pause_seconds = PAUSE_SECONDS
        self._found: dict[LabelValues, float] = {}
        about = "Objects and index entries that do not agree about a tenant, or whose tenant does not exist, at the last audit."
        metrics.gauges("probate_tenant_orphan_rows", about, (), read=lambda: self._found)

    async def run(self) -> None:
        """Audits for ever. Never returns."""
        await self._clock.sleep(FIRST_SECONDS)
        while True:
            try:
                await self._audit()
            except errors.Gone:  # the history was compacted while the audit paused
                self._pause_seconds = 0.0
                log.info("audit of tenants took too long, will not pause", extra=facts(after=AUDIT_SECONDS))
            except errors.ApiError as error:
                log.warning("audit of tenants failed, will retry", extra=facts(error=str(error), after=AUDIT_SECONDS))
            await self._clock.sleep(AUDIT_SECONDS)

    async def _audit(self) -> None:
        if not await self._has_or_had_tenants():
            return
        report = await audit.audit(self._store, pause=functools.partial(self._clock.sleep, self._pause_seconds))
        self._found = {(): len(report.findings)}
        if report.findings:
            named = [f"{finding.finding} {finding.key}" for finding in report.findings[:MAX_NAMED]]
            text = "objects of tenants do not agree with their index: see probate tenant verify --all"
            log.warning(text, extra=facts(number=len(report.findings), revision=report.revision, first=named))

    async def _has_or_had_tenants(self) -> bool:
        if not self._had_tenants:
            ranges = [tenants.TENANTS_RANGE, tenants.OPEN_ENTRIES, tenants.CONTENT_ENTRIES]
            self._had_tenants = bool(await self._store.nonempty_ranges(ranges))
        return self._had_tenants


@asynccontextmanager
async def auditing(store: Store, clock: Clock, metrics: Registry) -> AsyncGenerator[None, None]:
    """Audits the store until the context ends."""
    task = tasks.start_supervised(
        PeriodicAudit(store, clock, metrics).run(),
        name="audit of tenants",
        on_failure=lambda error: log.error("audits of tenants ended", exc_info=error),
    )
    try:
        yield
    finally:
        await tasks.stop(task)
