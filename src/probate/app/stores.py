"""Opens the store at an address. Imports only the engine that the address selects: a process does not load the other one."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import Clock
from probate.settings import Settings
from probate.store import retention
from probate.store.contract import Store

log = logging.getLogger(__name__)


async def open_store(address: str, clock: Clock) -> Store:
    """Opens the store at `sqlite:FILE`, `memory:` or `etcd://HOST:PORT,…`."""
    kind, colon, rest = address.partition(":")
    if colon and kind == "sqlite" and rest:
        from probate.store.sqlite import store as sqlite  # noqa: PLC0415

        return await sqlite.open_file(Path(rest), clock=clock)
    if colon and kind == "memory" and not rest:
        from probate.store.sqlite import store as sqlite  # noqa: PLC0415

        return await sqlite.open_memory()
    if colon and kind == "etcd":
        from probate.store.etcd import store as etcd  # noqa: PLC0415
        from probate.store.etcd.rpc import address as etcd_address  # noqa: PLC0415

        return await etcd.open_etcd(etcd_address.parse(address), clock=clock, process=uuid.uuid4().hex)
    raise errors.CannotOpen(f"{address!r} is not a store address. Give sqlite:FILE, memory: or etcd://HOST:PORT,HOST:PORT")


@asynccontextmanager
async def managed_store(settings: Settings, clock: Clock) -> AsyncGenerator[Store, None]:
    """Opens the store, compacts its history while it is open, and closes it at the end."""
    store = await open_store(settings.store, clock)
    compaction = tasks.start_supervised(
        retention.compact_periodically(store, clock, keep_seconds=settings.history_seconds),
        name="retention",
        on_failure=lambda error: log.error("compaction of the store's history ended", exc_info=error),
    )
    try:
        yield store
    finally:
        await tasks.stop(compaction)
        await store.close()
