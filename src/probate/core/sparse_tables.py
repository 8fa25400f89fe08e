"""Shrinks sets and dicts that were large once.

A set or dict never shrinks when entries are removed. After ten thousand connections, the empty tables of connections, tasks and
timers kept six megabytes, most of them in asyncio and the event loop.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

Table: TypeAlias = "set[Any] | dict[Any, Any]"

SMALL_BYTES = 32 * 1024
"""Size up to which a table is not worth rebuilding."""
ENTRY_BYTES = 400
"""Size for each entry above which a table is sparse: several times of what it has after it has grown."""


def shrink(tables: Iterable[Table]) -> None:
    """Rebuilds the sparse ones in place. Only their thread may use them, and no iteration over them may be suspended."""
    for table in tables:
        if sys.getsizeof(table) > SMALL_BYTES + ENTRY_BYTES * len(table):
            entries: Any = list(table.items() if isinstance(table, dict) else table)
            table.clear()
            table.update(entries)


def loop_tables() -> Iterator[Table]:
    """Returns the tables of asyncio and of the running event loop: of tasks, asynchronous generators, timers and transports."""
    modules = (getattr(asyncio.tasks, name, None) for name in ("_all_tasks", "_scheduled_tasks"))
    for owned in (*modules, *gc.get_referents(asyncio.get_running_loop())):  # uvloop's attributes are not visible otherwise
        table = owned.data if isinstance(owned, (weakref.WeakSet, weakref.WeakValueDictionary)) else owned  # type: ignore[union-attr]
        if type(table) in {set, dict}:
            yield table
