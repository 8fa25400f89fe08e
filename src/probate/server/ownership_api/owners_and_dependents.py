"""`dependents` and `owners`: the objects that refer to an object, and the objects that it refers to.

    GET /apis/probate.dev/v1alpha1/dependents?uid=…[&namespace=…][&labelSelector=…][&fieldSelector=…][&limit=…&continue=…]
    GET /apis/probate.dev/v1alpha1/dependents?apiVersion=…&kind=…&name=…[&namespace=…]     the same, for an object by name
    GET /apis/probate.dev/v1alpha1/owners?apiVersion=…&kind=…&name=…[&namespace=…]

An item holds the other object's metadata, the owner reference, whether the reference blocks foreground deletion of the owner, and
the owner's state as seen from the dependent. A page of dependents is one read of an index range; selectors make pages shorter,
never longer. The index has no history: each page shows the current state when it is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import orjson

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.ownership import Item, OwnerReference, OwnerState, ResolvedOwner
from probate.api.selectors import field_selectors, label_selectors
from probate.api.selectors.selectable_fields import METADATA_FIELDS
from probate.core import errors
from probate.server import query
from probate.server.codec import negotiation, responses
from probate.server.context import ServerContext
from probate.server.objects import list_snapshot
from probate.server.ownership.metadata_view import item_of
from probate.server.ownership.ownership_reader import OwnershipReader
from probate.server.ownership_api import object_query
from probate.server.query import ListOptions
from probate.server.request import Request
from probate.server.response import Response
from probate.server.storage import index_entries
from probate.store.contract import Page, Record

API_VERSION = "probate.dev/v1alpha1"
CHUNK = 500
"""Entries read at once if the request has no limit, so that many dependents do not block the event loop."""
_EXISTING_STATES = {OwnerState.SOLID, OwnerState.WAITING}


async def list_dependents(context: ServerContext, request: Request) -> Response:
    """Handles GET …/dependents."""
    options = _options(request)
    uid, prefix = await _range(context, request)
    matches = _filter(options)
    start = await list_snapshot.resolve_start(context.store, options, prefix)
    if start.at is not None and not options.continue_:
        raise errors.BadRequest("owners and dependents are always current: remove resourceVersion from the request")
    items: list[Object] = []
    after = start.after
    while True:
        page = await context.store.scan(prefix, after=after, limit=min(options.limit or CHUNK, context.store.limits.page_size))
        items += await _dependents(context, uid, page, matches=matches)
        after = page.records[-1].key if page.has_more else ""
        if options.limit or not after:
            break
        await asyncio.sleep(0)
    list_meta = {"resourceVersion": str(page.revision)}
    if after:
        list_meta["continue"] = list_snapshot.continue_token(page.revision, after, prefix)
    return _list_response("DependentList", list_meta, items, request=request)


async def list_owners(context: ServerContext, request: Request) -> Response:
    """Handles GET …/owners. Owners are in the order of the object's references."""
    if not object_query.names_object(request.query):
        raise errors.BadRequest("give the apiVersion, kind, name and namespace of the object whose owners to list")
    options, reader = _options(request), OwnershipReader(context.store, context.kinds, context.clock)
    matches = _filter(options)
    record = await object_query.read_object(context, request.query)
    item = item_of(record)
    references = orjson.loads(record.value)["metadata"].get("ownerReferences") or []
    states = await reader.resolve_owners([(item, owner) for owner in item.meta.owner_references])
    owner_keys = [state.item.key for state in states if state.item is not None]
    records = (
        {record.key: record for record in await context.store.read_many(owner_keys) if isinstance(record, Record)}
        if owner_keys
        else {}
    )
    items = []
    for reference, owner, state in zip(references, item.meta.owner_references, states, strict=True):
        found = records.get(state.item.key) if state.item is not None else None
        metadata = _metadata(found) if found is not None else {"name": owner.name, "uid": owner.uid}
        if matches({"metadata": metadata}):
            items.append(_item({"apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata}, reference, state))
    return _list_response("OwnerList", {"resourceVersion": str(await context.store.revision())}, items, request=request)


def _options(request: Request) -> ListOptions:
    options = query.list_options(request.query)
    if options.is_watch:
        raise errors.BadRequest("owners and dependents cannot be watched: watch the objects themselves")
    return options


async def _range(context: ServerContext, request: Request) -> tuple[str, str]:
    """Returns the uid of the owner and the index range of its dependents."""
    if object_query.names_object(request.query):
        meta = item_of(await object_query.read_object(context, request.query)).meta
        return meta.uid, index_entries.dependents_range(meta.uid, meta.namespace)
    uids = object_query.requested_uids(request.query, limit=1)
    if not uids:
        raise errors.BadRequest("select an owner: give uid, or the owner's apiVersion, kind, name and namespace")
    return uids[0], index_entries.dependents_range(uids[0], object_query.requested_namespace(request.query))


def _filter(options: ListOptions) -> Callable[[Object], bool]:
    labels = label_selectors.parse(options.label_selector)
    fields = field_selectors.parse(options.field_selector, METADATA_FIELDS)
    return lambda object_: labels.matches(object_["metadata"].get("labels") or {}) and fields.matches(object_)


async def _dependents(context: ServerContext, uid: str, page: Page, *, matches: Callable[[Object], bool]) -> list[Object]:
    """Returns the objects of a page of entries that still refer to the owner."""
    if not page.records:
        return []
    reader = OwnershipReader(context.store, context.kinds, context.clock)
    dependent_keys = index_entries.distinct_object_keys(entry.key for entry in page.records)
    records = [record for record in await context.store.read_many(dependent_keys) if isinstance(record, Record)]
    found = [(record, item_of(record)) for record in records]
    dependents = [(record, item, owner) for record, item in found if (owner := _reference(item, uid)) is not None]
    states = await _owner_states(reader, [(item, owner) for _, item, owner in dependents])
    items = []
    for (record, item, owner), state in zip(dependents, states, strict=True):
        metadata = _metadata(record)
        if not matches({"metadata": metadata}):
            continue
        kind = reader.kind_at(item.key)
        reference = metadata["ownerReferences"][item.meta.owner_references.index(owner)]
        items.append(_item({**_type(kind), "metadata": metadata}, reference, state))
    return items


async def _owner_states(reader: OwnershipReader, references: Sequence[tuple[Item, OwnerReference]]) -> list[ResolvedOwner]:
    """Returns the state of each owner. Equal references from the same namespace are resolved once."""
    distinct = {(item.meta.namespace, owner): (item, owner) for item, owner in references}
    states = dict(zip(distinct, await reader.resolve_owners(list(distinct.values())) if distinct else [], strict=True))
    return [states[item.meta.namespace, owner] for item, owner in references]


def _reference(item: Item, uid: str) -> OwnerReference | None:
    """Returns the item's reference to this uid: the first blocking one, else the first."""
    found = [owner for owner in item.meta.owner_references if owner.uid == uid]
    return next((owner for owner in found if owner.block_owner_deletion), found[0] if found else None)


def _item(object_: Object, reference: Object, state: ResolvedOwner) -> Object:
    blocks = bool(reference.get("blockOwnerDeletion")) and state.state in _EXISTING_STATES
    return {**object_, "reference": reference, "blocks": blocks, "standing": state.state.value}


def _type(resource: Resource) -> Object:
    return {"apiVersion": str(resource.group_version), "kind": resource.kind}


def _metadata(record: Record) -> Object:
    metadata: Object = orjson.loads(record.value)["metadata"]
    return {**metadata, "resourceVersion": str(record.revision)}


def _list_response(kind: str, list_meta: dict[str, str], items: list[Object], *, request: Request) -> Response:
    form = negotiation.accepted(request.headers.get(b"accept", b""))._replace(
        is_pretty=bool(query.boolean(request.query, "pretty"))
    )
    return responses.finish({"kind": kind, "apiVersion": API_VERSION, "metadata": list_meta, "items": items}, form)
