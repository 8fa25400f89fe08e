"""GraphBuilder: reads part of the ownership graph from the index.

From its roots, the graph contains all owners upwards, all dependents downwards, and for each dependent also its other owners, but
not the other dependents of those.

The graph comes from several reads, not from one snapshot: an object that changes meanwhile may appear in its old or its new state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from probate.api.ownership import Item, OwnerReference, ResolvedOwner
from probate.server.context import ServerContext
from probate.server.ownership.metadata_view import item_of
from probate.server.ownership.ownership_reader import OwnershipReader
from probate.server.ownership_api import object_query
from probate.server.query import Query
from probate.server.storage import index_entries

MAX_UIDS = 50
MAX_SCANNED = 100_000
"""Objects that are scanned to find a uid without dependents, or to find the roots in a namespace."""
PAGE_SIZE = 500


class Node(msgspec.Struct, frozen=True, rename="camel"):
    """An object in the graph. If `missing`, the owner was not found, and the fields are those of the reference."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    deleting: bool = False
    waiting: bool = False  # foreground deletion: waits for its dependents
    orphaning: bool = False  # orphans its dependents
    missing: bool = False


class Edge(msgspec.Struct, frozen=True, rename="camel"):
    """An owner reference from a dependent to its owner, by uid."""

    dependent: str
    owner: str
    blocking: bool
    standing: str  # the owner's state as seen from the dependent


class Graph(msgspec.Struct, rename="camel"):
    """The graph. `cut`: there are more than `limit` objects. `notes` says what else is not shown."""

    limit: int
    cut: bool = False
    notes: list[str] = []
    nodes: list[Node] = []
    edges: list[Edge] = []


class GraphBuilder:
    """Builds a graph of at most `limit` objects, one generation at a time."""

    def __init__(self, context: ServerContext, limit: int) -> None:
        self._store = context.store
        self._reader = OwnershipReader(context.store, context.kinds, context.clock)
        self._limit = limit
        self._items: dict[str, Item] = {}
        self._missing: dict[str, Node] = {}
        self._edges: dict[tuple[str, OwnerReference], Edge] = {}
        self._expanded: set[str] = set()
        self._notes: list[str] = []
        self._is_cut = False

    async def find_roots(self, context: ServerContext, parameters: Query) -> list[Item]:
        """Returns the objects that the request is about. Adds a note for each uid that is not found."""
        roots: list[Item] = []
        if object_query.names_object(parameters):
            roots.append(item_of(await object_query.read_object(context, parameters)))
        elif namespace := object_query.requested_namespace(parameters):
            roots += await self._in_namespace(namespace)
        uids = [] if object_query.names_object(parameters) else object_query.requested_uids(parameters, limit=MAX_UIDS)
        found = [item for uid in uids if (item := await self._find_by_dependents(uid)) is not None]
        unresolved = {uid for uid in uids if uid not in {item.meta.uid for item in found}}
        return [*roots, *found, *(await self._scan_for(unresolved) if unresolved else [])]

    async def expand(self, roots: Sequence[Item], uids: Iterable[str] = ()) -> None:
        """Adds everything above and below these objects.

        `uids` are owners that may not exist: their dependents are added nevertheless.
        """
        dependents_to_expand = [item for item in roots if self._add(item)]
        owners_to_expand: list[Item] = []
        missing_uids = [uid for uid in uids if uid not in self._items]
        while dependents_to_expand or owners_to_expand or missing_uids:
            owners = await self._add_edges([*dependents_to_expand, *owners_to_expand])
            dependents = await self._dependents_of([*(item.meta.uid for item in dependents_to_expand), *missing_uids])
            known_uids = set(self._items)
            owners_to_expand = [item for item in owners if item.meta.uid not in known_uids and self._add(item)]
            dependents_to_expand = [item for item in dependents if self._add(item)]
            missing_uids = []
            await asyncio.sleep(0)

    def build(self) -> Graph:
        """Returns the graph, ordered by kind and name."""
        missing = [node for uid, node in self._missing.items() if uid not in self._items]
        nodes = [*(self._node(item) for item in self._items.values()), *missing]
        shown = {node.uid for node in nodes}
        edges = {edge for edge in self._edges.values() if edge.dependent in shown and edge.owner in shown}
        return Graph(
            self._limit,
            self._is_cut,
            self._notes,
            sorted(nodes, key=lambda node: (node.kind, node.api_version, node.namespace, node.name, node.uid)),
            sorted(edges, key=lambda edge: (edge.dependent, edge.owner, edge.blocking, edge.standing)),
        )

    def _add(self, item: Item) -> bool:
        """Adds the item, unless the graph is full. Returns whether the item is in the graph and has not been expanded."""
        uid = item.meta.uid
        if uid not in self._items and len(self._items) >= self._limit:
            self._is_cut = True
            return False
        self._items.setdefault(uid, item)
        return uid not in self._expanded

    async def _add_edges(self, items: Sequence[Item]) -> list[Item]:
        """Adds the owner references of these items as edges. Returns the owners that exist."""
        references = [(item, owner) for item in items for owner in item.meta.owner_references]
        states = await self._reader.resolve_owners(references) if references else []
        for (item, owner), state in zip(references, states, strict=True):
            self._edges[item.meta.uid, owner] = _edge(item, owner, state)
            if state.item is None and len(self._missing) < self._limit:
                self._missing.setdefault(owner.uid, Node(owner.uid, owner.api_version, owner.kind, "", owner.name, missing=True))
        return [state.item for state in states if state.item is not None]

    async def _dependents_of(self, uids: Sequence[str]) -> list[Item]:
        """Returns the dependents of these uids in all namespaces, up to the limit."""
        found: list[Item] = []
        for uid in uids:
            if uid in self._expanded:
                continue
            self._expanded.add(uid)
            page = await self._store.scan(
                index_entries.dependents_range(uid, ""), limit=min(self._limit + 1, self._store.limits.page_size)
            )
            self._is_cut |= page.has_more
            items = await self._reader.get_items(index_entries.distinct_object_keys(entry.key for entry in page.records))
            found += [item for item in items if item is not None]
            if len(found) > self._limit:
                self._is_cut = True
                break
        return found

    async def _in_namespace(self, namespace: str) -> list[Item]:
        """Returns the objects of a namespace that have owners or are being deleted."""
        found: list[Item] = []
        continue_key, scanned = "", 0
        while scanned < MAX_SCANNED and len(found) <= self._limit:
            page = await self._reader.list_namespace(namespace, continue_key, limit=PAGE_SIZE)
            items = [item for item in await self._reader.get_items(page.keys) if item is not None]
            found += [item for item in items if item.meta.owner_references or item.is_deleting]
            continue_key, scanned = page.continue_token, scanned + len(page.keys)
            if not continue_key:
                return found
        self._notes.append(f"only the first {scanned} objects of namespace {namespace} were scanned")
        return found

    async def _find_by_dependents(self, uid: str) -> Item | None:
        """Returns the object with this uid, found through the references of its dependents."""
        page = await self._store.scan(index_entries.dependents_range(uid, ""), limit=PAGE_SIZE)
        items = await self._reader.get_items(index_entries.distinct_object_keys(entry.key for entry in page.records))
        references = {
            (item.meta.namespace, owner): (item, owner)
            for item in items
            if item is not None
            for owner in item.meta.owner_references
            if owner.uid == uid
        }
        states = await self._reader.resolve_owners(list(references.values())) if references else []
        return next((state.item for state in states if state.item is not None), None)

    async def _scan_for(self, uids: set[str]) -> list[Item]:
        needles = [uid.encode() for uid in uids]
        found: dict[str, Item] = {}
        after, scanned, is_more = "", 0, True
        while is_more and len(found) < len(uids) and scanned < MAX_SCANNED:
            page = await self._store.scan("objects/", after=after, limit=PAGE_SIZE)
            # Values that are not JSON objects are positions that controllers store.
            objects = (record for record in page.records if record.value.startswith(b"{"))
            likely = (record for record in objects if any(needle in record.value for needle in needles))
            found |= {item.meta.uid: item for item in map(item_of, likely) if item.meta.uid in uids}
            scanned, is_more = scanned + len(page.records), page.has_more
            after = page.last_key if page.has_more else ""
            await asyncio.sleep(0)
        for uid in sorted(uids - set(found)):
            scope = f"among the first {scanned} objects" if is_more else "anywhere"
            self._notes.append(f"uid {uid} was not found {scope}")
        return list(found.values())

    def _node(self, item: Item) -> Node:
        resource, meta = self._reader.kind_at(item.key), item.meta
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


def _edge(item: Item, owner: OwnerReference, state: ResolvedOwner) -> Edge:
    blocks = bool(owner.block_owner_deletion) and state.item is not None
    return Edge(item.meta.uid, owner.uid, blocks, state.state.value)
