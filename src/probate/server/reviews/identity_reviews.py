"""SelfSubjectReview (`kubectl auth whoami` sends it) and TokenReview."""

from __future__ import annotations

from probate.api.objects import Object
from probate.core import errors
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.reviews import review_body

UNKNOWN = "the token is unknown, expired, or not valid for these audiences"
"""The error of every invalid token. The precise reason would only help an attacker."""


async def review_self(context: ServerContext, request: Request, at: Target, *, form: Form) -> Response:
    """Answers a SelfSubjectReview."""
    review = await review_body.read_review(context, request, at)
    return review_body.response(at, review, {"userInfo": request.user.info}, form=form)


async def review_token(context: ServerContext, request: Request, at: Target, *, form: Form) -> Response:
    """Answers a TokenReview."""
    review = await review_body.read_review(context, request, at)
    spec = review["spec"]
    if not spec.get("token"):
        raise errors.BadRequest("token is required for TokenReview in authentication")
    return review_body.response(at, review, await _status(context, spec), form=form)


async def _status(context: ServerContext, spec: Object) -> Object:
    audiences = tuple(spec.get("audiences") or ())
    try:
        token_user = await context.authenticate_token(spec["token"], audiences)
    except errors.Unauthorized:
        return {"authenticated": False, "error": UNKNOWN}
    matching = {"audiences": list(token_user.audiences)} if token_user.audiences else {}
    return {"authenticated": True, "user": token_user.user.info, **matching}
