"""RBAC properties: decisions from indexes and caches equal those of a reference evaluator that reads all objects one by one.

`support.reference_rbac` is the reference. It and Probate share no code.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.objects import Object
from probate.api.rbac import escalation, policy_rules
from probate.api.rbac.policy_rules import NonResourceAttributes, ResourceAttributes
from probate.api.rbac.rule_resolver import RuleResolver
from probate.api.rbac.user_rules import UserRules
from probate.api.rbac.users import User
from support import reference_rbac
from support.rbac_samples import HISTORIES, PATH_REQUESTS, RESOURCE_REQUESTS, RULES, USERS
from support.reference_rbac import Identity, PathRequest, ResourceRequest


def attributes_of(request: ResourceRequest | PathRequest) -> ResourceAttributes | NonResourceAttributes:
    if isinstance(request, PathRequest):
        return NonResourceAttributes(*request)
    resource, _, subresource = request.resource.partition("/")
    return ResourceAttributes(request.verb, request.group, resource, subresource, request.namespace, request.name)


@given(HISTORIES, USERS, st.lists(RESOURCE_REQUESTS | PATH_REQUESTS, min_size=1, max_size=8))
def test_cached_decisions_equal_the_reference_evaluator(
    history: list[tuple[Object, bool]], user: Identity, requests: list[ResourceRequest | PathRequest]
) -> None:
    resolver, existing = RuleResolver(), dict[tuple[str, str, str], Object]()
    for object_, is_gone in history:
        kind, meta = object_["kind"], object_["metadata"]
        key = (f"{kind.lower()}s", meta.get("namespace", ""), meta["name"])
        resolver.put(*key, object_=None if is_gone else object_)
        existing.pop(key, None) if is_gone else existing.update({key: object_})
        user_rules = UserRules(resolver, User(*user))
        for request in requests * 2:
            attributes = attributes_of(request)
            decided = (
                user_rules.allow(attributes) if isinstance(attributes, ResourceAttributes) else user_rules.allow_path(attributes)
            )
            assert decided == reference_rbac.allows(existing.values(), user, request)


@settings(max_examples=1_000)
@given(RULES, RULES)
def test_covered_rules_equal_the_reference_evaluator(held: list[Object], requested: list[Object]) -> None:
    held_rules, requested_rules = (
        [policy_rules.rule_from_object(rule) for rule in held],
        [policy_rules.rule_from_object(rule) for rule in requested],
    )
    missing = escalation.uncovered_rules(held_rules, requested_rules)
    assert (not missing) == reference_rbac.covers(held, requested)
    assert not escalation.uncovered_rules([*held_rules, *missing], requested_rules)
    assert not escalation.uncovered_rules(requested_rules, missing)


def test_the_reference_evaluator_does_not_use_probate() -> None:
    assert "probate" not in Path(reference_rbac.__file__).read_text().replace("Probate", "")
