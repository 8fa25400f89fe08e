"""All objects of a kind, kept at hand by list and watch, for controllers to look things up in without asking the server.

One informer serves all controllers of a process that care about its kind. It is behind the server by a moment, but never behind
what was written through it: who creates a pod finds it there when looking next, and who deletes one finds it leaving, or gone.
Controllers go by what is there, and whatever they write is refused if it was based on something old.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple, TypeAlias

from probate.client.objects import MERGE_PATCH, Client, Happening, Kind, Object, is_held
from probate.core import errors
from probate.core.clock import Clock

RETRY_SECONDS = 1.0

Damaged: TypeAlias = Callable[[Kind], Collection["Name"]]
"""The objects of a kind that cannot be read, since their stored data is damaged. They are not gone: they stay as last seen."""


def nothing_damaged(_kind: Kind) -> Collection[Name]:
    """For who has no store to ask."""
    return ()


Listener: TypeAlias = Callable[[Object | None, Object | None], None]
"""Called with an object before and after a change; None is for "was not there"."""

log = logging.getLogger(__name__)


class Name(NamedTuple):
    """Which object of a kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def name_of(object_: Object) -> Name:
    """The object's name."""
    meta = object_["metadata"]
    return Name(meta.get("namespace", ""), meta["name"])


def controller_of(object_: Object) -> Object | None:
    """The reference to the object's controller, if it has one."""
    return next((one for one in object_["metadata"].get("ownerReferences") or [] if one.get("controller")), None)


class Index:
    """Names of objects, by what they have in common."""

    def __init__(self) -> None:
        self._names: dict[str, dict[Name, None]] = {}

    def of(self, key: str) -> list[Name]:
        return list(self._names.get(key, ()))

    def add(self, key: str, name: Name) -> None:
        self._names.setdefault(key, {})[name] = None

    def remove(self, key: str, name: Name) -> None:
        peers = self._names[key]
        del peers[name]
        if not peers:
            del self._names[key]


class Mark:
    """The revision up to which the server has told everything."""

    seen = 0


class Informer:
    """The objects of one kind, or those of them that a field selector selects. Never change one: copy it first."""

    def __init__(self, client: Client, kind: Kind, clock: Clock, where: str = "", damaged: Damaged = nothing_damaged) -> None:
        self.kind = kind
        self._damaged = damaged
        self._query = {"fieldSelector": where} if where else {}
        self.is_synced = asyncio.Event()
        self._client = client
        self._clock = clock
        self._objects: dict[Name, Object] = {}
        self._inside = Index()  # by namespace
        self._controlled = Index()  # by the uid of the controller; by the namespace where there is none
        self._gone: set[str] = set()  # uids of those that were deleted through here, until the server tells so too
        self._listeners: list[Listener] = []
        self._mark = Mark()

    def through(self, client: Client) -> Informer:
        """The same objects, in the hands of who writes through a client of their own."""
        other = copy.copy(self)  # all that changes is shared
        other._client = client  # noqa: SLF001
        return other

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Object]:
        return iter(list(self._objects.values()))

    def get(self, name: Name) -> Object | None:
        return self._objects.get(name)

    def may_be_there(self, name: Name) -> bool:
        """Whether there may be such an object: one whose stored data is damaged is in no list, and is there all the same."""
        return name in self._objects or name in self._damaged(self.kind)

    def within(self, namespace: str) -> list[Object]:
        """The objects of a namespace."""
        return [self._objects[name] for name in self._inside.of(namespace)]

    def controlled_by(self, uid: str) -> list[Object]:
        """The objects whose controller has this uid."""
        return [self._objects[name] for name in self._controlled.of(f"uid {uid}")]

    def uncontrolled(self, namespace: str) -> list[Object]:
        """The objects of a namespace that have no controller."""
        return [self._objects[name] for name in self._controlled.of(f"in {namespace}")]

    def listen(self, listener: Listener) -> None:
        """Be told of every change from now on, and of what is there already."""
        self._listeners.append(listener)
        for one in self:
            listener(None, one)

    async def create(self, namespace: str, object_: Object) -> Object:
        """Create an object, which is there from then on."""
        return self._learn(await self._client.create(self.kind, namespace, object_))

    async def update(self, object_: Object, part: str = "") -> Object:
        """Put an object (or its part) in place of the one that it was made from. `Conflict` if that has changed."""
        return self._learn(await self._client.update(self.kind, object_, part))

    async def patch(self, name: Name, change: Object, part: str = "", *, media: str = MERGE_PATCH) -> Object:
        """Merge a change into an object, whatever it is now."""
        return self._learn(await self._client.patch(self.kind, name.namespace, name.name, change, part, media=media))

    async def delete(self, object_: Object, **options: Any) -> None:
        """Delete this very object, and not another of its name. One that is gone already is no failure."""
        meta = object_["metadata"]
        left = await self._client.delete(self.kind, meta.get("namespace", ""), meta["name"], uid=meta["uid"], **options)
        if left is None:
            self._forget(name_of(object_), meta["uid"])
        else:
            self._learn(left)

    async def run(self) -> None:
        """Follow the kind. Never returns."""
        while True:
            try:
                await self._follow()
            except (errors.ApiError, errors.TooSlow) as error:
                log.info("%s are listed again: %s", self.kind.plural, error)
                await self._clock.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        listed = await self._client.list(self.kind, **self._query)
        self._gone &= {_uid(one) for one in listed.items}
        there = {name_of(one): one for one in listed.items if _uid(one) not in self._gone}
        self._mark.seen = int(listed.revision)
        damaged = self._damaged(self.kind)
        for name in [name for name in self._objects if name not in there and name not in damaged]:
            self._replace(name, None)
        for name, one in there.items():
            if not _is_same(self._objects.get(name), one):
                self._replace(name, one)
        self.is_synced.set()
        revision = listed.revision
        while True:
            async with self._client.watch(self.kind, resourceVersion=revision, **self._query) as happenings:
                async for happening in happenings:
                    revision = happening.object["metadata"]["resourceVersion"]
                    self._mark.seen = int(revision)
                    self._take(happening)

    def _learn(self, written: Object) -> Object:
        """What was just written, unless the server has told of something newer already."""
        name, revision = name_of(written), _revision(written)
        if "deletionTimestamp" in written["metadata"] and not is_held(written):
            self._forget(name, _uid(written))
            return written
        known = self._objects.get(name)
        is_news = revision > self._mark.seen and (known is None or _revision(known) < revision)
        if is_news and _uid(written) not in self._gone:
            self._replace(name, written)
        return written

    def _forget(self, name: Name, uid: str) -> None:
        """The server has let it go: older news of it, which may still come, is no news."""
        known = self._objects.get(name)
        if known is not None and _uid(known) == uid:
            self._gone.add(uid)
            self._replace(name, None)

    def _take(self, happening: Happening) -> None:
        if happening.type == "BOOKMARK":
            return
        uid = _uid(happening.object)
        if uid in self._gone:
            if happening.type == "DELETED":
                self._gone.remove(uid)
            return
        known = self._objects.get(name_of(happening.object))
        if known is None or _revision(known) < _revision(happening.object):
            self._replace(name_of(happening.object), None if happening.type == "DELETED" else happening.object)

    def _replace(self, name: Name, new: Object | None) -> None:
        old = self._objects.pop(name, None)
        if old is not None:
            self._inside.remove(name.namespace, name)
            self._controlled.remove(_controlled_as(old), name)
        if new is not None:
            self._objects[name] = new
            self._inside.add(name.namespace, name)
            self._controlled.add(_controlled_as(new), name)
        if old is not None or new is not None:
            for listener in self._listeners:
                listener(old, new)


class Informers:
    """One informer for each kind that somebody asked for."""

    def __init__(self, client: Client, clock: Clock, damaged: Damaged = nothing_damaged) -> None:
        self._client = client
        self._clock = clock
        self._damaged = damaged
        self._writer: Client | None = None
        self._all: dict[tuple[Kind, str], Informer] = {}

    def through(self, client: Client) -> Informers:
        """The same informers, for who writes through a client of their own."""
        other = copy.copy(self)
        other._writer = client  # noqa: SLF001
        return other

    def of(self, kind: Kind, only: str = "", *, where: str = "") -> Informer:
        """The objects of a kind; `only` those of a name, or `where` a field is so, for whoever needs no others."""
        selected = f"metadata.name={only}" if only else where
        if (kind, selected) not in self._all:
            self._all[kind, selected] = Informer(self._client, kind, self._clock, selected, self._damaged)
        found = self._all[kind, selected]
        return found if self._writer is None else found.through(self._writer)

    async def run(self) -> None:
        """Follow all kinds asked for so far. Never returns."""
        await asyncio.gather(*(one.run() for one in self._all.values()), asyncio.Event().wait())

    async def wait(self) -> None:
        """Until every kind has been listed once."""
        await asyncio.gather(*(one.is_synced.wait() for one in self._all.values()))


def _revision(object_: Object) -> int:
    return int(object_["metadata"]["resourceVersion"])


def _uid(object_: Object) -> str:
    uid: str = object_["metadata"]["uid"]
    return uid


def _controlled_as(object_: Object) -> str:
    reference = controller_of(object_)
    return f"uid {reference['uid']}" if reference is not None else f"in {name_of(object_).namespace}"


def _is_same(old: Object | None, new: Object) -> bool:
    return old is not None and old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]
