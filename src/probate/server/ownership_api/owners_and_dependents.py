"""`dependents` and `owners`: who refers to an object, and to whom an object refers.

    GET /apis/probate.dev/v1alpha1/dependents?uid=…[&namespace=…][&labelSelector=…][&fieldSelector=…][&limit=…&continue=…]
    GET /apis/probate.dev/v1alpha1/dependents?apiVersion=…&kind=…&name=…[&namespace=…]     the same, of an object by its name
    GET /apis/probate.dev/v1alpha1/owners?apiVersion=…&kind=…&name=…[&namespace=…]

An item is the other object's metadata, the reference that ties the two, whether it blocks the owner's deletion in the foreground,
and how the owner stands, seen from the dependent. A page of dependents is one read of a range of the index; selectors make pages
shorter, never longer. The index has no past: each page shows what there is when it is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from probate.api.catalog import Resource
from probate.api.ownership import Item, Owner, Seen, Standing
from probate.api.selectors import field_selectors, label_selectors
from probate.api.selectors.selectable_fields import METADATA
from probate.core import errors
from probate.gc.backends.store.backend import World
from probate.server import query
from probate.server.codec import negotiation, responses
from probate.server.context import Answer, Api
from probate.server.objects import list_snapshot
from probate.server.ownership.metadata_view import item_of
from probate.server.ownership_api import subjects
from probate.server.query import ListOptions
from probate.server.request import Request
from probate.server.storage import index_entries
from probate.store.contract import Page, Record

Object = dict[str, Any]

API_VERSION = "probate.dev/v1alpha1"
CHUNK = 500
"""Entries read at once where no limit is given, so that many dependents let others have their turn."""
_HELD = {Standing.SOLID, Standing.WAITING}


async def dependents(api: Api, request: Request) -> Answer:
    """Who refers to the object."""
    options = _options(request)
    uid, prefix = await _range(api, request)
    wanted = _filter(options)
    start = await list_snapshot.start(api.store, options, prefix)
    if start.at is not None and not options.continue_:
        raise errors.BadRequest("owners and dependents are shown as they are now: ask without resourceVersion")
    items: list[Object] = []
    after = start.after
    while True:
        page = await api.store.scan(prefix, after=after, limit=min(options.limit or CHUNK, api.store.limits.page))
        items += await _dependents(api, uid, page, wanted)
        after = page.records[-1].key if page.more else ""
        if options.limit or not after:
            break
        await asyncio.sleep(0)
    about = {"resourceVersion": str(page.revision)}
    if after:
        about["continue"] = list_snapshot.token(page.revision, after, prefix)
    return _listed("DependentList", about, items, request)


async def owners(api: Api, request: Request) -> Answer:
    """To whom the object refers, in the order in which it does."""
    if not subjects.is_named(request.query):
        raise errors.BadRequest("owners are asked for by an object's apiVersion, kind, name and namespace")
    options, world = _options(request), World(api)
    wanted = _filter(options)
    record = await subjects.named(api, request.query)
    item = item_of(record)
    references = orjson.loads(record.value)["metadata"].get("ownerReferences") or []
    seen = await world.owners([(item, owner) for owner in item.meta.owner_references])
    there = [one.item.where for one in seen if one.item is not None]
    records = {one.key: one for one in await api.store.read_many(there) if isinstance(one, Record)} if there else {}
    items = []
    for reference, owner, one in zip(references, item.meta.owner_references, seen, strict=True):
        found = records.get(one.item.where) if one.item is not None else None
        metadata = _metadata(found) if found is not None else {"name": owner.name, "uid": owner.uid}
        if wanted({"metadata": metadata}):
            items.append(_tie({"apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata}, reference, one))
    return _listed("OwnerList", {"resourceVersion": str(await api.store.revision())}, items, request)


def _options(request: Request) -> ListOptions:
    options = query.list_options(request.query)
    if options.is_watch:
        raise errors.BadRequest("owners and dependents cannot be watched: watch the objects themselves")
    return options


async def _range(api: Api, request: Request) -> tuple[str, str]:
    """The uid that is asked about, and the range of what refers to it."""
    if subjects.is_named(request.query):
        meta = item_of(await subjects.named(api, request.query)).meta
        return meta.uid, index_entries.dependents(meta.uid, meta.namespace)
    asked = subjects.uids(request.query, most=1)
    if not asked:
        raise errors.BadRequest("say whose dependents: give uid, or the owner's apiVersion, kind, name and namespace")
    return asked[0], index_entries.dependents(asked[0], subjects.namespace(request.query))


def _filter(options: ListOptions) -> Callable[[Object], bool]:
    labels = label_selectors.parse(options.label_selector)
    fields = field_selectors.parse(options.field_selector, METADATA)
    return lambda object_: labels.matches(object_["metadata"].get("labels") or {}) and fields.matches(object_)


async def _dependents(api: Api, uid: str, page: Page, wanted: Callable[[Object], bool]) -> list[Object]:
    """The objects of a page's entries, as far as they still refer to the owner."""
    if not page.records:
        return []
    world = World(api)
    wheres = index_entries.distinct(one.key for one in page.records)
    records = [one for one in await api.store.read_many(wheres) if isinstance(one, Record)]
    found = [(record, item_of(record)) for record in records]
    tied = [(record, item, owner) for record, item in found if (owner := _reference(item, uid)) is not None]
    seen = await _standings(world, [(item, owner) for _, item, owner in tied])
    items = []
    for (record, item, owner), one in zip(tied, seen, strict=True):
        metadata = _metadata(record)
        if not wanted({"metadata": metadata}):
            continue
        kind = world.kind_at(item.where)
        reference = metadata["ownerReferences"][item.meta.owner_references.index(owner)]
        items.append(_tie({**_type(kind), "metadata": metadata}, reference, one))
    return items


async def _standings(world: World, asked: Sequence[tuple[Item, Owner]]) -> list[Seen]:
    """How each owner stands. Most refer to the same one from the same namespace: it is read once."""
    distinct = {(item.meta.namespace, owner): (item, owner) for item, owner in asked}
    seen = dict(zip(distinct, await world.owners(list(distinct.values())) if distinct else [], strict=True))
    return [seen[item.meta.namespace, owner] for item, owner in asked]


def _reference(item: Item, uid: str) -> Owner | None:
    """The item's reference to this uid: of several the first, but rather one that blocks."""
    found = [owner for owner in item.meta.owner_references if owner.uid == uid]
    return next((owner for owner in found if owner.block_owner_deletion), found[0] if found else None)


def _tie(object_: Object, reference: Object, seen: Seen) -> Object:
    blocks = bool(reference.get("blockOwnerDeletion")) and seen.standing in _HELD
    return {**object_, "reference": reference, "blocks": blocks, "standing": seen.standing.value}


def _type(resource: Resource) -> Object:
    return {"apiVersion": str(resource.group_version), "kind": resource.kind}


def _metadata(record: Record) -> Object:
    metadata: Object = orjson.loads(record.value)["metadata"]
    return {**metadata, "resourceVersion": str(record.revision)}


def _listed(kind: str, about: dict[str, str], items: list[Object], request: Request) -> Answer:
    form = negotiation.accepted(request.headers.get(b"accept", b""))._replace(is_pretty=bool(query.truth(request.query, "pretty")))
    return responses.finish({"kind": kind, "apiVersion": API_VERSION, "metadata": about, "items": items}, form)
