"""What an evaluation has cost, and how much it may.

Cost is counted as Kubernetes counts it: one for a name or a field, ten for a list, a tenth for each character that is looked at,
and so on. It is charged before it is spent, so that no value grows beyond what was paid for. Part of it is work that somebody
waits for: that is told to `effort`, which decides where the work is done.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.cel.errors import OutOfBudget

PER_CALL = 1_000_000
"""One evaluation may cost this much, as in Kubernetes."""
PER_OBJECT = 10_000_000
"""All that is evaluated for one object, or by one policy, may cost this much, as in Kubernetes."""
_PIECE = 300


class Meter:
    """Counts the cost of one evaluation."""

    __slots__ = ("_piece", "_total", "left")

    def __init__(self, limit: int = PER_CALL) -> None:
        self._total = limit
        self._piece = self.left = min(_PIECE, limit)

    def charge(self, cost: int) -> None:
        """So much is about to be spent. Raises `OutOfBudget`, or `effort.TooMuch` where the work is to be done elsewhere."""
        self.left -= cost
        if self.left < 0:
            self._settle()

    @property
    def remaining(self) -> int:
        """What may still be spent."""
        return self._total - (self._piece - self.left)

    def _settle(self) -> None:
        """Note what was spent of the piece, and take another."""
        spent = self._piece - self.left
        self._total -= spent
        if self._total < 0:
            self._piece = self.left = 0
            raise OutOfBudget
        self._piece = self.left = min(_PIECE, self._total)
        work_limits.spend_cost(spent)
