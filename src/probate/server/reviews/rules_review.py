"""SelfSubjectRulesReview: everything that a user may do in a namespace. `kubectl auth can-i --list` sends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probate.api.objects import Object
from probate.api.rbac import policy_rules
from probate.api.rbac.policy_rules import ALL, PolicyRule
from probate.core import errors
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.reviews import review_body

_EVERYTHING = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), urls=(ALL,)))


async def review_self(context: ServerContext, request: Request, at: Target, *, form: Form) -> Response:
    """Answers a SelfSubjectRulesReview."""
    review = await review_body.read_review(context, request, at)
    namespace = review["spec"].get("namespace") or ""
    if not namespace:
        raise errors.BadRequest("no namespace on request: set spec.namespace, since rules apply to one namespace")
    user = request.user
    rules: Iterable[PolicyRule] = _EVERYTHING if user.is_superuser else (await context.authorizer.rights(user)).rules(namespace)
    rules = list(dict.fromkeys(rules))
    status = {"resourceRules": list(_resource_rules(rules)), "nonResourceRules": list(_path_rules(rules)), "incomplete": False}
    return review_body.response(at, review, status, form=form)


def _resource_rules(rules: Iterable[PolicyRule]) -> Iterator[Object]:
    return (policy_rules.rule_to_object(rule._replace(urls=())) for rule in rules if rule.resources)


def _path_rules(rules: Iterable[PolicyRule]) -> Iterator[Object]:
    return ({"verbs": list(rule.verbs), "nonResourceURLs": list(rule.urls)} for rule in rules if rule.urls)
