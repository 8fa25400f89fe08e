"""May somebody do something? `kubectl auth can-i` asks so."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import Path, Problem, invalid
from probate.api.rbac import forbidden_message
from probate.api.rbac.policy_rules import Ask, AskPath
from probate.api.rbac.users import User
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.request import Request, Target
from probate.server.reviews import review_body, review_selectors
from probate.server.reviews.review_body import Object

_SPEC = Path("spec")


async def about_oneself(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """May who asks do this?"""
    asked = await review_body.question(api, request, at)
    review_body.check(at, (*_problems(asked["spec"]), *review_body.problems_of_metadata(asked)))
    return review_body.answered(at, asked, await _status(api, request.user, asked["spec"]), form)


async def about_anybody(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """May this user do this?"""
    asked = await review_body.question(api, request, at)
    spec = asked["spec"]
    about = (*_problems(spec), *_problems_of_user(spec), *_problems_of_place(spec, at))
    review_body.check(at, (*about, *review_body.problems_of_metadata(asked)))
    user = User(
        spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", review_body.extra_of(spec.get("extra"))
    )
    return review_body.answered(at, asked, await _status(api, user, spec), form)


def _problems(spec: Object) -> Iterator[Problem]:
    about, elsewhere = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if about is not None and elsewhere is not None:
        yield invalid(_SPEC / "nonResourceAttributes", elsewhere, "cannot be specified in combination with resourceAttributes")
    elif about is None and elsewhere is None:
        told = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid(_SPEC / "resourceAttributes", None, told)
    yield from review_selectors.problems(about)


def _problems_of_user(spec: Object) -> Iterator[Problem]:
    if not spec.get("user") and not spec.get("groups"):
        yield invalid(_SPEC / "user", "", "at least one of user or group must be specified")


def _problems_of_place(spec: Object, at: Target) -> Iterator[Problem]:
    """A review in a namespace is about that namespace."""
    if not at.resource.is_namespaced:
        return
    attributes, elsewhere = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if elsewhere is not None:
        yield invalid(_SPEC / "nonResourceAttributes", elsewhere, "disallowed on this kind of request")
    if attributes is not None and (attributes.get("namespace") or "") != at.namespace:
        yield invalid(_SPEC / "resourceAttributes" / "namespace", attributes.get("namespace") or "", f"must be {at.namespace}")


async def _status(api: Api, user: User, spec: Object) -> Object:
    ask = _ask(spec)
    if user.is_master:
        return {"allowed": True, "reason": "members of system:masters may do anything"}
    rights = await api.access.rights(user)
    granting = rights.granting(ask)
    if granting is not None:
        return {"allowed": True, "reason": forbidden_message.allowed_by(granting)}
    lost = forbidden_message.reason(rights.lost("" if isinstance(ask, AskPath) else ask.namespace)).removeprefix(": ")
    return {"allowed": False, **({"reason": lost} if lost else {})}


def _ask(spec: Object) -> Ask | AskPath:
    given = spec.get("resourceAttributes")
    if given is None:
        path = spec["nonResourceAttributes"]
        return AskPath(path.get("verb") or "", path.get("path") or "")
    return Ask(*(given.get(name) or "" for name in ("verb", "group", "resource", "subresource", "namespace", "name")))
