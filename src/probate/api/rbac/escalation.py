"""Privilege escalation: whether rules cover other rules, since a user may not grant permissions that they do not have.

Each requested rule is broken down into single combinations of a verb, a group, a resource and a name; each must be allowed by one
of the rules that the user holds. Only `*` covers `*`: no user holds today what `*` will include tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from probate.api.rbac.policy_rules import ALL, PolicyRule, url_matches
from probate.core import work_limits


def uncovered_rules(held: Sequence[PolicyRule], requested: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Returns what the requested rules allow and the held ones do not, one rule for each requested rule that is not covered."""
    missing_rules = []
    for rule in requested:
        if any(_covers_rule(held_rule, rule) for held_rule in held):
            continue
        missing = [part for part in _single_rules(rule) if not _is_covered(held, part)]
        if missing:
            missing_rules.append(_combine(missing))
    return missing_rules


def _covers_rule(held: PolicyRule, requested: PolicyRule) -> bool:
    """Fast path: returns whether one held rule covers the whole requested rule, as most do, so that no breakdown is needed."""
    return (
        _has_all(held.verbs, requested.verbs)
        and _has_all(held.groups, requested.groups)
        and all(_covers_resource(held.resources, resource) for resource in requested.resources)
        and (not held.names or (bool(requested.names) and set(requested.names) <= set(held.names)))
        and all(_covers_url(held.urls, url) for url in requested.urls)
    )


def _has_all(held: tuple[str, ...], requested: tuple[str, ...]) -> bool:
    return ALL in held or set(requested) <= set(held)


def _single_rules(rule: PolicyRule) -> Iterator[PolicyRule]:
    for verb, group, resource, name in product(rule.verbs, rule.groups, rule.resources, rule.names or ("",)):
        yield PolicyRule((verb,), (group,), (resource,), (name,) if name else ())
    for verb, url in product(rule.verbs, rule.urls):
        yield PolicyRule((verb,), urls=(url,))


def _is_covered(held: Sequence[PolicyRule], part: PolicyRule) -> bool:
    work_limits.spend(1 + len(held))
    return any(_covers(rule, part) for rule in held)


def _covers(held: PolicyRule, part: PolicyRule) -> bool:
    if ALL not in held.verbs and part.verbs[0] not in held.verbs:
        return False
    if part.urls:
        return _covers_url(held.urls, part.urls[0])
    if ALL not in held.groups and part.groups[0] not in held.groups:
        return False
    if not _covers_resource(held.resources, part.resources[0]):
        return False
    return not held.names or (bool(part.names) and part.names[0] in held.names)


def _covers_resource(held: tuple[str, ...], requested: str) -> bool:
    if ALL in held or requested in held:
        return True
    resource, slash, subresource = requested.partition("/")
    return bool(slash) and resource != ALL and f"*/{subresource}" in held


def _covers_url(held: tuple[str, ...], requested: str) -> bool:
    return any(url_matches(held_url, requested) for held_url in held)


def _combine(parts: list[PolicyRule]) -> PolicyRule:
    """Combines the missing parts into one rule for the message: every verb, group, resource, name and path, each once."""
    return PolicyRule(*(tuple(dict.fromkeys(value for part in parts for value in part[number])) for number in range(len(parts[0]))))
