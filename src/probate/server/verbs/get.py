"""`get`: one object."""

from __future__ import annotations

from probate.server import refusals, shaping, versions
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target


async def get(api: Api, _request: Request, at: Target, form: Form) -> Answer:
    """The object as it is now."""
    found = await versions.read(api, at)
    if found is None:
        raise refusals.not_found(at.resource, at.name)
    return shaping.one(api, found, at.resource, form)
