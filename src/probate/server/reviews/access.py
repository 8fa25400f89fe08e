"""May somebody do something? `kubectl auth can-i` asks so."""

from __future__ import annotations

from collections.abc import Iterator

from probate.machinery.problems import Path, Problem, invalid, required
from probate.machinery.rbac import missing
from probate.machinery.rbac.rules import Ask, AskPath
from probate.machinery.rbac.users import User
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.server.reviews import reading
from probate.server.reviews.reading import Object

_SPEC = Path("spec")


async def about_oneself(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """May who asks do this?"""
    asked = await reading.question(api, request, at)
    reading.check(at, _problems(asked["spec"]))
    return reading.answered(at, asked, await _status(api, request.user, asked["spec"]), form)


async def about_anybody(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """May this user do this?"""
    asked = await reading.question(api, request, at)
    spec = asked["spec"]
    reading.check(at, (*_problems(spec), *_problems_of_user(spec), *_problems_of_place(spec, at)))
    user = User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", reading.extra_of(spec.get("extra")))
    return reading.answered(at, asked, await _status(api, user, spec), form)


def _problems(spec: Object) -> Iterator[Problem]:
    if (spec.get("resourceAttributes") is None) == (spec.get("nonResourceAttributes") is None):
        yield invalid(
            _SPEC / "resourceAttributes",
            spec.get("resourceAttributes"),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )


def _problems_of_user(spec: Object) -> Iterator[Problem]:
    if not spec.get("user") and not spec.get("groups"):
        yield required(_SPEC / "user", "at least one of user or group must be specified")


def _problems_of_place(spec: Object, at: Target) -> Iterator[Problem]:
    """A review in a namespace is about that namespace."""
    if not at.resource.is_namespaced:
        return
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        yield invalid(_SPEC / "nonResourceAttributes", spec.get("nonResourceAttributes"), "disallowed on this kind of request")
    elif attributes.get("namespace", "") != at.namespace:
        yield invalid(_SPEC / "resourceAttributes" / "namespace", attributes.get("namespace", ""), f"must be {at.namespace}")


async def _status(api: Api, user: User, spec: Object) -> Object:
    ask = _ask(spec)
    if user.is_master:
        return {"allowed": True, "reason": "members of system:masters may do anything"}
    rights = await api.access.rights(user)
    granting = rights.granting(ask)
    if granting is not None:
        return {"allowed": True, "reason": missing.allowed_by(granting)}
    lost = missing.reason(rights.lost("" if isinstance(ask, AskPath) else ask.namespace)).removeprefix(": ")
    return {"allowed": False, **({"reason": lost} if lost else {})}


def _ask(spec: Object) -> Ask | AskPath:
    given = spec.get("resourceAttributes")
    if given is None:
        path = spec["nonResourceAttributes"]
        return AskPath(path.get("verb") or "", path.get("path") or "")
    return Ask(*(given.get(name) or "" for name in ("verb", "group", "resource", "subresource", "namespace", "name")))
