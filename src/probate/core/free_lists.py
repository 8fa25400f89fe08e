"""Replaces the objects on the free lists of event loops, which keep the memory of an attack.

Python returns memory an arena (a megabyte) at a time, once no object is left in it. A full garbage collection clears most free
lists, but not those of asyncio and uvloop. Each keeps the last 250 or so objects that were freed, wherever they lie: after ten
thousand connections, in two dozen arenas.

No function clears these lists. But a list that is full keeps nothing more. So a reserve of such objects is created early, among
objects that live as long as the process:

    `replace`    takes all objects off the lists, fills the lists with the reserve, and frees the others
    `reserve`    takes the reserve off the lists again
"""

from __future__ import annotations

import asyncio
import contextvars

HANDLES, ITERATORS = 250, 255
"""How many objects a list holds: of handles and timers (uvloop), and of iterators over futures (asyncio)."""
_DISTANT_SECONDS = 3600.0
_TURNS = 3
"""Iterations of the loop after which it has run the handles, and freed the timers, that were created before."""


class FreeLists:
    """The reserve of one event loop."""

    def __init__(self) -> None:
        self._reserve: list[object] = []
        self._context = contextvars.Context()  # else each handle would copy one

    async def reserve(self) -> None:
        """Creates the reserve. Takes objects off the lists first."""
        self._reserve = self._create()
        await _turn()

    async def replace(self) -> None:
        """Frees all objects on the lists but those of the reserve. Call `reserve` before and afterwards."""
        others = self._create()
        self._reserve.clear()
        others.clear()
        await _turn()

    def _create(self) -> list[object]:
        """Returns new objects of each type that has such a free list. They do nothing."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        created: list[object] = [loop.call_soon(_do_nothing, context=self._context) for _ in range(HANDLES)]
        created += [future.__await__() for _ in range(ITERATORS)]
        timers = [loop.call_later(_DISTANT_SECONDS, _do_nothing, context=self._context) for _ in range(HANDLES)]
        for timer in timers:
            timer.cancel()
        return created + timers


async def _turn() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _do_nothing() -> None:
    pass
