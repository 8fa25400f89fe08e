"""A server of `in_process` or `guarded` with an audit log in a real file.

async with audited(house, folder) as log:
    await house.ask("GET", "/api/v1/pods")
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
from probate.server.audit.audit_log import Audit
from probate.server.audit.log_file import Limits
from probate.server.audit.log_writer import MAX_EVENTS, RETRY_SECONDS
from support.in_process_server import House

EVERYTHING = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: RequestResponse}]}"
METADATA = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}"


class Log:
    """What a server has written."""

    def __init__(self, path: Path, audit: Audit) -> None:
        self.path = path
        self.audit = audit

    async def text(self) -> str:
        await self.audit.writer.flush()
        return self.path.read_text() if self.path.exists() else ""

    async def events(self, **wanted: Any) -> list[Any]:
        """The events that have these values: verb="delete"."""
        found = [orjson.loads(line) for line in (await self.text()).splitlines()]
        return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]


@asynccontextmanager
async def audited(
    house: House,
    folder: Path,
    policy: str = METADATA,
    *,
    limits: Limits | None = None,
    is_strict: bool = False,
    retry: float = RETRY_SECONDS,
    max_events: int = MAX_EVENTS,
) -> AsyncGenerator[Log, None]:
    """Everything is written down meanwhile. Ids are numbered."""
    path, numbers = folder / "audit.log", itertools.count(1)
    out = log_file.opened(str(path), limits or Limits(), house.clock)
    house.api.audit = audit = Audit(
        policy_file.read(policy.encode()),
        out,
        house.clock,
        lambda: f"audit-{next(numbers)}",
        is_strict=is_strict,
        metrics=house.api.figures.registry,
        retry=retry,
        max_events=max_events,
    )
    try:
        yield Log(path, audit)
    finally:
        house.api.audit = None
        await audit.close()
