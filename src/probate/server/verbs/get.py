"""`get`: one object."""

from __future__ import annotations

from probate.server import api_errors, query
from probate.server.codec import responses, version_conversion
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.objects import list_snapshot
from probate.server.request import Request, Target


async def get(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """The object as it is now, which is no older than any resourceVersion that the store has got to."""
    if request.query and (wanted := query.first(request.query, "resourceVersion")):
        await list_snapshot.reached(api.store, wanted)
    found = await version_conversion.read(api, at)
    if found is None:
        raise api_errors.not_found(at.resource, at.name)
    return responses.one(api, found, at.resource, form)
