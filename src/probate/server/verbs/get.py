"""`get`: one object."""

from __future__ import annotations

from probate.server import query, refusals, shaping, snapshots, versions
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target


async def get(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """The object as it is now, which is no older than any resourceVersion that the store has got to."""
    if request.query and (wanted := query.first(request.query, "resourceVersion")):
        await snapshots.reached(api.store, wanted)
    found = await versions.read(api, at)
    if found is None:
        raise refusals.not_found(at.resource, at.name)
    return shaping.one(api, found, at.resource, form)
