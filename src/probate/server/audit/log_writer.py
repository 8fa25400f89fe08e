"""Takes entries from the event loop and writes them on a thread, so that the loop never waits for the disk.

Entries are passed to the thread many times a second, encoded there, and written. While writing fails (the disk is full, or the file
cannot be opened) the thread tries again each second, and new entries are kept, within limits. Entries beyond them are dropped:
they are counted, the process's log says so, and once there is capacity again the audit log itself says how many events are missing
at this place. A strict log checks the capacity first, and refuses requests that it could not record.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import NamedTuple, Protocol

from probate.core.logs import facts
from probate.server.audit.log_file import LogSink

MAX_EVENTS = 100_000
MAX_BYTES = 64 * 1024 * 1024
"""Limits the entries that wait to be written, by events and by approximate size."""
FLUSH_SECONDS = 0.02
RETRY_SECONDS = 1.0
CLOSE_TIMEOUT_SECONDS = 5.0
"""How long the end of the process waits for entries that are not written yet."""
LOG_INTERVAL_SECONDS = 60.0
MAX_WRITE_BYTES = 1024 * 1024
"""Limits the size of one write."""

log = logging.getLogger(__name__)


class Entry(Protocol):
    """An entry of the log: the number of its events, their approximate size and (on the thread) its lines."""

    @property
    def events(self) -> int: ...
    @property
    def size(self) -> int: ...
    def lines(self) -> Iterable[bytes]: ...


class Gap(NamedTuple):
    """How many events were lost, and the times of the first and the last one."""

    number: int
    first: float
    last: float


class LogWriter:
    """A thread that writes to one sink. All methods are for the event loop's thread."""

    def __init__(
        self,
        sink: LogSink,
        now: Callable[[], float],
        gap_entry: Callable[[Gap], Entry],
        *,
        max_events: int = MAX_EVENTS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._sink = sink
        self._retry_seconds = retry_seconds
        self._now = now
        self._gap_entry = gap_entry
        self._max_events = max_events
        self._pending: list[Entry] = []  # not passed to the thread yet
        self._calls: SimpleQueue[list[Entry] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._accepted_events = self._accepted_bytes = 0  # only the loop changes these
        self._done_events = self._done_bytes = 0  # only the thread changes these
        self._open_gap: Gap | None = None
        self._logged_at = float("-inf")
        self._closing = threading.Event()
        self.written_events = 0
        self.lost_events = 0  # dropped for lack of capacity
        self.encoding_failures = 0  # events that could not be encoded
        self.write_failures = 0
        self.write_error: str | None = None  # why writing fails at the moment

    @property
    def queued_events(self) -> int:
        """The number of events that are not written yet."""
        return self._accepted_events - self._done_events

    @property
    def has_capacity(self) -> bool:
        return self.queued_events < self._max_events and self._accepted_bytes - self._done_bytes < MAX_BYTES

    def put(self, entry: Entry) -> None:
        """Adds an entry. Entries beyond the capacity are dropped and counted."""
        if not self.has_capacity:
            self._drop(entry)
            return
        if self._open_gap is not None:
            self._end_gap(self._open_gap)
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        self._accepted_events += entry.events
        self._accepted_bytes += entry.size
        self._pending.append(entry)
        if len(self._pending) == 1:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._submit)

    def _drop(self, entry: Entry) -> None:
        now, number = self._now(), entry.events
        self.lost_events += number
        gap = self._open_gap
        self._open_gap = Gap(number, now, now) if gap is None else Gap(gap.number + number, gap.first, now)
        if now - self._logged_at >= LOG_INTERVAL_SECONDS:
            self._logged_at = now
            log.error("audit events are lost", extra=facts(lost=self.lost_events, reason=self._drop_reason()))

    def _drop_reason(self) -> str:
        return f"cannot write: {self.write_error}" if self.write_error else "events arrive faster than they can be written"

    def _end_gap(self, gap: Gap) -> None:
        self._open_gap, self._logged_at = None, float("-inf")
        log.error("audit events are recorded again", extra=facts(lost=gap.number))
        self._add(self._gap_entry(gap))

    def _submit(self) -> None:
        if self._pending:
            if self._thread.ident is None:
                self._thread.start()
            entries, self._pending = self._pending, []
            self._calls.put(entries)

    async def flush(self) -> None:
        """Returns once all entries so far are written."""
        self._submit()
        if self._thread.ident is None:
            return
        done = threading.Event()
        self._calls.put(done)
        while not done.is_set():  # noqa: ASYNC110 a thread sets it
            await asyncio.sleep(0.001)

    async def close(self) -> None:
        """Writes what can be written within some seconds, and logs how many events are lost."""
        self._submit()
        self._max_events = 0
        if self._thread.ident is not None:
            self._calls.put(None)
            await asyncio.to_thread(self._thread.join, CLOSE_TIMEOUT_SECONDS)
            self._closing.set()
            await asyncio.to_thread(self._thread.join, CLOSE_TIMEOUT_SECONDS)
        if self.queued_events or self._open_gap is not None:
            lost = self.queued_events + self.lost_events
            log.error("audit events are lost at shutdown", extra=facts(lost=lost, reason=self._drop_reason()))
        if not self._thread.is_alive():
            self._sink.close()

    # --- on the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if isinstance(call, threading.Event):
                call.set()
                continue
            lines, entries = bytearray(), list[Entry]()
            for entry in call:
                lines += self._encode(entry)
                entries.append(entry)
                if len(lines) >= MAX_WRITE_BYTES:
                    self._write(bytes(lines), entries)
                    lines, entries = bytearray(), []
            self._write(bytes(lines), entries)

    def _encode(self, entry: Entry) -> bytes:
        try:
            return b"".join([line + b"\n" for line in entry.lines()])
        except Exception:
            self.encoding_failures += entry.events
            log.exception("cannot encode audit event")
            return b""

    def _write(self, lines: bytes, entries: list[Entry]) -> None:
        while lines and not self._try(lines):
            if self._closing.wait(self._retry_seconds):
                return
        self.written_events += lines.count(b"\n")
        self._done_events += sum(entry.events for entry in entries)
        self._done_bytes += sum(entry.size for entry in entries)

    def _try(self, lines: bytes) -> bool:
        try:
            self._sink.write(lines)
        except OSError as error:
            self.write_failures += 1
            if self.write_error is None:
                log.error("cannot write audit log, retrying each second", extra=facts(error=str(error)))  # noqa: TRY400 no traceback
            self.write_error = str(error)
            return False
        if self.write_error is not None:
            self.write_error = None
            log.warning("audit log is writable again")
        return True
