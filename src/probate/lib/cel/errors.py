"""Errors of expressions.

CelError            the evaluation failed; && and || absorb it if another operand is decisive
├─ NoOverload       no overload of the function accepts values of these types
OutOfBudget         the evaluation exceeds its cost limit; no operator absorbs it
CompileError        the expression has syntax or type errors; `issues` lists them with their offsets
"""

from __future__ import annotations

from typing import NamedTuple

MAX_ISSUES = 20
"""Maximum number of issues reported for one expression."""
MAX_LINE = 400
"""Maximum number of characters of a source line shown with an issue."""


class CelError(Exception):
    """The evaluation failed; the message contains the reason."""


class NoOverload(CelError):
    """The function or operator has no overload for values of these types."""

    def __init__(self, name: str = "") -> None:
        super().__init__(f"no such overload: {name}" if name else "no such overload")


class OutOfBudget(Exception):
    """The cost limit is exhausted. Not a `CelError`: no operator may absorb it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class Issue(NamedTuple):
    """One error and the character offset of its position."""

    offset: int
    message: str


class CompileError(ValueError):
    """The expression is invalid. `str()` shows each issue below its source line, as Kubernetes does."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        self.issues = sorted(set(issues))[:MAX_ISSUES]
        super().__init__("\n".join(_format(source, one) for one in self.issues))


def _format(source: str, issue: Issue) -> str:
    before = source[: issue.offset]
    line = before.count("\n") + 1
    start = before.rfind("\n") + 1
    column = issue.offset - start
    text = source[start:].partition("\n")[0]
    heading = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    if column > MAX_LINE:
        return heading
    return f"{heading}\n | {text[:MAX_LINE]}\n | {'.' * column}^"
