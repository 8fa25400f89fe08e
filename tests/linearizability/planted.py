"""Runs the server with one planted bug: `python planted.py BUG serve --store …`. The history checks must find each of them.

stale-read       reads of an object are cached for half a second
lost-update      a write that fails because the object has changed is committed nevertheless
skipped-event    one change in twenty is never delivered to watchers
lasting-right    a change of a role binding is applied late (on etcd far too late)
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from probate.__main__ import main
from probate.server.authz.rbac_cache import RbacCache
from probate.store.contract import Batch, CommitResult, Event, FailedGuards, Record, Revision, Txn, Unchanged
from probate.store.etcd.store import EtcdStore
from probate.store.sqlite.store import SqliteStore
from probate.store.watch_hub import WatchHub

CACHE_SECONDS = 0.5
DELAY_SECONDS = {"etcd": 8.0, "sqlite": 0.3}
WATCHED = "objects/configmaps/history"
"""The objects of histories; other objects are not affected by the bugs."""


def stale_read(store: Any) -> None:
    read = store.read
    cache: dict[str, tuple[float, Record | None]] = {}

    async def read_cached(self: Any, key: str, *, at: Revision | None = None) -> Record | None:
        if not key.startswith(WATCHED) or at is not None:
            record: Record | None = await read(self, key, at=at)
            return record
        if key not in cache or cache[key][0] < time.monotonic() - CACHE_SECONDS:
            cache[key] = (time.monotonic(), await read(self, key))
        return cache[key][1]

    store.read = read_cached


def lost_update(store: Any) -> None:
    commit = store.commit

    async def commit_again(self: Any, txn: Txn) -> CommitResult:
        result: CommitResult = await commit(self, txn)
        is_changed = isinstance(result, FailedGuards) and any(isinstance(guard, Unchanged) for guard in result.guards)
        if is_changed and txn.key.startswith(WATCHED) and (now := await self.read(txn.key)) is not None:
            again: CommitResult = await commit(self, msgspec.structs.replace(txn, expected_revision=now.revision))
            return again
        return result

    store.commit = commit_again


def skipped_event(_store: Any) -> None:
    publish = WatchHub.publish
    numbers = itertools.count(1)

    def publish_most(hub: WatchHub, events: Sequence[Event], *, revision: Revision) -> None:
        published = [event for event in events if event.value is None or not event.key.startswith(WATCHED) or next(numbers) % 20]
        publish(hub, published, revision=revision)

    WatchHub.publish = publish_most  # type: ignore[method-assign, assignment]


def lasting_right(store: Any) -> None:
    take = RbacCache._apply
    seconds = DELAY_SECONDS["etcd" if store is EtcdStore else "sqlite"]

    def late(following: RbacCache, prefix: str, batch: Batch) -> bool:
        asyncio.get_running_loop().call_later(seconds, take, following, prefix, batch)
        return True

    RbacCache._apply = late  # type: ignore[method-assign, assignment]


BUGS: dict[str, Callable[[Any], None]] = {
    "stale-read": stale_read,
    "lost-update": lost_update,
    "skipped-event": skipped_event,
    "lasting-right": lasting_right,
}

if __name__ == "__main__":
    bug = sys.argv.pop(1)
    on_etcd = any(word.startswith("etcd://") for word in sys.argv)
    BUGS[bug](EtcdStore if on_etcd else SqliteStore)
    main()
