"""Runs a server of `in_process_server` or `rbac_server` with an audit log in a real file.

async with with_audit_log(server, folder) as log:
    await server.ask("GET", "/api/v1/pods")
    [event] = await log.events()
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from probate.api.audit import policy_file
from probate.server.audit import log_file
from probate.server.audit.audit_log import AuditLog
from probate.server.audit.log_file import RotationLimits
from probate.server.audit.log_writer import MAX_EVENTS, RETRY_SECONDS
from support.in_process_server import InProcessServer

EVERYTHING = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: RequestResponse}]}"
METADATA = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}"


class AuditLogReader:
    """Reads what a server has written to its audit log."""

    def __init__(self, path: Path, audit: AuditLog) -> None:
        self.path = path
        self.audit = audit

    async def text(self) -> str:
        await self.audit.writer.flush()
        return self.path.read_text() if self.path.exists() else ""

    async def events(self, **expected: Any) -> list[Any]:
        """Returns the events that have these values, such as verb="delete"."""
        events = [orjson.loads(line) for line in (await self.text()).splitlines()]
        return [event for event in events if all(event.get(name) == value for name, value in expected.items())]


@asynccontextmanager
async def with_audit_log(
    server: InProcessServer,
    folder: Path,
    policy: str = METADATA,
    *,
    limits: RotationLimits | None = None,
    is_strict: bool = False,
    retry: float = RETRY_SECONDS,
    max_events: int = MAX_EVENTS,
) -> AsyncGenerator[AuditLogReader, None]:
    """Records everything until the context ends. Audit ids are numbered."""
    path, numbers = folder / "audit.log", itertools.count(1)
    sink = log_file.open_sink(str(path), limits or RotationLimits(), server.clock)
    audit = AuditLog(
        policy_file.parse_policy(policy.encode()),
        sink,
        server.clock,
        new_id=lambda: f"audit-{next(numbers)}",
        is_strict=is_strict,
        metrics=server.api.metrics.registry,
        retry=retry,
        max_events=max_events,
    )
    try:
        with server.api.audit.opened(audit):
            yield AuditLogReader(path, audit)
    finally:
        await audit.close()
