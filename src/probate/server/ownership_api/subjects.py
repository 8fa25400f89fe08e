"""Whom a question is about: an object that is named by its kind, or one that is known by its uid alone.

Objects are not found by their uid: no index says where a uid lies. What refers to a uid is found at once, and says itself where
the owner has to be; for an owner that nobody refers to, everything has to be looked through (`graph` does, within a bound).
"""

from __future__ import annotations

import re

from probate.api.gvk import GroupVersion
from probate.core import errors
from probate.server import api_errors, query
from probate.server.context import Api
from probate.server.ownership.metadata_view import item_of
from probate.server.query import Query
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Record

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAMED = "apiVersion, kind, name and, for a kind that lies in namespaces, namespace"


def is_named(asked: Query) -> bool:
    """Whether the question names an object by its kind."""
    return any(query.first(asked, name) for name in ("apiVersion", "kind", "name"))


def uids(asked: Query, *, most: int) -> list[str]:
    """The uids that the question is about, each once."""
    found = list(dict.fromkeys(asked.get("uid", ())))
    if len(found) > most:
        raise errors.BadRequest(f"{len(found)} uids are asked for at once: give at most {most}")
    for uid in found:
        if not index_entries.is_sound(uid):
            raise errors.BadRequest(f"{uid!r} is no uid that an object can have")
    return found


def namespace(asked: Query) -> str:
    """The namespace that the question is limited to; empty if it is not."""
    found = query.first(asked, "namespace")
    if found and not _NAMESPACE.fullmatch(found):
        raise errors.BadRequest(f"{found!r} is no name that a namespace can have")
    return found


async def named(api: Api, asked: Query) -> Record:
    """The object that is named by its kind. `NotFound` if there is none, or if it has another uid than was given."""
    api_version, kind, name = (query.first(asked, part) for part in ("apiVersion", "kind", "name"))
    if not (api_version and kind and name):
        raise errors.BadRequest(f"an object is named by {_NAMED}: one of these is missing")
    version = GroupVersion.parse(api_version)
    resource = api.catalog.find_kind(version.group, version.version, kind)
    if resource is None:
        raise errors.NotFound(f"no kind {kind} is served in {api_version}: GET /apis lists what is")
    within = namespace(asked)
    if resource.is_namespaced and not within:
        raise errors.BadRequest(f"a {kind} lies in a namespace: say in which, with namespace=…")
    if "/" in name:
        raise errors.BadRequest(f"{name!r} is no name that an object can have")
    found = await api.store.read(storage_keys.of(resource, within if resource.is_namespaced else "", name))
    given = uids(asked, most=1)
    if found is None or (given and item_of(found).meta.uid != given[0]):
        raise api_errors.not_found(resource, name)
    return found
