"""Since when nothing has changed in a range, for an engine that all changes pass through.

Only ranges that somebody asks about are followed. Of a range that was never asked about nothing is known, so it may have changed
just now; and when too many have been asked about, all are forgotten. Both are safe: a range is never called calm that is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.store import call_checks, keys
from probate.store.contract import Calm, Revision

MAX_RANGES = 4_000


class Calmness:
    """What is known of one store's ranges."""

    def __init__(self) -> None:
        self._changed: dict[str, Revision] = {}

    def note(self, changed: Iterable[str], revision: Revision) -> None:
        """These keys have changed, at this revision at the latest."""
        if not self._changed:
            return
        for folder in {key[: key.rindex("/") + 1] for key in changed}:
            for prefix in keys.prefixes_of(folder):
                if prefix in self._changed:
                    self._changed[prefix] = revision

    def of(self, prefix: str, *, noted: Revision, now: Revision) -> Calm:
        """The range at `now`, where changes have been noted up to `noted`. `BadKey` or `BadRequest` if it is none of objects."""
        since = self._changed.get(prefix)
        if since is None:
            call_checks.check_watch(prefix)
        if now > noted:
            return Calm(now, now)
        if since is None:
            if len(self._changed) >= MAX_RANGES:
                self._changed.clear()
            since = self._changed[prefix] = now
        return Calm(since, now)
