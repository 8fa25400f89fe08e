"""Executes the collector's actions on the backend, and queues what follows from their outcomes.

DONE      nothing
CHANGED   decide again now
HELD      the owner stays; check the dependents that may block it, and look for cycles
FAILED    retry after `RETRY_SECONDS`
DENIED    retry when permissions have changed
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import NamedTuple

from probate.api.object_keys import Key
from probate.api.ownership import Action, ClearBlockOwnerDeletion, Delete, Outcome, RemoveFinalizer, RemoveOwnerReferences
from probate.core.clock import Clock
from probate.gc import forbidden
from probate.gc.action_log import log_actions
from probate.gc.backend import Backend
from probate.gc.forbidden import ForbiddenWork
from probate.gc.release import RETRY_SECONDS, OwnerRelease
from probate.gc.workqueue import CYCLES, OBJECTS, RELEASES, DelayingQueue, Work, WorkQueue

METRIC_LABELS: dict[type[Action], str] = {
    Delete: "delete",
    RemoveOwnerReferences: "drop",
    ClearBlockOwnerDeletion: "unblock",
    RemoveFinalizer: "release",
}
"""The label `action` of `probate_gc_actions_total`. (docs/metrics.md)"""

log = logging.getLogger("probate.gc.collector")  # the logger that docs/inspection.md names


class ExecutionResult(NamedTuple):
    """Whether some actions failed or were denied, and the revision of the permissions under which they were."""

    has_failed: bool
    is_denied: bool
    permissions: int


class Executor:
    """Executes actions on one backend."""

    def __init__(self, backend: Backend, clock: Clock, queue: WorkQueue, *, later: DelayingQueue, release: OwnerRelease) -> None:
        self._backend = backend
        self._clock = clock
        self._queue = queue
        self._later = later
        self._release = release
        self.forbidden = ForbiddenWork(backend)
        self.done: Counter[str] = Counter()  # actions, by metric label
        self.failures: Counter[str] = Counter()  # by resource

    async def execute(self, actions: list[Action], since: Work) -> ExecutionResult:
        """Executes these actions. `since` has the revisions that they come from, by key."""
        permissions = self._backend.permissions_revision()
        outcomes = await self._backend.execute(actions) if actions else []
        log_actions(log, self._backend, zip(actions, outcomes, strict=True))
        kinds = Counter([type(action) for action, outcome in zip(actions, outcomes, strict=True) if outcome is Outcome.DONE])
        self.done.update({METRIC_LABELS[kind]: number for kind, number in kinds.items()})
        if kinds.total() == len(actions):
            return ExecutionResult(has_failed=False, is_denied=False, permissions=permissions)
        held = await self._backend.revision() if Outcome.HELD in outcomes else 0
        for action, outcome in zip(actions, outcomes, strict=True):
            if outcome is Outcome.DENIED:
                self.postpone(
                    _kind(action), action.item.key, since.get(action.item.key, self._queue.revision), permissions=permissions
                )
            elif outcome is not Outcome.DONE:
                self._follow_up(action, outcome, since=since.get(action.item.key, self._queue.revision), held=held)
        return ExecutionResult(Outcome.FAILED in outcomes, Outcome.DENIED in outcomes, permissions)

    def _follow_up(self, action: Action, outcome: Outcome, *, since: int, held: int) -> None:
        if outcome is Outcome.HELD:
            self._release.hold(action.item, since, held)
        elif outcome is Outcome.CHANGED:
            self._queue.forget_waiting([action.item.key, *(item.key for item in getattr(action, "preconditions", ()))])
            self._queue.by_kind[_kind(action)].setdefault(action.item.key, since)
        else:
            self.failures[str(self._backend.resource_of(action.item.key))] += 1
            self._later.add(self._clock.monotonic() + RETRY_SECONDS, _kind(action), action.item.key, since=since)

    def postpone(self, kind: str, key: Key, since: int, *, permissions: int) -> None:
        """Holds back denied work until permissions change after this revision."""
        if self.forbidden.add(kind, key, since, permissions=permissions):
            self._check_later(since)

    def take_permitted(self) -> dict[str, Work]:
        """Removes and returns the work that was denied, if permissions have changed; otherwise schedules the next check."""
        work = self.forbidden.take_if_permissions_changed()
        if self.forbidden:
            self._check_later(self.forbidden.oldest)
        return work

    def _check_later(self, since: int) -> None:
        self._later.add(self._clock.monotonic() + forbidden.CHECK_SECONDS, forbidden.KIND, Key(""), since=since)


def _kind(action: Action) -> str:
    """Returns the kind of work as which a failed action is queued again."""
    if isinstance(action, ClearBlockOwnerDeletion):
        return CYCLES
    return RELEASES if isinstance(action, RemoveFinalizer) or action.item.is_removal_due else OBJECTS
