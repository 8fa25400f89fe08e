"""Every change that the store has seen, explained by the rules: as what a request did, or as a step that the collector may take.

The order is that of the store's revisions. So an owner that leaves one revision too early is found out, even if everything looks
right in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from probate.store.contract import Event
from support import deletion_model as model
from support import random_deletion_requests as plans
from support import sample_kinds
from support.deletion_model import Ref, Thing, World
from support.in_process_server import Told
from support.random_deletion_requests import Op
from support.virtual_time_server import Cluster

Thread = tuple[tuple[Op, Told], ...]
"""Requests of one client, one after the other, with their answers."""

_SHORTS = {sample_kinds.KINDS[short].plural: short for short in plans.SHORTS}


class Change(NamedTuple):
    """An object as it is from now on; None once it is gone."""

    uid: str
    after: Thing | None


class Explanation(NamedTuple):
    """How far the rules lead, and where to: a world in which the collector may rest, if they explain it all."""

    explained: int
    world: World | None


# --- what happened ----------------------------------------------------------------------------------------------------------


def changes(events: Iterable[Event]) -> list[Change]:
    """What changed that the rules look at."""
    found = []
    for event in events:
        before, after = _thing(event.key, event.previous.value if event.previous else None), _thing(event.key, event.value)
        changed = after or before
        if changed is not None and before != after:
            found.append(Change(changed.uid, after))
    return found


async def listed(server: Cluster) -> World:
    """Everything there is, as clients see it."""
    found: dict[str, Thing] = {}
    for short in plans.SHORTS:
        for item in (await server.ask("GET", sample_kinds.KINDS[short].path())).json["items"]:
            if not _is_of_the_collector(item):
                thing = thing_of(short, item)
                found[thing.uid] = thing
    return found


def _thing(key: str, value: bytes | None) -> Thing | None:
    plural = re.split(r"[./]", key)[1]
    item = orjson.loads(value) if value is not None and plural in _SHORTS else None
    return None if item is None or _is_of_the_collector(item) else thing_of(_SHORTS[plural], item)


def _is_of_the_collector(item: dict[str, Any]) -> bool:
    """Its own Events tell of what it did."""
    return "component" in item.get("source", {})


def thing_of(short: str, item: dict[str, Any]) -> Thing:
    meta = item["metadata"]
    refs = [
        Ref(one["apiVersion"], one["kind"], one["name"], one["uid"], bool(one.get("blockOwnerDeletion")))
        for one in meta.get("ownerReferences", ())
    ]
    return Thing(
        short,
        meta.get("namespace", ""),
        meta["name"],
        meta["uid"],
        tuple(refs),
        tuple(meta.get("finalizers", ())),
        deleting="deletionTimestamp" in meta,
        grace=meta.get("deletionGracePeriodSeconds"),
        on_node=bool(item.get("spec", {}).get("nodeName")),
    )


# --- why it happened --------------------------------------------------------------------------------------------------------


def explain(before: World, threads: tuple[Thread, ...], happened: Sequence[Change]) -> Explanation:
    """What led to just these changes in just this order: some order of the requests and of the collector's steps."""
    todo = [(before, threads, 0)]
    tried = set()
    lately = _lately(before, happened)
    furthest = 0
    while todo:
        world, left, done = todo.pop()
        key = (done, tuple(map(len, left)), frozenset(world.values()))
        if key in tried:
            continue
        tried.add(key)
        furthest = max(furthest, done)
        if done == len(happened) and not any(left) and model.is_at_rest(world):
            return Explanation(done, world)
        ahead = [(after, left) for after in model.steps(world, lately[done])] if done < len(happened) else []
        for after, then in [*ahead, *_requests(world, left)]:
            now = _follow(world, after, happened, done)
            if now is not None:
                todo.append((after, then, now))
    return Explanation(furthest, None)


def _lately(before: World, happened: Sequence[Change]) -> list[model.Lately]:
    """Who had dependents before each of the changes, and after the last."""
    world, found = dict(before), [model.NEVER.and_now(before)]
    for uid, after in happened:
        world.pop(uid, None)
        if after is not None:
            world[uid] = after
        found.append(found[-1].and_now(world))
    return found


def _requests(world: World, left: tuple[Thread, ...]) -> Iterable[tuple[World, tuple[Thread, ...]]]:
    """What each client's next request leads to, if it can have been answered so."""
    for number, thread in enumerate(left):
        if thread:
            op, answer = thread[0]
            after = op.apply(world, answer)
            if after is not None:
                yield after, (*left[:number], thread[1:], *left[number + 1 :])


def _follow(world: World, after: World, happened: Sequence[Change], done: int) -> int | None:
    """How many changes have happened then; None if just this one did not come next."""
    changed = [uid for uid in {**world, **after} if _seen(world, uid) != _seen(after, uid)]
    if not changed:
        return done
    is_next = done < len(happened) and [happened[done]] == [Change(uid, _seen(after, uid)) for uid in changed]
    return done + 1 if is_next else None


def _seen(world: World, uid: str) -> Thing | None:
    return world[uid].seen if uid in world else None


# --- what to say about it ---------------------------------------------------------------------------------------------------


def report(before: World, threads: tuple[Thread, ...], happened: Sequence[Change], explained: int) -> str:
    lines = [(_line(change.after) if change.after else f"  {change.uid[-4:]} is gone") for change in happened]
    why = "the collector rests too early" if explained == len(happened) else "the rules do not lead to the next of these changes"
    parts = ["before", *map(_line, before.values()), "requests", *told(threads), "explained", *lines[:explained], why]
    return "\n".join([*parts, *lines[explained:]])


def told(threads: tuple[Thread, ...]) -> list[str]:
    """The requests and their answers, by who asked."""
    return [f"  {number}: {op} -> {answer.code}" for number, thread in enumerate(threads) for op, answer in thread]


def _line(thing: Thing) -> str:
    refs = [f"{ref.kind} {ref.name} {ref.uid[-4:]}{' blocks' if ref.blocks else ''}" for ref in thing.refs]
    state = f"deleting grace={thing.grace}" if thing.deleting else "alive"
    late = f" late={sorted(one[-4:] for one in thing.late)}" if thing.late else ""
    return f"  {'/'.join(thing.place)} {thing.uid[-4:]} {state} {list(thing.finalizers)} owners={refs}{late}"
