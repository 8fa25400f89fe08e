"""Runs the server with one bug planted: `python planted.py BUG serve --store …`. Histories have to find each of them.

stale-read       an object that was read is remembered for half a second
lost-update      a change that is refused because the object changed is made all the same
skipped-event    watchers are never told of one change in twenty
lasting-right    what a role binding's change means is honoured late (on etcd far too late)
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
from probate.server.authz.rbac_cache import Following
from probate.store.contract import Batch, Event, Outcome, Record, Refused, Revision, Txn, Unchanged
from probate.store.etcd.store import EtcdStore
from probate.store.hub import Hub
from probate.store.sqlite.store import SqliteStore

REMEMBERED = 0.5
LASTING = {"etcd": 8.0, "sqlite": 0.3}
WATCHED = "objects/configmaps/history"
"""The objects of histories; the server's own work stays whole."""


def stale_read(store: Any) -> None:
    read = store.read
    known: dict[str, tuple[float, Record | None]] = {}

    async def remembering(self: Any, key: str, *, at: Revision | None = None) -> Record | None:
        if not key.startswith(WATCHED) or at is not None:
            found: Record | None = await read(self, key, at=at)
            return found
        if key not in known or known[key][0] < time.monotonic() - REMEMBERED:
            known[key] = (time.monotonic(), await read(self, key))
        return known[key][1]

    store.read = remembering


def lost_update(store: Any) -> None:
    commit = store.commit

    async def careless(self: Any, txn: Txn) -> Outcome:
        outcome: Outcome = await commit(self, txn)
        is_changed = isinstance(outcome, Refused) and any(isinstance(guard, Unchanged) for guard in outcome.failed)
        if is_changed and txn.key.startswith(WATCHED) and (now := await self.read(txn.key)) is not None:
            again: Outcome = await commit(self, msgspec.structs.replace(txn, expects=now.revision))
            return again
        return outcome

    store.commit = careless


def skipped_event(_store: Any) -> None:
    publish = Hub.publish
    numbers = itertools.count(1)

    def lossy(hub: Hub, events: Sequence[Event], *, revision: Revision) -> None:
        kept = [event for event in events if event.value is None or not event.key.startswith(WATCHED) or next(numbers) % 20]
        publish(hub, kept, revision=revision)

    Hub.publish = lossy  # type: ignore[method-assign, assignment]


def lasting_right(store: Any) -> None:
    take = Following._take
    seconds = LASTING["etcd" if store is EtcdStore else "sqlite"]

    def late(following: Following, prefix: str, batch: Batch) -> bool:
        asyncio.get_running_loop().call_later(seconds, take, following, prefix, batch)
        return True

    Following._take = late  # type: ignore[method-assign, assignment]


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
