"""Deletes the content of a closed scope: lists it once, deletes it, and waits until it is removed.

The scope (a namespace, a CRD or a Tenant) is closed: no object can be created in it. So the list is complete, and from then on only
objects that change are read again. A scope with a hundred thousand objects that are held costs one read of each, and one more for
each that is released. All are read again when another server reports something else (`status_reports`). Objects that could not be
deleted are tried again, ever more rarely.

Objects are always read as they are now. A key is remembered before the object is read, so no change to it can be missed.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from probate.api import object_keys
from probate.api.deletion import COLLECTOR_FINALIZERS, PropagationPolicy
from probate.api.gvk import GroupResource
from probate.api.object_keys import Key
from probate.api.ownership import Delete, Item, KeyPage, Outcome, RemoveFinalizers
from probate.controllers.runtime.backoff import Backoff
from probate.controllers.runtime.workqueue import DONE, IMMEDIATELY, Result
from probate.core.aio import time_slices
from probate.gc.action_log import log_actions
from probate.gc.backend import Backend

RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 16.0
"""The longest time until an object that could not be deleted is tried again."""
TURN, SMALL_TURN = 2_000, 200
"""Objects that are read and deleted at once, before another scope gets its turn; few while requests wait."""

log = logging.getLogger(__name__)

ListPage: TypeAlias = Callable[[str], Awaitable[KeyPage]]
"""Returns the page of a part of the content that continues at a token."""


class DeletionMethod(NamedTuple):
    """How content is deleted: the propagation policy, and whether an object still has to be deleted."""

    policy: PropagationPolicy | None
    is_due: Callable[[Item], bool]


class Stage(NamedTuple):
    """A part of the content.

    With `waits_for_all`, it is deleted when nothing of the earlier stages remains. Without it, it does not wait for objects
    that only the finalizers of others hold, and for those that cannot be deleted.
    """

    list_page: ListPage
    waits_for_all: bool = True


class RemainingContent(NamedTuple):
    """What remains of the stages so far: objects by resource, by resource and finalizer, and those that could not be deleted.

    `later` are the objects of the other stages, if their number is known.
    `damaged` names the objects that could not be deleted because their stored data is damaged. What held an
    object before it was damaged does not count: a server that did not read it then could not report that.
    """

    resources: Counter[GroupResource]
    holders: Counter[tuple[GroupResource, str]]
    failures: Counter[GroupResource]
    damaged: tuple[str, ...] = ()
    later: Counter[GroupResource] = Counter()  # noqa: RUF012 never changed

    @property
    def finalizers(self) -> Counter[str]:
        """The finalizers that hold objects, and how many each holds."""
        result: Counter[str] = Counter()
        for (_, finalizer), count in self.holders.items():
            result[finalizer] += count
        return result


class ContentDeletion:
    """The deletion of one scope's content, in stages."""

    def __init__(self, backend: Backend, uid: str, method: DeletionMethod, *, stages: Sequence[Stage]) -> None:
        self.uid = uid
        self._backend = backend
        self._method = method
        self._stages = list(stages)
        self._continue_token: str | None = ""  # of the stage's list; None: the list is complete
        self._items: dict[Key, Item | None] = {}  # what may remain, by key, as last read
        self._unread: dict[Key, None] = {}  # the keys of those that have to be read
        self._deleted_at: dict[Key, int] = {}  # the revision at which each object was last deleted
        self._stuck: set[Key] = set()  # those that only finalizers of others hold, or that cannot be deleted
        self._failed: dict[Key, None] = {}
        self._damaged: dict[Key, None] = {}  # of those that failed
        self._denied: dict[Key, None] = {}
        self._permissions = 0  # their revision when an action was denied
        self._backoff = Backoff(RETRY_SECONDS, MAX_RETRY_SECONDS)
        self._forced: frozenset[str] = frozenset()  # finalizers of others that are removed all the same
        self.forced_removals: list[str] = []  # the objects from which some were removed, until this is reported
        self._awaiting_retry: frozenset[Key] = frozenset()  # those that had failed when the time of the retry was set
        self._retry_at: float | None = None

    def note_changed(self, keys: Sequence[Key]) -> bool:
        """Queues those of the changed objects that may remain. Returns whether there are any."""
        known = [key for key in keys if key in self._items]
        self._unread.update(dict.fromkeys(known))
        return bool(known)

    def force(self, finalizers: frozenset[str]) -> None:
        """From now on removes these finalizers from objects that are being deleted."""
        if finalizers != self._forced:
            self._forced = finalizers
            self._unread.update(dict.fromkeys(self._stuck))

    def read_again(self) -> None:
        """Queues all objects that may remain."""
        self._unread.update(dict.fromkeys(self._items))

    def retry(self, now: float) -> Result:
        """Queues the objects that could not be deleted and are due. Returns when to reconcile the scope again because of them."""
        if self._denied and self._backend.permissions_revision() != self._permissions:
            self._unread.update(self._denied)
            return IMMEDIATELY
        until_retry = self._retry_failed(now) if self._failed else DONE
        if not self._denied:
            return until_retry
        return RETRY_SECONDS if until_retry is DONE else min(until_retry, RETRY_SECONDS)

    def _retry_failed(self, now: float) -> float:
        if self._retry_at is None:
            failed = frozenset(self._failed)
            if failed != self._awaiting_retry:
                self._backoff.reset()
            self._awaiting_retry, self._retry_at = failed, now + self._backoff.fail()
        if now < self._retry_at:
            return self._retry_at - now
        self._retry_at = None
        self._unread.update(self._failed)
        return IMMEDIATELY

    @property
    def is_over(self) -> bool:
        """Whether nothing remains of any stage."""
        return not self._stages

    def remaining(self) -> RemainingContent:
        """Returns what remains of the stages so far."""
        items = [item for item in self._items.values() if item is not None and item.meta.finalizers]
        resource_of = self._backend.resource_of
        return RemainingContent(
            Counter(resource_of(key) for key in self._items),
            Counter((resource_of(item.key), finalizer) for item in items for finalizer in item.meta.finalizers),
            Counter(resource_of(key) for key in (*self._failed, *self._denied)),
            tuple(sorted(_display_name(key, resource_of(key)) for key in self._damaged)),
        )

    async def step(self, scope: Item, because: str) -> bool:
        """Deletes the next objects, if the scope is unchanged. Returns False if there is nothing to do for now."""
        if self._unread:
            await self._delete_next(scope, because)
        elif self._stages and self._continue_token is not None:
            await self._list(self._continue_token)
        elif self._stages and self._can_leave_stage():
            del self._stages[0]
            self._continue_token = ""
        else:
            return False
        return True

    def _can_leave_stage(self) -> bool:
        """Whether the next stage may begin or, after the last one, nothing remains."""
        return not self._items or (
            len(self._stages) > 1 and not self._stages[1].waits_for_all and len(self._stuck) == len(self._items)
        )

    async def _list(self, continue_token: str) -> None:
        page = await self._stages[0].list_page(continue_token)
        self._continue_token = page.continue_token or None
        for key in page.keys:
            self._items.setdefault(key, None)
            self._unread[key] = None

    async def _delete_next(self, scope: Item, because: str) -> None:
        keys = list(itertools.islice(self._unread, time_slices.slice_size(TURN, SMALL_TURN)))
        for key in keys:
            del self._unread[key]
        try:
            items = await self._backend.get_items(keys)
            damaged = await self._backend.find_damaged([key for key, item in zip(keys, items, strict=True) if item is None])
            due = self._update(keys, items, damaged)
            actions: list[Delete | RemoveFinalizers] = [Delete(item, self._method.policy, because, (scope,)) for item in due]
            if self._forced:
                actions += self._forced_actions(items, scope, because)
            permissions = self._backend.permissions_revision()
            outcomes = await self._backend.execute(actions)
            if Outcome.DENIED in outcomes:
                self._permissions = permissions
            log_actions(log, self._backend, zip(actions, outcomes, strict=True))
            for action, outcome in zip(actions, outcomes, strict=True):
                self._follow_up(action.item, outcome)
                if outcome is Outcome.DONE and isinstance(action, RemoveFinalizers):
                    self.forced_removals.append(_path(action.item.key))
        except BaseException:  # nothing is lost: all of it is read again
            self._unread.update(dict.fromkeys(keys))
            raise

    def _update(self, keys: list[Key], items: list[Item | None], damaged: set[Key]) -> list[Item]:
        """Records what is removed, held or damaged. Returns the items that have to be deleted."""
        due = []
        for key, item in zip(keys, items, strict=True):
            self._failed.pop(key, None)
            self._denied.pop(key, None)
            self._damaged.pop(key, None)
            self._stuck.discard(key)
            if key in damaged:
                self._items[key] = self._failed[key] = self._damaged[key] = None
                self._stuck.add(key)
                continue
            if item is None:
                self._items.pop(key, None)
                self._deleted_at.pop(key, None)
                continue
            self._items[key] = item
            # An object that a delete left unchanged is held by something that another delete would not change either.
            if self._method.is_due(item) and self._deleted_at.get(key) != item.revision:
                due.append(item)
            elif _is_held(item):
                self._stuck.add(key)
        return due

    def _forced_actions(self, items: Sequence[Item | None], scope: Item, because: str) -> list[RemoveFinalizers]:
        held = [item for item in items if item is not None and item.key in self._stuck]
        found = [(item, self._forced.intersection(item.meta.finalizers)) for item in held]
        reason = f"{because}; these finalizers are to be removed"
        return [RemoveFinalizers(item, names, reason, (scope,)) for item, names in found if names]

    def _follow_up(self, item: Item, outcome: Outcome) -> None:
        if outcome is Outcome.DONE:
            self._deleted_at[item.key] = item.revision
        if outcome in {Outcome.DONE, Outcome.CHANGED}:
            self._unread[item.key] = None
            return
        (self._denied if outcome is Outcome.DENIED else self._failed)[item.key] = None
        self._stuck.add(item.key)


def _is_held(item: Item) -> bool:
    """Whether only finalizers that are not the collector's keep the object."""
    meta = item.meta
    return item.is_deleting and not COLLECTOR_FINALIZERS.issuperset(meta.finalizers) and not meta.deletion_grace_period_seconds


def _display_name(key: str, resource: GroupResource) -> str:
    return f"{resource} {key.rpartition('/')[2]}"


def _path(key: str) -> str:
    """Returns resource, namespace and name: configmaps/default/settings."""
    _, resource, namespace, name = key.split("/")
    return f"{resource}/{name}" if namespace == object_keys.NO_NAMESPACE else f"{resource}/{namespace}/{name}"
