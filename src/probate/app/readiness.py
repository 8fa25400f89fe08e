"""The end of a start: waits for simulated nodes, prints the start line, and then loads the lazy modules."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

from probate.app import startup
from probate.client.objects import Client
from probate.client.resources import NODES
from probate.controllers.simulated_nodes import node_status
from probate.core import lazy_import, memory_trim
from probate.core.aio.offload import WorkerThread
from probate.core.clock import Clock
from probate.settings import Settings

NODES_SECONDS, NODES_POLL_SECONDS = 5.0, 0.005
"""How long a server that is otherwise ready waits for its simulated nodes, and how often it checks."""

log = logging.getLogger(__name__)


async def wait_for_nodes(client: Client, clock: Clock, number: int) -> None:
    """Blocks until all simulated nodes exist, or for `NODES_SECONDS`: a client that waits for the server expects its nodes too."""
    with suppress(TimeoutError):
        async with asyncio.timeout(NODES_SECONDS):
            for index in range(1, number + 1):
                while await client.get(NODES, "", node_status.NAME_FORMAT.format(index)) is None:
                    await clock.sleep(NODES_POLL_SECONDS)


@asynccontextmanager
async def loading_lazy_modules(announce: Callable[[], None]) -> AsyncGenerator[Callable[[], None], None]:
    """Yields the function to call when the server is ready: it announces that, and loads the lazy modules on a thread."""
    thread, is_stopped = WorkerThread("lazy-imports"), threading.Event()
    running: list[asyncio.Task[None]] = []

    async def load() -> None:
        try:
            await thread.run(lambda: lazy_import.load_pending(is_stopped.is_set))
            await thread.run(memory_trim.trim)
        except Exception:
            log.exception("lazy modules cannot be loaded")
        startup.freeze()

    def on_ready() -> None:
        startup.freeze()
        announce()
        running.append(asyncio.get_running_loop().create_task(load(), name="lazy-imports"))

    try:
        yield on_ready
    finally:
        is_stopped.set()
        await asyncio.gather(*running)
        thread.close()


def print_start_line(settings: Settings, url: str, clock: Clock, *, began: float) -> None:
    """Prints the server's URL, its store, and how long the start took."""
    elapsed = clock.monotonic() - began
    target = f"--kubeconfig {settings.kubeconfig}" if settings.kubeconfig else f"--server {url}"
    hint = f"Try: kubectl {target} get namespaces"
    print(f"probate: serving {url} from {settings.store}, ready after {elapsed:.2f} s. {hint}", flush=True)  # noqa: T201
