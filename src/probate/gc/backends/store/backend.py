"""All objects of our own store, as controllers see them: `gc.backend` says what each method promises.

Items are read from the metadata alone (`sightings`); what controllers decide is carried out by `acting`.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.gvk import GroupResource, GroupVersion
from probate.api.ownership import Action, Change, Item, Outcome, Owner, Places, Seen, Standing, Touch, Whole
from probate.api.rbac.policy_rules import Ask
from probate.core import errors
from probate.core.aio import time_slices
from probate.core.generational_cache import Recent
from probate.gc.backends.store.actions import Acting
from probate.server.authz.actors import Doer
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import server_events
from probate.server.ownership import metadata_view, namespace_content, owner_lookup
from probate.server.storage import index_entries, storage_keys
from probate.store import contract, keys
from probate.store.contract import Batch, Damaged, Event, Page, Record, Revision

SLICE, SMALL_SLICE = 100, 12
"""Objects that are read before others get the event loop; few while others ask."""
FEW = 64
"""Changes that are looked at where they are made known. (To wake those who wait for them takes longer.)"""
READ = 4_000
MAX_REFERRED = 1_000
"""Kinds that references may name, of which it is remembered what they are: anything can be named."""
_RESOURCE = len(keys.OBJECTS)
"""Where the name of the resource begins in a key."""
POSITION = "objects/positions.probate.dev/-/collector"
_HIDDEN = ("objects/positions.probate.dev/", "objects/events/")
"""What controllers do not see: where they got to, and Events, which are never collected."""
_DEFINITIONS = f"objects/{storage_keys.DEFINITIONS}/"
_OWNED, _DELETED = b'"ownerReferences"', b'"deletionTimestamp"'
_NOBODY: Mapping[str, Item] = {}


class World:
    """The objects of one API."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._store = api.store
        self._known_in = api.catalog
        self._known: dict[str, Resource] = {}  # by how keys name them
        self._referred: dict[tuple[str, str], Resource | None] = {}  # by how references name their kind
        self._acting = Acting(api, self.kind_at)
        self._read: Recent[Item] = Recent(READ)  # read lately: who is deleted next comes by again in the feed

    def acting_as(self, doer: Doer) -> World:
        """The same world, in which this one acts: what they have no right to is not done."""
        other = copy.copy(self)
        other._acting = Acting(self._api, self.kind_at, doer)  # noqa: SLF001 it is one of us
        return other

    def rights(self) -> int:
        return self._api.access.grants.generation

    async def position(self) -> int | None:
        [found] = await self._store.read_many([POSITION])
        return int(found.value) if isinstance(found, Record) else None

    async def note_position(self, revision: int) -> None:
        [found] = await self._store.read_many([POSITION])
        value = b"%d" % revision
        if found is None:
            await self._store.commit(contract.create(POSITION, value))
        elif isinstance(found, Damaged) or int(found.value) < revision:
            await self._store.commit(contract.update(POSITION, value, revision=found.revision))

    async def revision(self) -> int:
        return await self._store.revision()

    @asynccontextmanager
    async def changes(self, after: int, pass_by: Callable[[int], None]) -> AsyncGenerator[AsyncIterator[list[Change]], None]:
        def is_passed_by(happened: Batch) -> bool:
            if len(happened) > FEW or any(map(_matters, happened)):
                return False
            pass_by(happened[-1].revision)
            return True

        async with self._store.watch("objects/", after=Revision(after)) as watch:
            watch.hand_to(is_passed_by)
            yield self._changes(aiter(watch))

    @asynccontextmanager
    async def touches(self, after: int, take: Callable[[list[Touch]], None]) -> AsyncGenerator[AsyncIterator[list[Touch]], None]:
        def is_taken(happened: Batch) -> bool:
            if len(happened) > FEW:
                return False
            take(metadata_view.by_folder(happened))
            return True

        async with self._store.watch("objects/", after=Revision(after)) as watch:
            watch.hand_to(is_taken)
            yield metadata_view.touches(aiter(watch))

    async def find(self, resource: str, namespace: str, name: str) -> Whole | None:
        found = await self._store.read(f"objects/{resource}/{namespace or storage_keys.NO_NAMESPACE}/{name}")
        return None if found is None else Whole(metadata_view.item_of(found), object_codec.loaded(found, self.kind_at(found.key)))

    def resource_at(self, where: str) -> GroupResource:
        plural, _, group = where.split("/", 2)[1].partition(".")
        return GroupResource(group, plural)

    async def items(self, wheres: Sequence[str]) -> list[Item | None]:
        return (await self._look_up(wheres))[0]

    async def _look_up(self, wheres: Sequence[str]) -> tuple[list[Item | None], set[str]]:
        """The items, and which of those that are None are damaged. Both come from one read: an item that changes between two
        reads could look absent in the first and whole in the second.
        """
        found: list[Item | None] = []
        damaged: set[str] = set()
        slice_ = time_slices.piece(SLICE, SMALL_SLICE)
        for start in range(0, len(wheres), slice_):
            records = await self._store.read_many(wheres[start : start + slice_])
            items = [metadata_view.item_of(record) if type(record) is Record else None for record in records]
            found += items
            if self._store.damage.known:
                damaged.update(record.key for record in records if type(record) is Damaged)
            # What does not come by in the feed would never be forgotten.
            self._read.update({item.where: item for item in items if item is not None and not item.where.startswith(_HIDDEN)})
            await time_slices.turn()
        return found, damaged

    async def _changes(self, watch: AsyncIterator[list[Event]]) -> AsyncGenerator[list[Change], None]:
        async for happened in watch:
            slice_ = time_slices.piece(SLICE, SMALL_SLICE)
            for start in range(0, len(happened), slice_):
                part = happened[start : start + slice_]
                if start:
                    await time_slices.turn()
                changes = [self._change(event) for event in part if _matters(event)]
                if not changes or changes[-1].revision < part[-1].revision:
                    changes.append(Change(part[-1].revision, None, None))
                yield changes

    def _change(self, event: Event) -> Change:
        before = None if event.previous is None else self._recall(event.previous)
        after = None if event.value is None else metadata_view.item_of(Record(event.key, event.value, event.revision))
        return Change(event.revision, before, after)

    def _recall(self, record: Record) -> Item:
        item = self._read.pop(record.key)
        return item if item is not None and item.revision == record.revision else metadata_view.item_of(record)

    async def owners(self, asked: Sequence[tuple[Item, Owner]], *, known: Mapping[str, Item] = _NOBODY) -> list[Seen]:
        kinds = [self._resource_of(owner) for _, owner in asked]
        wheres = [metadata_view.place(item, owner, kind) for (item, owner), kind in zip(asked, kinds, strict=True)]
        found: dict[str, Item | None] = dict.fromkeys(filter(None, wheres))
        for (_, owner), where in zip(asked, wheres, strict=True):
            item = known.get(where)
            if item is not None and item.meta.uid == owner.uid:  # a namesake says nothing: it may be gone, and the owner there
                found[where] = item
        unseen = [where for where, item in found.items() if item is None]
        damaged: set[str] = set()
        if unseen:
            items, damaged = await self._look_up(unseen)
            found.update(zip(unseen, items, strict=True))
        return [
            metadata_view.standing(item, owner, kind, found.get(where)) if where not in damaged else Seen(Standing.UNKNOWN)
            for (item, owner), kind, where in zip(asked, kinds, wheres, strict=True)
        ]

    async def damaged(self, wheres: Sequence[str]) -> set[str]:
        if not wheres or not self._store.damage.known:  # whoever has just read a damaged one knows of it
            return set()
        slices = [wheres[start : start + SLICE] for start in range(0, len(wheres), SLICE)]
        found = [await self._store.read_many(one) for one in slices]
        return {record.key for some in found for record in some if isinstance(record, Damaged)}

    async def elsewhere(self, asked: Sequence[tuple[Item, Owner]]) -> list[bool]:
        return await owner_lookup.elsewhere(self._store, self._resource_of, asked)

    async def waiting(self, uids: Sequence[str]) -> list[Item]:
        pages = await self._scan([index_entries.waiting(uid) for uid in uids], limit=1)
        return [item for item in await self.items([where for page in pages for where in page.wheres]) if item is not None]

    async def dependents(self, owners: Sequence[Item], *, limit: int) -> list[Places]:
        return await self._scan([index_entries.dependents(one.meta.uid, one.meta.namespace) for one in owners], limit=limit)

    async def cluster_scoped_dependents(self, owner: Item, *, limit: int) -> Places:
        if not owner.meta.namespace:  # they are among its `dependents`
            return Places([], "")
        return _places(await self._store.scan(index_entries.cluster_scoped_dependents(owner.meta.uid), limit=limit))

    async def have_dependents(self, owners: Sequence[Item]) -> list[bool]:
        ranges = [index_entries.dependents(one.meta.uid, one.meta.namespace) for one in owners]
        filled = await self._filled(ranges)
        return [range_ in filled for range_ in ranges]

    async def _scan(self, ranges: Sequence[str], *, limit: int) -> list[Places]:
        found: list[Places] = []
        slice_ = time_slices.piece(SLICE, SMALL_SLICE)
        for start in range(0, len(ranges), slice_):
            found += [_places(page) for page in await self._store.scan_many(ranges[start : start + slice_], limit=limit)]
            await time_slices.turn()
        return found

    async def _filled(self, ranges: Sequence[str]) -> set[str]:
        """Those of the ranges that hold anything."""
        found: set[str] = set()
        slice_ = time_slices.piece(SLICE, SMALL_SLICE)
        for start in range(0, len(ranges), slice_):
            found |= await self._store.filled(ranges[start : start + slice_])
            await time_slices.turn()
        return found

    async def more_dependents(self, owner: Item, more: str, *, limit: int, are_blocking: bool) -> Places:
        range_ = index_entries.blockers if are_blocking else index_entries.dependents
        return _places(await self._store.scan(range_(owner.meta.uid, owner.meta.namespace), after=more, limit=limit))

    async def are_blocked(self, owners: Sequence[Item]) -> list[bool]:
        ranges = [index_entries.blockers(one.meta.uid, one.meta.namespace) for one in owners]
        filled = await self._filled(ranges)
        return [range_ in filled for range_ in ranges]

    async def content(self, namespace: str, more: str, *, limit: int, resource: str = "") -> Places:
        return await namespace_content.listed(self._store, namespace, more, limit=limit, resource=resource)

    async def all_of(self, resource: str, more: str, *, limit: int) -> Places:
        return await self._page(f"objects/{resource}/", more, limit)

    async def users_of(self, definition: str) -> list[str]:
        [found] = await self._store.read_many([definition])
        if not isinstance(found, Record):  # what it defines is not known, if it is damaged: who refers to it is left alone
            return []
        await self._api.kinds.catch_up(found, now=self._api.now())
        spec: dict[str, Any] = orjson.loads(found.value)["spec"]
        prefix, users, more = index_entries.users_of_kind(spec["names"]["kind"], spec["group"]), [], ""
        while True:
            page = _places(await self._store.scan(prefix, after=more, limit=SLICE))
            users += page.wheres
            more = page.more
            if not more:
                return users

    async def everything(self, more: str, *, limit: int) -> Places:
        page = await self._page("objects/", more, limit)
        return page._replace(wheres=[where for where in page.wheres if not where.startswith(_HIDDEN)])

    async def act(self, actions: Sequence[Action]) -> list[Outcome]:
        return await self._acting.act(actions)

    async def warn(self, item: Item, reason: str, message: str) -> None:
        with contextlib.suppress(errors.ApiError):
            if not await self._acting.may(Ask("create", "", "events", "", item.meta.namespace or "default")):
                return
            await server_events.record(self._api, self.kind_at(item.where), item, reason, message)

    async def _page(self, prefix: str, more: str, limit: int) -> Places:
        page = await self._store.scan(prefix, after=more, limit=limit)
        return Places(page.keys, page.last if page.more else "")

    def kind_at(self, where: str) -> Resource:
        """The resource of an object, in any version that is served. One that is served no more is like any other."""
        self._forget_other_kinds()
        name = where[_RESOURCE : where.index("/", _RESOURCE)]
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._find(name, where)
        return found

    def _find(self, name: str, where: str) -> Resource:
        plural, _, group = name.partition(".")
        for version in self._api.catalog.versions(group):
            found = self._api.catalog.find(group, version, plural)
            if found is not None:
                return found
        return Resource(group, "v1", plural, plural, plural, is_namespaced="/-/" not in where, verbs=())

    def _resource_of(self, owner: Owner) -> Resource | None:
        self._forget_other_kinds()
        named = owner.api_version, owner.kind
        if named not in self._referred:
            if len(self._referred) >= MAX_REFERRED:
                self._referred.clear()
            version = GroupVersion.parse(owner.api_version)
            self._referred[named] = self._api.catalog.find_kind(version.group, version.version, owner.kind)
        return self._referred[named]

    def _forget_other_kinds(self) -> None:
        """What is known is of the kinds that are served now."""
        if self._known_in is not self._api.catalog:
            self._known_in, self._known, self._referred = self._api.catalog, {}, {}


def _matters(event: Event) -> bool:
    """Whether the change can mean anything to an owner or a dependent. Most objects have neither: a look at their text tells."""
    if event.key.startswith(_HIDDEN):
        return False
    value, previous = event.value, event.previous
    if value is None or _OWNED in value or _DELETED in value or event.key.startswith(_DEFINITIONS):
        return True
    return previous is not None and (_OWNED in previous.value or _DELETED in previous.value)


_NOWHERE = Places([])


def _places(page: Page) -> Places:
    if not page.records:
        return _NOWHERE
    return Places(index_entries.distinct(record.key for record in page.records), page.records[-1].key if page.more else "")
