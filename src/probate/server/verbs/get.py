"""`get`: returns one object."""

from __future__ import annotations

from probate.server import api_errors, query
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.objects import list_snapshot
from probate.server.request import Request, Target
from probate.server.response import Response


async def get(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Returns the current object. Raises `FutureRevision` if the store has not reached the requested resourceVersion."""
    if request.query and (resource_version := query.first_value(request.query, "resourceVersion")):
        await list_snapshot.require_reached(context.store, resource_version)
    record = await context.version_converter.read(target)
    if record is None:
        raise api_errors.not_found(target.resource, target.name)
    return context.responses.one(record, target.resource, form)
