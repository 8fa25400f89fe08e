"""CurrentAuditLog: the audit log that is open, or none.

What records events takes this, not the log, because the log opens late: after the server has created its own objects, so that no
event is about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from probate.server.audit import audit_log as auditing  # loaded late: `probate.app.startup`


class CurrentAuditLog:
    """`log` is None while there is no audit log. Only `opened` changes it."""

    def __init__(self) -> None:
        self.log: auditing.AuditLog | None = None

    @contextmanager
    def opened(self, log: auditing.AuditLog) -> Iterator[None]:
        """Records to this log until the context ends."""
        self.log = log
        try:
            yield
        finally:
            self.log = None
