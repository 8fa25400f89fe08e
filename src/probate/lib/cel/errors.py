"""What can go wrong with an expression.

CelError            evaluating it: a value of the language, as it were, which && and || may get over
├─ NoOverload       no function of that name takes such values
OutOfBudget         it costs more than it may: nothing gets over that
CompileError        it is no expression, or its types do not fit; has `issues`, each with its place
"""

from __future__ import annotations

from typing import NamedTuple

MAX_ISSUES = 20
"""Mistakes of one expression that are told."""
MAX_LINE = 400
"""Characters of a line that are shown with a mistake."""


class CelError(Exception):
    """Evaluation has no value, and this is why."""


class NoOverload(CelError):
    """The function or operator does not take values of these types."""

    def __init__(self, name: str = "") -> None:
        super().__init__(f"no such overload: {name}" if name else "no such overload")


class OutOfBudget(Exception):
    """The cost limit is used up. Not a `CelError`: no operator may absorb it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Issue(NamedTuple):
    """One mistake and the offset of the character where it is."""

    offset: int
    message: str


class CompileError(ValueError):
    """The expression is wrong. `str()` shows each mistake under its line, as Kubernetes does."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        self.issues = sorted(set(issues))[:MAX_ISSUES]
        super().__init__("\n".join(_shown(source, one) for one in self.issues))


def _shown(source: str, issue: Issue) -> str:
    before = source[: issue.offset]
    line = before.count("\n") + 1
    start = before.rfind("\n") + 1
    column = issue.offset - start
    text = source[start:].partition("\n")[0]
    heading = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    if column > MAX_LINE:
        return heading
    return f"{heading}\n | {text[:MAX_LINE]}\n | {'.' * column}^"
