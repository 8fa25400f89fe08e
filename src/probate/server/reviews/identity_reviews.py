"""Who am I (`kubectl auth whoami`), and who is it that a token is of?"""

from __future__ import annotations

from probate.core import errors
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.request import Request, Target
from probate.server.reviews import review_body
from probate.server.reviews.review_body import Object

UNKNOWN = "the token is not known here, or is not valid for these audiences"
"""Whatever is wrong with it: the rest helps only whoever made it up."""


async def about_oneself(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Who asks?"""
    asked = await review_body.question(api, request, at)
    return review_body.answered(at, asked, {"userInfo": request.user.info}, form)


async def about_token(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """Whose token is this?"""
    asked = await review_body.question(api, request, at)
    spec = asked["spec"]
    if not spec.get("token"):
        raise errors.BadRequest("token is required for TokenReview in authentication")
    return review_body.answered(at, asked, await _status(api, spec), form)


async def _status(api: Api, spec: Object) -> Object:
    wanted = tuple(spec.get("audiences") or ())
    try:
        found = await api.tokens(spec["token"], wanted)
    except errors.Unauthorized:
        return {"authenticated": False, "error": UNKNOWN}
    audiences = {"audiences": list(found.audiences)} if found.audiences else {}
    return {"authenticated": True, "user": found.user.info, **audiences}
