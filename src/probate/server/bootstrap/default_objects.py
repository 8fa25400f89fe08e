"""What else clients take for granted, besides namespaces, roles and the Service of the server: a start adds what is missing.

Those that tell how requests are sorted are also put back as they should be, unless somebody says that they are to stay as they are.
Several servers may do so at once: what one is refused another has done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.catalog import Resource
from probate.core import errors
from probate.kinds.flowcontrol import bootstrap_flows as flows
from probate.kinds.flowcontrol import dangling
from probate.kinds.networking import service_cidrs
from probate.kinds.shared import system_priority_classes
from probate.server.bootstrap.namespaces import MANAGER
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import deletion, managed_fields, write
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Damaged, Found, Txn, create

Object = dict[str, Any]


class _Piece(NamedTuple):
    resource: Resource
    object: Object
    condition: Object | None = None  # the one that its status has
    seed: flows.Seed | None = None  # where what is there may have to change


async def ensure(api: Api) -> None:
    """Add what is missing."""
    pieces = list(_pieces(api))
    keys = [storage_keys.of(one.resource, "", one.object["metadata"]["name"]) for one in pieces]
    found = await api.store.read_many(keys)
    made = [_change(api, piece, key, there) for piece, key, there in zip(pieces, keys, found, strict=True)]
    txns = [txn for txn in made if txn is not None]
    if txns:
        await api.store.commit_many(txns)


def _pieces(api: Api) -> Iterator[_Piece]:
    classes = _resource(api, "scheduling.k8s.io", "priorityclasses")
    yield from (_Piece(classes, one) for one in system_priority_classes.objects())
    ranges = _resource(api, "networking.k8s.io", "servicecidrs")
    yield _Piece(ranges, service_cidrs.own(api.pools.addresses.name), service_cidrs.READY)
    kinds = {plural: _resource(api, flows.GROUP, plural) for plural in (flows.LEVELS, flows.SCHEMAS)}
    for seed in flows.seeds():
        is_schema = seed.resource == flows.SCHEMAS
        condition = dangling.condition(dangling.level_of(seed.object), is_there=True) if is_schema else None
        yield _Piece(kinds[seed.resource], seed.object, condition, seed)


def _change(api: Api, piece: _Piece, key: str, there: Found) -> Txn | None:
    if there is None:
        return _new(api, piece, key)
    if isinstance(there, Damaged):
        return None
    new = None if piece.seed is None else flows.mended(piece.seed, object_codec.loaded(there, piece.resource))
    return None if new is None else deletion.change(there, object_codec.meta(there.value), new).txn


def _new(api: Api, piece: _Piece, key: str) -> Txn:
    object_: Object = {**piece.object, "metadata": dict(piece.object["metadata"])}
    owners = managed_fields.creator(api.kinds, Target(piece.resource, ""), MANAGER)
    write.prepare_new(api, piece.resource, object_, "", owners)
    if piece.condition is not None:
        since = object_["metadata"]["creationTimestamp"]
        object_["status"] = {"conditions": [{**piece.condition, "lastTransitionTime": since}]}
    value = object_codec.stored(object_)
    return create(key, value, enter=index_entries.entries(key, object_codec.meta(value)))


def _resource(api: Api, group: str, plural: str) -> Resource:
    found = api.catalog.find(group, "v1", plural)
    if found is None:
        raise errors.InvariantViolation(f"there is no resource {plural}")
    return found
