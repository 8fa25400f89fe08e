"""All objects of our own store, as controllers see them: `control.world` says what each method promises.

Items are read from the metadata alone. Actions become guarded transactions, thousands to a batch, through the same `deletions` as a
client's requests: whatever a delete over HTTP would do, a controller's does too.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec
import orjson

from probate import errors
from probate.aio import turns
from probate.machinery.catalog import Resource
from probate.machinery.gvk import GroupResource, GroupVersion
from probate.machinery.ownership import Action, Change, Item, Outcome, Owner, Places, Seen, Standing, Touch, Whole
from probate.recent import Recent
from probate.server import deletions, effects, events, index, places, strays, wire
from probate.server.api import Api
from probate.server.deletions import Plan
from probate.server.writing import sure
from probate.store import contract, keys
from probate.store.contract import EmptyRange, Event, Page, Record, Revision, Txn

SLICE = 100
"""Objects that are read or written before others get the event loop."""
READ = 4_000
_RESOURCE = len(keys.OBJECTS)
"""Where the name of the resource begins in a key."""
POSITION = "objects/positions.probate.dev/-/collector"
_HIDDEN = ("objects/positions.probate.dev/", "objects/events/")
"""What controllers do not see: where they got to, and Events, which are never collected."""

log = logging.getLogger(__name__)

Result: TypeAlias = contract.Outcome | errors.ApiError | None
"""What a transaction came to; None if there was none."""


class World:
    """The objects of one API."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._store = api.store
        self._known_in, self._known = api.catalog, dict[str, Resource]()  # resources by how keys name them
        self._read: Recent[Item] = Recent(READ)  # read lately: who is deleted next comes by again in the feed

    async def position(self) -> int | None:
        found = await self._store.read(POSITION)
        return None if found is None else int(found.value)

    async def note_position(self, revision: int) -> None:
        found = await self._store.read(POSITION)
        value = b"%d" % revision
        if found is None:
            await self._store.commit(contract.create(POSITION, value))
        elif int(found.value) < revision:
            await self._store.commit(contract.update(POSITION, value, revision=found.revision))

    async def revision(self) -> int:
        return await self._store.revision()

    @asynccontextmanager
    async def changes(self, after: int) -> AsyncGenerator[AsyncIterator[list[Change]], None]:
        async with self._store.watch("objects/", after=Revision(after)) as watch:
            yield self._changes(aiter(watch))

    @asynccontextmanager
    async def touches(self, after: int) -> AsyncGenerator[AsyncIterator[list[Touch]], None]:
        async with self._store.watch("objects/", after=Revision(after)) as watch:
            yield _touches(aiter(watch))

    async def find(self, resource: str, namespace: str, name: str) -> Whole | None:
        found = await self._store.read(f"objects/{resource}/{namespace or places.NO_NAMESPACE}/{name}")
        return None if found is None else Whole(item_of(found), wire.loaded(found, self.kind_at(found.key)))

    def resource_at(self, where: str) -> GroupResource:
        plural, _, group = where.split("/", 2)[1].partition(".")
        return GroupResource(group, plural)

    async def items(self, wheres: Sequence[str]) -> list[Item | None]:
        found: list[Item | None] = []
        slice_ = turns.piece(SLICE)
        for start in range(0, len(wheres), slice_):
            records = await self._store.read_many(wheres[start : start + slice_])
            found += [None if record is None else self._remember(item_of(record)) for record in records]
            await turns.turn()
        return found

    def _remember(self, item: Item) -> Item:
        self._read[item.where] = item
        return item

    async def _changes(self, watch: AsyncIterator[list[Event]]) -> AsyncGenerator[list[Change], None]:
        async for happened in watch:
            slice_ = turns.piece(SLICE)
            for start in range(0, len(happened), slice_):
                part = happened[start : start + slice_]
                if start:
                    await turns.turn()
                changes = [self._change(event) for event in part if not event.key.startswith(_HIDDEN)]
                if not changes or changes[-1].revision < part[-1].revision:
                    changes.append(Change(part[-1].revision, None, None))
                yield changes

    def _change(self, event: Event) -> Change:
        before = None if event.previous is None else self._recall(event.previous)
        after = None if event.value is None else item_of(Record(event.key, event.value, event.revision))
        return Change(event.revision, before, after)

    def _recall(self, record: Record) -> Item:
        item = self._read.pop(record.key)
        return item if item is not None and item.revision == record.revision else item_of(record)

    async def owners(self, asked: Sequence[tuple[Item, Owner]]) -> list[Seen]:
        kinds = [self._resource_of(owner) for _, owner in asked]
        wheres = [_place(item, owner, kind) for (item, owner), kind in zip(asked, kinds, strict=True)]
        there = dict.fromkeys(where for where in wheres if where)
        found = dict(zip(there, await self.items(list(there)), strict=True))
        return [
            _standing(item, owner, kind, found.get(where)) for (item, owner), kind, where in zip(asked, kinds, wheres, strict=True)
        ]

    async def elsewhere(self, asked: Sequence[tuple[Item, Owner]]) -> list[bool]:
        return await strays.elsewhere(self._store, self._resource_of, asked)

    async def waiting(self, uids: Sequence[str]) -> list[Item]:
        pages = await self._scan([index.waiting(uid) for uid in uids], limit=1)
        return [item for item in await self.items([where for page in pages for where in page.wheres]) if item is not None]

    async def dependents(self, owners: Sequence[Item], *, limit: int) -> list[Places]:
        return await self._scan([index.dependents(one.meta.uid, one.meta.namespace) for one in owners], limit=limit)

    async def _scan(self, ranges: Sequence[str], *, limit: int) -> list[Places]:
        found: list[Places] = []
        slice_ = turns.piece(SLICE)
        for start in range(0, len(ranges), slice_):
            found += [_places(page) for page in await self._store.scan_many(ranges[start : start + slice_], limit=limit)]
            await turns.turn()
        return found

    async def more_dependents(self, owner: Item, more: str, *, limit: int, are_blocking: bool) -> Places:
        range_ = index.blockers if are_blocking else index.dependents
        return _places(await self._store.scan(range_(owner.meta.uid, owner.meta.namespace), after=more, limit=limit))

    async def are_blocked(self, owners: Sequence[Item]) -> list[bool]:
        ranges = [index.blockers(one.meta.uid, one.meta.namespace) for one in owners]
        return [bool(page.wheres) for page in await self._scan(ranges, limit=1)]

    async def mentions(self, owner: Item, *, limit: int) -> Places:
        return _places(await self._store.scan(index.dependents(owner.meta.uid, ""), limit=limit))

    async def content(self, namespace: str, more: str, *, limit: int, resource: str = "") -> Places:
        return _places(await self._store.scan(index.content(namespace, resource), after=more, limit=limit))

    async def all_of(self, resource: str, more: str, *, limit: int) -> Places:
        return await self._page(f"objects/{resource}/", more, limit)

    async def users_of(self, definition: str) -> list[str]:
        found = await self._store.read(definition)
        if found is None:
            return []
        spec: dict[str, Any] = orjson.loads(found.value)["spec"]
        prefix, users, more = index.users_of_kind(spec["names"]["kind"], spec["group"]), [], ""
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
        parts, slice_ = [], turns.piece(SLICE)
        for start in range(0, len(actions), slice_):
            # While one part becomes durable, the next is planned.
            parts.append(asyncio.ensure_future(self._act(actions[start : start + slice_])))
            await turns.turn()
        return [outcome for part in await asyncio.gather(*parts) for outcome in part]

    async def warn(self, item: Item, reason: str, message: str) -> None:
        with contextlib.suppress(errors.ApiError):
            await events.record(self._api, self.kind_at(item.where), item, reason, message)

    async def _page(self, prefix: str, more: str, limit: int) -> Places:
        page = await self._store.scan(prefix, after=more, limit=limit)
        return Places([record.key for record in page.records], page.records[-1].key if page.more else "")

    def kind_at(self, where: str) -> Resource:
        """The resource of an object, in any version that is served. One that is served no more is like any other."""
        if self._known_in is not self._api.catalog:
            self._known_in, self._known = self._api.catalog, {}
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
        version = GroupVersion.parse(owner.api_version)
        return self._api.catalog.find_kind(version.group, version.version, owner.kind)

    async def _act(self, actions: Sequence[Action]) -> list[Outcome]:
        """Plan all, commit all, and remove what was only marked so far."""
        removals = effects.Removals(self.kind_at)
        txns = [removals.plan(action) for action in actions]
        plans = await self._plans({at: actions[at] for at, txn in enumerate(txns) if txn is None})
        for at, plan in plans.items():
            txns[at] = None if plan is None else plan.txn
        written = iter(await self._commit([txn for txn in txns if txn is not None]))
        results = [None if txn is None else next(written) for txn in txns]
        if plans:
            await self._finish([(plan, results[at]) for at, plan in plans.items() if plan is not None])
        missed = {at for at, plan in plans.items() if plan is None}
        return [Outcome.CHANGED if at in missed else _outcome(result) for at, result in enumerate(results)]

    async def _plans(self, actions: dict[int, Action]) -> dict[int, Plan | None]:
        """Plans of actions on objects that have to be read for it. None for what is no more."""
        if not actions:
            return {}
        moment = self._api.clock.now()
        records = await self._store.read_many([action.item.where for action in actions.values()])
        return {
            at: effects.plan(action, record, self.kind_at(action.item.where), moment)
            for (at, action), record in zip(actions.items(), records, strict=True)
        }

    async def _commit(self, txns: list[Txn]) -> list[contract.Outcome | errors.ApiError]:
        try:
            return list(await self._store.commit_many(txns)) if txns else []
        except errors.ApiError as error:  # one of them may be too large for the store: each gets its own answer
            log.warning("a batch of %d actions failed, and is tried one by one: %s", len(txns), error)
        return [await self._commit_one(txn) for txn in txns]

    async def _commit_one(self, txn: Txn) -> contract.Outcome | errors.ApiError:
        try:
            return await self._store.commit(txn)
        except errors.ApiError as error:
            log.warning("%s could not be changed: %s", txn.key, error)
            return error

    async def _finish(self, plans: list[tuple[Plan, Result]]) -> None:
        """Remove what a plan has marked to be removed right after."""
        marked = [
            Record(plan.left.key, plan.left.value, result) for plan, result in plans if plan.is_half and isinstance(result, int)
        ]
        # Whoever changed one in between has been told that it goes, and that change removes it or holds it.
        await self._commit([sure(deletions.removal(record, wire.meta(record.value)).txn) for record in marked])


def item_of(record: Record) -> Item:
    """The object as controllers see it."""
    meta = wire.meta(record.value)
    item = Item(record.key, record.revision, meta)
    if meta.deletion_timestamp is None:
        return item
    is_leaving = item.is_waiting or item.is_orphaning
    return msgspec.structs.replace(item, is_lagging=True) if is_leaving and wire.is_unobserved(record.value) else item


async def _touches(watch: AsyncIterator[list[Event]]) -> AsyncGenerator[list[Touch], None]:
    async for happened in watch:
        yield _by_folder(happened)


def _by_folder(happened: list[Event]) -> list[Touch]:
    folders: dict[str, list[str]] = {}
    for event in happened:
        folders.setdefault(event.key[: event.key.rindex("/")], []).append(event.key)
    return [_touch(folder, wheres) for folder, wheres in folders.items()]


def _touch(folder: str, wheres: list[str]) -> Touch:
    _, resource, namespace = folder.split("/", 2)
    return Touch(resource, "" if namespace == places.NO_NAMESPACE else namespace, wheres)


def _place(item: Item, owner: Owner, kind: Resource | None) -> str:
    """Where the owner has to be; nothing if that cannot be said, or nothing can be there: references can have any name."""
    if kind is None or _is_out_of_reach(item, kind):
        return ""
    key = places.of(kind, item.meta.namespace if kind.is_namespaced else "", owner.name)
    return key if "/" not in owner.name and keys.is_sound(key) else ""


def _is_out_of_reach(item: Item, kind: Resource) -> bool:
    return kind.is_namespaced and not item.meta.namespace


def _standing(item: Item, owner: Owner, kind: Resource | None, found: Item | None) -> Seen:
    if kind is None:
        return Seen(Standing.UNKNOWN)
    if _is_out_of_reach(item, kind):
        return Seen(Standing.OUT_OF_REACH)
    if found is None or found.meta.uid != owner.uid:
        return Seen(Standing.DANGLING)
    return Seen(Standing.WAITING if found.is_waiting else Standing.SOLID, found)


_NOWHERE = Places([])


def _places(page: Page) -> Places:
    if not page.records:
        return _NOWHERE
    return Places(index.distinct(record.key for record in page.records), page.records[-1].key if page.more else "")


def _outcome(result: Result) -> Outcome:
    """What became of an action; None is one that had nothing to write."""
    if result is None or isinstance(result, int):
        return Outcome.DONE
    if isinstance(result, errors.ApiError):
        return Outcome.FAILED
    return Outcome.HELD if all(isinstance(guard, EmptyRange) for guard in result.failed) else Outcome.CHANGED
