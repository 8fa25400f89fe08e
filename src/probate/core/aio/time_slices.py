"""Long work done in pieces, of which the event loop runs one at a time.

Whoever has much to do and only yields (`asyncio.sleep(0)`) lets others go first, but five who do so are five pieces in a row before
the loop looks at its sockets again. Here they queue: between any two pieces of work, whoever they belong to, requests get in.

Short pieces cost more altogether than long ones, so they are short only while somebody is asking for something.
"""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

RECENT_SECONDS = 0.5
SHORTER = 4
"""By how much pieces are shorter while others ask: two requests of late are others, one may be what began the work."""


class Turns:
    """Those who wait for their turn on one loop, and whether others ask for something meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_moving = False
        self._asked = self._asked_before = float("-inf")
        self._is_new = False  # whether somebody has asked since the last turn was given

    def note_request(self) -> None:
        """Somebody asks for something."""
        self._asked_before, self._asked = self._asked, self._loop.time()
        self._is_new = True

    @property
    def is_asked(self) -> bool:
        """Whether others ask for something of late."""
        return self._loop.time() - self._asked_before < RECENT_SECONDS

    def piece(self, size: int, asked: int = 0) -> int:
        """How much is done before it is another's turn, if that can be so much; `asked` is how much while others ask."""
        return (asked or max(1, size // SHORTER)) if self.is_asked else size

    async def turn(self) -> None:
        """Let others go first; goes on when it is this one's turn."""
        turn = self._loop.create_future()
        self._waiting.append(turn)
        if not self._is_moving:
            self._is_moving = True
            self._loop.call_soon(self._move)
        await turn

    def _move(self) -> None:
        if self._is_new:  # the request first; but not every time, or there would be no turns while others ask and ask
            self._is_new = False
            self._loop.call_soon(self._give)
        else:
            self._give()

    def _give(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # who was cancelled does not take a turn
                turn.set_result(None)
                break
        self._is_moving = bool(self._waiting)
        if self._is_moving:
            self._loop.call_soon(self._move)


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def of_loop() -> Turns:
    """Those of the loop that is running: there is one loop, so there is one queue for it."""
    loop = asyncio.get_running_loop()
    found = _turns.get(loop)
    if found is None:
        found = _turns[loop] = Turns(loop)
    return found


async def turn() -> None:
    """Let others go first; goes on when it is this one's turn."""
    await of_loop().turn()


def piece(size: int, asked: int = 0) -> int:
    """How much is done before it is another's turn, if that can be so much; `asked` is how much while others ask."""
    return of_loop().piece(size, asked)
