"""Tracks since which revision the objects of a range are unchanged, for an engine that sees every change.

Tracks only ranges that a caller has asked about. A range that was never asked about counts as changed just now, and when too many
ranges are tracked, all are dropped. Both are safe: the tracker never reports a changed range as unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.store import argument_checks, keys
from probate.store.contract import Revision, UnchangedSince

MAX_RANGES = 4_000


class UnchangedSinceTracker:
    """The newest known change of each tracked range of one store."""

    def __init__(self) -> None:
        self._last_changes: dict[str, Revision] = {}
        self._partial_prefixes: set[str] = set()  # those of the tracked ranges that end within a segment

    def record_changes(self, changed_keys: Iterable[str], revision: Revision) -> None:
        """Records that these keys changed, at `revision` at the latest."""
        if not self._last_changes:
            return
        if self._partial_prefixes:
            changed_keys = tuple(changed_keys)
            changed = self._partial_prefixes.intersection(map(keys.partial_prefix_of, changed_keys))
            self._last_changes.update(dict.fromkeys(changed, revision))
        for parent in {key[: key.rindex("/") + 1] for key in changed_keys}:
            for prefix in keys.prefixes_of(parent):
                if prefix in self._last_changes:
                    self._last_changes[prefix] = revision

    def get(self, prefix: str, *, recorded: Revision, now: Revision) -> UnchangedSince:
        """Returns what is known of a range at revision `now`, when changes have been recorded up to the revision `recorded`.

        Raises `InvalidKey` or `BadRequest` unless the range is one of objects.
        """
        since = self._last_changes.get(prefix)
        if since is None:
            argument_checks.check_watch(prefix)
        if now > recorded:
            return UnchangedSince(now, now)
        if since is None:
            if len(self._last_changes) >= MAX_RANGES:
                self._last_changes.clear()
                self._partial_prefixes.clear()
            since = self._last_changes[prefix] = now
            if keys.is_partial(prefix):
                self._partial_prefixes.add(prefix)
        return UnchangedSince(since, now)
