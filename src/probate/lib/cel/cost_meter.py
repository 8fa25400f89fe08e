"""Meters the cost of an evaluation and enforces its limit.

Costs follow Kubernetes: 1 for a name or a field, 10 for a list, 0.1 for each character read, and so on. A cost is charged before
the work is done, so no value grows larger than the budget allows. The meter also reports its charges to `work_limits`, which
decides whether the work blocks the event loop or moves elsewhere.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.cel.errors import OutOfBudget

PER_CALL = 1_000_000
"""Cost limit of one evaluation, as in Kubernetes."""
PER_OBJECT = 10_000_000
"""Cost limit of all evaluations for one object or by one policy, as in Kubernetes."""
_PORTION = 300


class Meter:
    """Counts the cost of one evaluation."""

    __slots__ = ("_portion", "_total", "left")

    def __init__(self, limit: int = PER_CALL) -> None:
        self._total = limit
        self._portion = self.left = min(_PORTION, limit)

    def charge(self, cost: int) -> None:
        """Charges a cost before the work. Raises `OutOfBudget`, or `work_limits.TooMuchWork` if the work must move elsewhere."""
        self.left -= cost
        if self.left < 0:
            self._settle()

    @property
    def remaining(self) -> int:
        """The remaining budget."""
        return self._total - (self._portion - self.left)

    def _settle(self) -> None:
        """Deducts the spent part of the current portion from the budget and starts the next portion."""
        spent = self._portion - self.left
        self._total -= spent
        if self._total < 0:
            self._portion = self.left = 0
            raise OutOfBudget
        self._portion = self.left = min(_PORTION, self._total)
        work_limits.spend_cel_cost(spent)
