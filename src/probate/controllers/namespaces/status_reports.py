"""Decides when a scope's status is written, so that two writers that disagree do not overwrite each other for ever.

Every server on a store runs the controllers of scopes, and each computes the status from the content as it last read it. Usually a
change makes all of them read again. Damage to a stored object is not a change: a server that read the object before remembers it
as intact. So a server that finds its status overwritten, although nothing has changed for it, reads the content again before it
writes. If it still disagrees, each write doubles the time until the next one.
"""

from __future__ import annotations

from enum import Enum

from probate.api.ownership import Outcome
from probate.controllers.namespaces.content_deletion import RemainingContent
from probate.controllers.runtime.backoff import Backoff

STATUS_SECONDS = 1.0
"""A scope's status is written at most this often: not for each object that is removed from a scope that empties slowly."""
MAX_STATUS_SECONDS = 16.0
"""The longest time between two writes while another client overwrites the status, or while writing fails."""


class NextStep(Enum):
    """What to do about a status that differs from the stored one."""

    WRITE = "write"
    READ_AGAIN = "read again"


class StatusReports:
    """The status writes of one scope."""

    def __init__(self) -> None:
        self._due = float("-inf")
        self._backoff = Backoff(STATUS_SECONDS, MAX_STATUS_SECONDS)
        self._reported: RemainingContent | None = None  # what the stored status said when it last was ours
        self._is_confirmed = False  # the content was read again since then

    def seconds_until_due(self, now: float) -> float:
        """Returns after how many seconds the status may be written; 0 if it may be now."""
        return max(self._due - now, 0.0)

    def note_agreement(self, remaining: RemainingContent) -> None:
        """Records that the stored status reports this."""
        self._reported, self._is_confirmed = remaining, False

    def next_step(self, remaining: RemainingContent) -> NextStep:
        """Returns what to do about a stored status that does not report this."""
        if remaining != self._reported or self._is_confirmed:
            return NextStep.WRITE
        self._is_confirmed = True
        return NextStep.READ_AGAIN

    def note_written(self, remaining: RemainingContent, outcome: Outcome, now: float) -> None:
        """Records a write, and determines when the next one is due."""
        if outcome is Outcome.CHANGED or (outcome is Outcome.DONE and remaining != self._reported):
            self._backoff.reset()
        self._due = now + self._backoff.fail()
        if outcome is Outcome.DONE:
            self.note_agreement(remaining)
