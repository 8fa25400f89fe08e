"""One rule of a role, what can be asked of it, and whether it allows that.

A rule allows each of its verbs on each of its resources in each of its groups; `*` stands for all. A subresource is named with its
resource (`pods/log`), or on any resource (`*/scale`); `pods` alone does not include it. Where a rule has names, it is about the
objects of these names only, so it says nothing about lists, or about what has no name yet. Paths may end in `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ALL = "*"
_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class Rule(NamedTuple):
    """What is allowed, in the order in which the role has it. All of it, in every combination."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Ask(NamedTuple):
    """May somebody do this to a resource? `namespace` is empty where all are meant, or the kind has none."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def full_resource(self) -> str:
        """The resource as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AskPath(NamedTuple):
    """May somebody do this at a path that is no resource?"""

    verb: str
    path: str


def of_object(value: Mapping[str, Any]) -> Rule:
    """A rule as a role has it."""
    return Rule(*(tuple(value.get(name) or ()) for name in _FIELDS))


def to_object(rule: Rule) -> dict[str, list[str]]:
    """A rule as a role would have it."""
    return {name: list(values) for name, values in zip(_FIELDS, rule, strict=True) if values}


def of_role(role: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules of a Role or ClusterRole."""
    return tuple(of_object(one) for one in role.get("rules") or ())


def allows(rule: Rule, ask: Ask) -> bool:
    """Whether the rule allows this."""
    return concerns(rule, ask.verb, ask.group, ask.resource, ask.subresource) and (not rule.names or ask.name in rule.names)


def concerns(rule: Rule, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Whether the rule allows this to objects of all names, or to those of some."""
    return _has(rule.verbs, verb) and _has(rule.groups, group) and _has_resource(rule.resources, resource, subresource)


def allows_path(rule: Rule, ask: AskPath) -> bool:
    """Whether the rule allows this."""
    return _has(rule.verbs, ask.verb) and any(matches_path(url, ask.path) for url in rule.urls)


def matches_path(url: str, path: str) -> bool:
    """Whether a path is one of those that a rule's URL stands for."""
    return url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


def _has(allowed: Iterable[str], wanted: str) -> bool:
    return wanted in allowed or ALL in allowed


def _has_resource(allowed: tuple[str, ...], resource: str, subresource: str) -> bool:
    if ALL in allowed:
        return True
    if not subresource:
        return resource in allowed
    return f"{resource}/{subresource}" in allowed or f"*/{subresource}" in allowed
