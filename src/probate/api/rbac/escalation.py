"""Nobody hands on what they do not have: whether rules allow everything that other rules allow.

Each wanted rule is taken apart into single combinations of a verb, a group, a resource and a name; each has to be allowed by one of
the rules that are held. `*` is covered by `*` only: what it will mean tomorrow nobody has today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from probate.api.rbac.policy_rules import ALL, Rule, matches_path
from probate.core import work_limits


def uncovered(held: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """What the wanted rules allow and the held ones do not, as rules again; each has what is missing of one wanted rule."""
    found = []
    for rule in wanted:
        if any(_covers_whole(one, rule) for one in held):
            continue
        missing = [part for part in _parts(rule) if not _is_covered(held, part)]
        if missing:
            found.append(_joined(missing))
    return found


def _covers_whole(held: Rule, wanted: Rule) -> bool:
    """Whether one rule has all of another, which most often is so: then there is nothing to take apart."""
    return (
        _has_all(held.verbs, wanted.verbs)
        and _has_all(held.groups, wanted.groups)
        and all(_covers_resource(held.resources, one) for one in wanted.resources)
        and (not held.names or (bool(wanted.names) and set(wanted.names) <= set(held.names)))
        and all(_covers_url(held.urls, one) for one in wanted.urls)
    )


def _has_all(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return ALL in held or set(wanted) <= set(held)


def _parts(rule: Rule) -> Iterator[Rule]:
    for verb, group, resource, name in product(rule.verbs, rule.groups, rule.resources, rule.names or ("",)):
        yield Rule((verb,), (group,), (resource,), (name,) if name else ())
    for verb, url in product(rule.verbs, rule.urls):
        yield Rule((verb,), urls=(url,))


def _is_covered(held: Sequence[Rule], part: Rule) -> bool:
    work_limits.spend(1 + len(held))
    return any(_covers(one, part) for one in held)


def _covers(held: Rule, part: Rule) -> bool:
    if ALL not in held.verbs and part.verbs[0] not in held.verbs:
        return False
    if part.urls:
        return _covers_url(held.urls, part.urls[0])
    if ALL not in held.groups and part.groups[0] not in held.groups:
        return False
    if not _covers_resource(held.resources, part.resources[0]):
        return False
    return not held.names or (bool(part.names) and part.names[0] in held.names)


def _covers_resource(held: tuple[str, ...], wanted: str) -> bool:
    if ALL in held or wanted in held:
        return True
    resource, slash, subresource = wanted.partition("/")
    return bool(slash) and resource != ALL and f"*/{subresource}" in held


def _covers_url(held: tuple[str, ...], wanted: str) -> bool:
    return any(matches_path(one, wanted) for one in held)


def _joined(parts: list[Rule]) -> Rule:
    """About what is missing, for people: every verb, group, resource, name and path of it, each once."""
    return Rule(*(tuple(dict.fromkeys(value for part in parts for value in part[number])) for number in range(len(parts[0]))))
