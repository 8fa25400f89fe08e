"""Takes entries from the event loop and writes them on a thread: the loop never waits for the disk.

What is given is handed to the thread many times a second, made into lines there, and written. While nothing can be written (the
disk is full, or the file cannot be opened) the thread tries again each second, and what comes meanwhile is kept, within bounds.
What does not fit any more is lost: it is counted, the process's log tells it, and once there is room again the audit log itself
says how many events are missing at this place. A strict log asks for room first, and refuses what could not be written down.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from probate.server.audit.log_file import Out

MAX_EVENTS = 100_000
MAX_BYTES = 64 * 1024 * 1024
"""What is kept until it is written: events, and roughly what they hold."""
HAND_SECONDS = 0.02
RETRY_SECONDS = 1.0
END_SECONDS = 5.0
"""How long the end of the process waits for what is not written yet."""
TELL_SECONDS = 60.0
PART_BYTES = 1024 * 1024
"""What is written at once."""

log = logging.getLogger(__name__)


class Entry(Protocol):
    """Something to be written: how many events, roughly how many bytes, and (on the thread) the lines."""

    @property
    def events(self) -> int: ...
    @property
    def size(self) -> int: ...
    def lines(self) -> Iterable[bytes]: ...


class Gap(NamedTuple):
    """How many events were lost, and between when and when."""

    number: int
    first: float
    last: float


class Writer:
    """One thread that writes to one place. All methods are for the event loop's thread."""

    def __init__(
        self,
        out: Out,
        now: Callable[[], float],
        gap: Callable[[Gap], Entry],
        *,
        max_events: int = MAX_EVENTS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._out = out
        self._retry = retry
        self._now = now
        self._gap = gap
        self._max_events = max_events
        self._waiting: list[Entry] = []  # not handed over yet
        self._calls: SimpleQueue[list[Entry] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="audit", daemon=True)
        self._given_events = self._given_bytes = 0  # only the loop counts these
        self._done_events = self._done_bytes = 0  # and only the thread these
        self._missing: Gap | None = None
        self._told_at = float("-inf")
        self._ending = threading.Event()
        self.written = 0  # lines
        self.lost = 0  # for want of room
        self.unsaid = 0  # that could not be made into lines
        self.failures = 0  # attempts to write
        self.trouble: str | None = None  # why nothing can be written, if that is so

    @property
    def held(self) -> int:
        """Events that are not done with yet."""
        return self._given_events - self._done_events

    @property
    def has_room(self) -> bool:
        return self.held < self._max_events and self._given_bytes - self._done_bytes < MAX_BYTES

    def put(self, entry: Entry) -> None:
        """Write this, in its turn. What does not fit is lost, and counted."""
        if not self.has_room:
            self._lose(entry)
            return
        if self._missing is not None:
            self._end_gap(self._missing)
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        self._given_events += entry.events
        self._given_bytes += entry.size
        self._waiting.append(entry)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_later(HAND_SECONDS, self._hand_over)

    def _lose(self, entry: Entry) -> None:
        now, number = self._now(), entry.events
        self.lost += number
        before = self._missing
        self._missing = Gap(number, now, now) if before is None else Gap(before.number + number, before.first, now)
        if now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            log.error("audit events are lost: %d since the start. %s", self.lost, self._why())

    def _why(self) -> str:
        return f"They cannot be written: {self.trouble}" if self.trouble else "They come faster than they can be written"

    def _end_gap(self, gap: Gap) -> None:
        self._missing, self._told_at = None, float("-inf")
        log.error("audit events are written again; %d were lost", gap.number)
        self._add(self._gap(gap))

    def _hand_over(self) -> None:
        if self._waiting:
            if self._thread.ident is None:
                self._thread.start()
            entries, self._waiting = self._waiting, []
            self._calls.put(entries)

    async def flush(self) -> None:
        """Come back when all that was given so far is written."""
        self._hand_over()
        if self._thread.ident is None:
            return
        done = threading.Event()
        self._calls.put(done)
        while not done.is_set():  # noqa: ASYNC110 a thread sets it
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        """Write what can be written within some seconds, and tell of what cannot."""
        self._hand_over()
        self._max_events = 0
        if self._thread.ident is not None:
            self._calls.put(None)
            await asyncio.to_thread(self._thread.join, END_SECONDS)
            self._ending.set()
            await asyncio.to_thread(self._thread.join, END_SECONDS)
        if self.held or self._missing is not None:
            log.error("the server ends, and %d audit events are lost. %s", self.held + self.lost, self._why())
        if not self._thread.is_alive():
            self._out.close()

    # --- on the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            if isinstance(given, threading.Event):
                given.set()
                continue
            lines, entries = bytearray(), list[Entry]()
            for entry in given:
                lines += self._made(entry)
                entries.append(entry)
                if len(lines) >= PART_BYTES:
                    self._write(bytes(lines), entries)
                    lines, entries = bytearray(), []
            self._write(bytes(lines), entries)

    def _made(self, entry: Entry) -> bytes:
        try:
            return b"".join([line + b"\n" for line in entry.lines()])
        except Exception:
            self.unsaid += entry.events
            log.exception("what was to be audited cannot be told")
            return b""

    def _write(self, lines: bytes, entries: list[Entry]) -> None:
        while lines and not self._try(lines):
            if self._ending.wait(self._retry):
                return
        self.written += lines.count(b"\n")
        self._done_events += sum(entry.events for entry in entries)
        self._done_bytes += sum(entry.size for entry in entries)

    def _try(self, lines: bytes) -> bool:
        try:
            self._out.write(lines)
        except OSError as error:
            self.failures += 1
            if self.trouble is None:
                log.error("the audit log cannot be written, and is tried again each second: %s", error)  # noqa: TRY400 it says all
            self.trouble = str(error)
            return False
        if self.trouble is not None:
            self.trouble = None
            log.warning("the audit log is written again")
        return True
