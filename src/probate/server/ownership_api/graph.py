"""Part of the graph of owners and dependents, read from the index: from where one begins, all owners upwards, all dependents
downwards, and of each dependent found on the way down also its other owners (but not what else those own).

The graph is as true as reads one after another can be: what changes meanwhile may be shown as it was or as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from probate.api.ownership import Item, Owner, Seen
from probate.gc.backends.store.backend import World
from probate.server.context import Api
from probate.server.ownership.metadata_view import item_of
from probate.server.ownership_api import subjects
from probate.server.query import Query
from probate.server.storage import index_entries

MAX_UIDS = 50
WALK = 100_000
"""Objects that are looked through for one that is known by its uid alone and has no dependents, or for those of a namespace."""
SLICE = 500


class Node(msgspec.Struct, frozen=True, rename="camel"):
    """An object in the graph; or, `missing`, what a reference says of one that was not found where it has to be."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    deleting: bool = False
    waiting: bool = False  # for its dependents to go: "deleting in the foreground"
    orphaning: bool = False  # it leaves its dependents behind
    missing: bool = False


class Edge(msgspec.Struct, frozen=True, rename="camel"):
    """A reference: from the dependent to its owner, by their uids."""

    dependent: str
    owner: str
    blocking: bool
    standing: str  # how the owner stands, seen from the dependent


class Graph(msgspec.Struct, rename="camel"):
    """What was found. `cut` says that there is more than `limit` objects, `notes` what else is not shown."""

    limit: int
    cut: bool = False
    notes: list[str] = []
    nodes: list[Node] = []
    edges: list[Edge] = []


class Collecting:
    """Collects a graph of at most `limit` objects, generation by generation."""

    def __init__(self, api: Api, limit: int) -> None:
        self._store = api.store
        self._world = World(api)
        self._limit = limit
        self._items: dict[str, Item] = {}
        self._missing: dict[str, Node] = {}
        self._edges: dict[tuple[str, Owner], Edge] = {}
        self._expanded: set[str] = set()
        self._notes: list[str] = []
        self._is_cut = False

    async def find(self, api: Api, asked: Query) -> list[Item]:
        """Where to begin: the objects that the question is about. What is not found is noted."""
        begin: list[Item] = []
        if subjects.is_named(asked):
            begin.append(item_of(await subjects.named(api, asked)))
        elif namespace := subjects.namespace(asked):
            begin += await self._in_namespace(namespace)
        uids = [] if subjects.is_named(asked) else subjects.uids(asked, most=MAX_UIDS)
        known = [item for uid in uids if (item := await self._owner_of_its_dependents(uid)) is not None]
        lost = {uid for uid in uids if uid not in {item.meta.uid for item in known}}
        return [*begin, *known, *(await self._look_everywhere(lost) if lost else [])]

    async def spread(self, begin: Sequence[Item], uids: Iterable[str] = ()) -> None:
        """Go on from these, up and down. `uids` are of owners that may be gone: their dependents are shown all the same."""
        down = [item for item in begin if self._add(item)]
        up: list[Item] = []
        orphans = [uid for uid in uids if uid not in self._items]
        while down or up or orphans:
            owners = await self._link([*down, *up])
            below = await self._below([*(item.meta.uid for item in down), *orphans])
            known = set(self._items)
            up = [item for item in owners if item.meta.uid not in known and self._add(item)]
            down = [item for item in below if self._add(item)]
            orphans = []
            await asyncio.sleep(0)

    def graph(self) -> Graph:
        """What was found, in the order of kinds and names."""
        missing = [node for uid, node in self._missing.items() if uid not in self._items]
        nodes = [*(self._node(item) for item in self._items.values()), *missing]
        shown = {node.uid for node in nodes}
        edges = {edge for edge in self._edges.values() if edge.dependent in shown and edge.owner in shown}
        return Graph(
            self._limit,
            self._is_cut,
            self._notes,
            sorted(nodes, key=lambda one: (one.kind, one.api_version, one.namespace, one.name, one.uid)),
            sorted(edges, key=lambda one: (one.dependent, one.owner, one.blocking, one.standing)),
        )

    def _add(self, item: Item) -> bool:
        """Whether the item is in the graph and there is more to learn about it. One too many cuts the graph."""
        uid = item.meta.uid
        if uid not in self._items and len(self._items) >= self._limit:
            self._is_cut = True
            return False
        self._items.setdefault(uid, item)
        return uid not in self._expanded

    async def _link(self, items: Sequence[Item]) -> list[Item]:
        """Note the references of these items. Returns the owners that were found."""
        asked = [(item, owner) for item in items for owner in item.meta.owner_references]
        seen = await self._world.owners(asked) if asked else []
        for (item, owner), one in zip(asked, seen, strict=True):
            self._edges[item.meta.uid, owner] = _edge(item, owner, one)
            if one.item is None and len(self._missing) < self._limit:
                self._missing.setdefault(owner.uid, Node(owner.uid, owner.api_version, owner.kind, "", owner.name, missing=True))
        return [one.item for one in seen if one.item is not None]

    async def _below(self, uids: Sequence[str]) -> list[Item]:
        """All that refer to these uids, from wherever, as far as there is room for them."""
        found: list[Item] = []
        for uid in uids:
            if uid in self._expanded:
                continue
            self._expanded.add(uid)
            page = await self._store.scan(index_entries.dependents(uid, ""), limit=min(self._limit + 1, self._store.limits.page))
            self._is_cut |= page.more
            items = await self._world.items(index_entries.distinct(one.key for one in page.records))
            found += [item for item in items if item is not None]
            if len(found) > self._limit:
                self._is_cut = True
                break
        return found

    async def _in_namespace(self, namespace: str) -> list[Item]:
        """The objects of a namespace that have owners, or are on their way out."""
        found: list[Item] = []
        more, seen = "", 0
        while seen < WALK and len(found) <= self._limit:
            page = await self._world.content(namespace, more, limit=SLICE)
            items = [item for item in await self._world.items(page.wheres) if item is not None]
            found += [item for item in items if item.meta.owner_references or item.is_deleting]
            more, seen = page.more, seen + len(page.wheres)
            if not more:
                return found
        self._notes.append(f"only the first {seen} objects of namespace {namespace} were looked at")
        return found

    async def _owner_of_its_dependents(self, uid: str) -> Item | None:
        """The object with this uid, found by what refers to it."""
        page = await self._store.scan(index_entries.dependents(uid, ""), limit=SLICE)
        items = await self._world.items(index_entries.distinct(one.key for one in page.records))
        asked = {
            (item.meta.namespace, owner): (item, owner)
            for item in items
            if item is not None
            for owner in item.meta.owner_references
            if owner.uid == uid
        }
        seen = await self._world.owners(list(asked.values())) if asked else []
        return next((one.item for one in seen if one.item is not None), None)

    async def _look_everywhere(self, uids: set[str]) -> list[Item]:
        needles = [uid.encode() for uid in uids]
        found: dict[str, Item] = {}
        after, seen, is_more = "", 0, True
        while is_more and len(found) < len(uids) and seen < WALK:
            page = await self._store.scan("objects/", after=after, limit=SLICE)
            objects = (record for record in page.records if record.value.startswith(b"{"))  # not: where a controller got to
            likely = (record for record in objects if any(needle in record.value for needle in needles))
            found |= {item.meta.uid: item for item in map(item_of, likely) if item.meta.uid in uids}
            seen, is_more = seen + len(page.records), page.more
            after = page.last if page.more else ""
            await asyncio.sleep(0)
        for uid in sorted(uids - set(found)):
            where = f"among the first {seen} objects" if is_more else "anywhere"
            self._notes.append(f"uid {uid} was not found {where}")
        return list(found.values())

    def _node(self, item: Item) -> Node:
        resource, meta = self._world.kind_at(item.where), item.meta
        return Node(
            meta.uid,
            str(resource.group_version),
            resource.kind,
            meta.namespace,
            meta.name,
            deleting=item.is_deleting,
            waiting=item.is_waiting,
            orphaning=item.is_orphaning,
        )


def _edge(item: Item, owner: Owner, seen: Seen) -> Edge:
    blocks = bool(owner.block_owner_deletion) and seen.item is not None
    return Edge(item.meta.uid, owner.uid, blocks, seen.standing.value)
