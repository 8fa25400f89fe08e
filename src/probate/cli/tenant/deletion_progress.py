"""Shows on standard error how far the deletion of a tenant is: one line that changes on a terminal, else a line now and then."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Self

import click

from probate.api.objects import Object

if TYPE_CHECKING:
    from probate.cli.context import CommandClock

BAR_WIDTH = 24
LINE_SECONDS = 5.0
"""The least time between two lines if standard error is not a terminal. That the deletion begins to wait is shown at once."""
_ERASE_LINE = "\r\x1b[K"


class DeletionProgress:
    """The progress of the deletion of one tenant. At the end of its context it removes the line that changes."""

    def __init__(self, name: str, clock: CommandClock) -> None:
        self._name = name
        self._clock = clock
        self._is_terminal = sys.stderr.isatty()
        self._total = 0
        self._shown = ""
        self._shown_at = -LINE_SECONDS
        self._is_waiting = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal and self._shown:
            click.echo(_ERASE_LINE, nl=False, err=True)

    def show(self, tenant: Object) -> None:
        """Shows what is left of the tenant."""
        left = remaining_objects(tenant)
        self._total = max(self._total, left or 0, (tenant.get("status") or {}).get("objects") or 0)
        waiting_for = waiting_text(tenant)
        counts = "counting its objects" if left is None else f"{self._total - left} of {self._total} objects removed"
        bar = f"{_bar(self._total, left)} " if self._is_terminal else ""
        text = f"tenant {self._name}: {bar}{counts}{f', waiting for {waiting_for}' if waiting_for else ''}"
        self._write(text, at_once=bool(waiting_for) and not self._is_waiting)
        self._is_waiting = bool(waiting_for)

    def show_error(self, error: Exception) -> None:
        """Shows why the state of the tenant is not known now."""
        self._write(f"tenant {self._name}: not known at the moment: {' '.join(str(error).split())}")

    def _write(self, text: str, *, at_once: bool = False) -> None:
        now = self._clock.monotonic()
        is_too_soon = not self._is_terminal and not at_once and now - self._shown_at < LINE_SECONDS
        if text == self._shown or is_too_soon:
            return
        self._shown, self._shown_at = text, now
        if self._is_terminal:
            click.echo(f"{_ERASE_LINE}{text[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
        else:
            click.echo(text, err=True)


def remaining_objects(tenant: Object) -> int | None:
    """Returns how many objects are to be deleted; None if the deletion has not counted them yet."""
    status = tenant.get("status") or {}
    return status.get("objects") if status.get("phase") == "Terminating" else None


def waiting_text(tenant: Object) -> str:
    """Returns what the deletion waits for; empty if that is not known."""
    waiting_for: str = (tenant.get("status") or {}).get("waitingFor") or ""
    return waiting_for


def _bar(total: int, left: int | None) -> str:
    filled = 0 if left is None or not total else BAR_WIDTH * (total - left) // total
    return f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}]"
