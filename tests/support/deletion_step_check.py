"""Explains every change in the store by the model: as the effect of a request, or as a step that the collector may take.

Changes are explained in the order of their revisions. So an owner that is removed one revision too early is found, even if the
final state looks right.
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
from support.deletion_model import ModelObject, Objects, Ref
from support.in_process_server import Response
from support.random_deletion_requests import Request
from support.virtual_time_server import VirtualTimeServer

ClientRequests = tuple[tuple[Request, Response], ...]
"""Consecutive requests of one client, with their responses."""

_SHORTS = {sample_kinds.KINDS[short].plural: short for short in plans.SHORTS}


class Change(NamedTuple):
    """An object after a change; None if it was removed."""

    uid: str
    after: ModelObject | None


class Explanation(NamedTuple):
    """How many changes the model explains and, if all, the final objects, with which the collector may be idle."""

    explained: int
    objects: Objects | None


# --- changes ----------------------------------------------------------------------------------------------------------


def changes(events: Iterable[Event]) -> list[Change]:
    """Returns the changes that concern the model."""
    found = []
    for event in events:
        before, after = _thing(event.key, event.previous.value if event.previous else None), _thing(event.key, event.value)
        changed = after or before
        if changed is not None and before != after:
            found.append(Change(changed.uid, after))
    return found


async def list_objects(server: VirtualTimeServer) -> Objects:
    """Returns all objects as clients see them."""
    found: dict[str, ModelObject] = {}
    for short in plans.SHORTS:
        for item in (await server.request("GET", sample_kinds.KINDS[short].path())).json["items"]:
            if not _is_of_the_collector(item):
                object_ = model_object(short, item)
                found[object_.uid] = object_
    return found


def _thing(key: str, value: bytes | None) -> ModelObject | None:
    plural = re.split(r"[./]", key)[1]
    item = orjson.loads(value) if value is not None and plural in _SHORTS else None
    return None if item is None or _is_of_the_collector(item) else model_object(_SHORTS[plural], item)


def _is_of_the_collector(item: dict[str, Any]) -> bool:
    """Whether the item is an Event of the collector."""
    return "component" in item.get("source", {})


def model_object(short: str, item: dict[str, Any]) -> ModelObject:
    meta = item["metadata"]
    refs = [
        Ref(one["apiVersion"], one["kind"], one["name"], one["uid"], bool(one.get("blockOwnerDeletion")))
        for one in meta.get("ownerReferences", ())
    ]
    return ModelObject(
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


# --- explanations --------------------------------------------------------------------------------------------------------


def explain(before: Objects, threads: tuple[ClientRequests, ...], happened: Sequence[Change]) -> Explanation:
    """Searches for an order of the requests and of the collector's steps that leads to exactly these changes in this order."""
    todo = [(before, threads, 0)]
    tried = set()
    recent = _recent_facts(before, happened)
    furthest = 0
    while todo:
        objects, left, done = todo.pop()
        key = (done, tuple(map(len, left)), frozenset(objects.values()))
        if key in tried:
            continue
        tried.add(key)
        furthest = max(furthest, done)
        if done == len(happened) and not any(left) and model.is_settled(objects):
            return Explanation(done, objects)
        ahead = [(after, left) for after in model.steps(objects, recent[done])] if done < len(happened) else []
        for after, then in [*ahead, *_requests(objects, left)]:
            now = _follow(objects, after, happened, done=done)
            if now is not None:
                todo.append((after, then, now))
    return Explanation(furthest, None)


def _recent_facts(before: Objects, happened: Sequence[Change]) -> list[model.RecentFacts]:
    """Returns the recent facts before each change, and after the last."""
    objects, found = dict(before), [model.NEVER.add(before)]
    for uid, after in happened:
        objects.pop(uid, None)
        if after is not None:
            objects[uid] = after
        found.append(found[-1].add(objects))
    return found


def _requests(objects: Objects, left: tuple[ClientRequests, ...]) -> Iterable[tuple[Objects, tuple[ClientRequests, ...]]]:
    """Yields what each client's next request leads to, if the model allows its response."""
    for number, thread in enumerate(left):
        if thread:
            op, answer = thread[0]
            after = op.apply(objects, answer)
            if after is not None:
                yield after, (*left[:number], thread[1:], *left[number + 1 :])


def _follow(objects: Objects, after: Objects, happened: Sequence[Change], *, done: int) -> int | None:
    """Returns the number of changes after this step; None if it does not match the next change."""
    changed = [uid for uid in {**objects, **after} if _visible(objects, uid) != _visible(after, uid)]
    if not changed:
        return done
    is_next = done < len(happened) and [happened[done]] == [Change(uid, _visible(after, uid)) for uid in changed]
    return done + 1 if is_next else None


def _visible(objects: Objects, uid: str) -> ModelObject | None:
    return objects[uid].visible if uid in objects else None


# --- reports ---------------------------------------------------------------------------------------------------


def report(before: Objects, threads: tuple[ClientRequests, ...], happened: Sequence[Change], *, explained: int) -> str:
    lines = [(_line(change.after) if change.after else f"  {change.uid[-4:]} is gone") for change in happened]
    why = "the collector is idle too early" if explained == len(happened) else "the rules do not lead to the next of these changes"
    parts = ["before", *map(_line, before.values()), "requests", *request_lines(threads), "explained", *lines[:explained], why]
    return "\n".join([*parts, *lines[explained:]])


def request_lines(threads: tuple[ClientRequests, ...]) -> list[str]:
    """Returns a line for each request and its response, by client."""
    return [f"  {number}: {op} -> {answer.code}" for number, thread in enumerate(threads) for op, answer in thread]


def _line(object_: ModelObject) -> str:
    refs = [f"{ref.kind} {ref.name} {ref.uid[-4:]}{' blocks' if ref.blocks else ''}" for ref in object_.refs]
    state = f"deleting grace={object_.grace}" if object_.deleting else "alive"
    late = f" late={sorted(uid[-4:] for uid in object_.late_owners)}" if object_.late_owners else ""
    return f"  {'/'.join(object_.location)} {object_.uid[-4:]} {state} {list(object_.finalizers)} owners={refs}{late}"
