"""All that somebody may do in a namespace: `kubectl auth can-i --list` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probate.api.rbac import policy_rules
from probate.api.rbac.policy_rules import ALL, Rule
from probate.core import errors
from probate.server.codec.negotiation import Form
from probate.server.context import Answer, Api
from probate.server.request import Request, Target
from probate.server.reviews import review_body
from probate.server.reviews.review_body import Object

_EVERYTHING = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))


async def about_oneself(api: Api, request: Request, at: Target, form: Form) -> Answer:
    """What may who asks do in this namespace?"""
    asked = await review_body.question(api, request, at)
    namespace = asked["spec"].get("namespace") or ""
    if not namespace:
        raise errors.BadRequest("no namespace on request: the rules are those that hold in one")
    user = request.user
    held: Iterable[Rule] = _EVERYTHING if user.is_master else (await api.access.rights(user)).rules(namespace)
    held = list(dict.fromkeys(held))
    status = {"resourceRules": list(_about_resources(held)), "nonResourceRules": list(_about_paths(held)), "incomplete": False}
    return review_body.answered(at, asked, status, form)


def _about_resources(held: Iterable[Rule]) -> Iterator[Object]:
    return (policy_rules.to_object(rule._replace(urls=())) for rule in held if rule.resources)


def _about_paths(held: Iterable[Rule]) -> Iterator[Object]:
    return ({"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in held if rule.urls)
