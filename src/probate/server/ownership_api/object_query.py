"""Parses which objects a request to the ownership API is about: an object by kind and name, or objects by uid.

No index maps a uid to its object. The dependents of a uid are found in the ownership index, and their references give the kind and
name of the owner. An owner without dependents can only be found by scanning all objects, which `graph` does within a limit.
"""

from __future__ import annotations

import re

from probate.api.gvk import GroupVersion
from probate.core import errors
from probate.server import api_errors, query
from probate.server.context import ServerContext
from probate.server.ownership.metadata_view import item_of
from probate.server.query import Query
from probate.server.storage import index_entries, storage_keys
from probate.store.contract import Record

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAMED = "apiVersion, kind, name and, for a namespaced kind, namespace"


def names_object(parameters: Query) -> bool:
    """Whether the request names an object by kind."""
    return any(query.first_value(parameters, name) for name in ("apiVersion", "kind", "name"))


def requested_uids(parameters: Query, *, limit: int) -> list[str]:
    """Returns the uids in the request without duplicates.

    Raises `BadRequest` if there are more than `limit`, or if one is invalid.
    """
    result = list(dict.fromkeys(parameters.get("uid", ())))
    if len(result) > limit:
        raise errors.BadRequest(f"{len(result)} uids are requested: give at most {limit}")
    for uid in result:
        if not index_entries.is_valid_uid(uid):
            raise errors.BadRequest(f"{uid!r} is not a valid uid")
    return result


def requested_namespace(parameters: Query) -> str:
    """Returns the namespace in the request, or an empty string. Raises `BadRequest` if it is invalid."""
    result = query.first_value(parameters, "namespace")
    if result and not _NAMESPACE.fullmatch(result):
        raise errors.BadRequest(f"{result!r} is not a valid namespace name")
    return result


async def read_object(context: ServerContext, parameters: Query) -> Record:
    """Reads the object that the request names. Raises `NotFound` if it does not exist or has another uid than the requested one."""
    api_version, kind, name = (query.first_value(parameters, part) for part in ("apiVersion", "kind", "name"))
    if not (api_version and kind and name):
        raise errors.BadRequest(f"an object is named by {_NAMED}: one of these is missing")
    version = GroupVersion.parse(api_version)
    resource = context.catalog.find_kind(version.group, version.version, kind)
    if resource is None:
        raise errors.NotFound(f"no kind {kind} is served in {api_version}: GET /apis lists all groups and versions")
    namespace = requested_namespace(parameters)
    if resource.is_namespaced and not namespace:
        raise errors.BadRequest(f"{kind} is namespaced: give namespace=…")
    if "/" in name:
        raise errors.BadRequest(f"{name!r} is not a valid object name")
    result = await context.store.read(storage_keys.object_key(resource, namespace if resource.is_namespaced else "", name))
    uids = requested_uids(parameters, limit=1)
    if result is None or (uids and item_of(result).meta.uid != uids[0]):
        raise api_errors.not_found(resource, name)
    return result
