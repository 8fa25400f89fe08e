"""All that somebody may do in a namespace: `kubectl auth can-i --list` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probate import errors
from probate.machinery.rbac import rules
from probate.machinery.rbac.rules import ALL, Rule
from probate.server.api import Answer, Api
from probate.server.negotiation import Form
from probate.server.request import Request, Target
from probate.server.reviews import reading
from probate.server.reviews.reading import Object

_EVERYTHING = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))


async def about_oneself(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """What may who asks do in this namespace?"""
    asked = await reading.question(api, request, at)
    namespace = asked["spec"].get("namespace") or ""
    if not namespace:
        raise errors.BadRequest("no namespace on request: the rules are those that hold in one")
    user = request.user
    held: Iterable[Rule] = _EVERYTHING if user.is_master else (await api.access.rights(user)).rules(namespace)
    held = list(dict.fromkeys(held))
    status = {"resourceRules": list(_about_resources(held)), "nonResourceRules": list(_about_paths(held)), "incomplete": False}
    return reading.answered(at, asked, status, form)


def _about_resources(held: Iterable[Rule]) -> Iterator[Object]:
    return (rules.to_object(rule._replace(urls=())) for rule in held if rule.resources)


def _about_paths(held: Iterable[Rule]) -> Iterator[Object]:
    return ({"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in held if rule.urls)
