"""Policy rules: one rule of a role, the attributes of a request, and whether the rule allows it.

A rule allows each of its verbs on each of its resources in each of its groups; `*` stands for all. A subresource is named with its
resource (`pods/log`), or on any resource (`*/scale`); `pods` alone does not include it. A rule with resource names allows only
objects of these names, so it allows no lists, and nothing on an object without a name yet. Non-resource URLs may end in `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ALL = "*"
_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class PolicyRule(NamedTuple):
    """One policy rule: every combination of its verbs, groups, resources and names. Keeps the role's order."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class ResourceAttributes(NamedTuple):
    """A request for a resource. `namespace` is empty for all namespaces, and for cluster-scoped resources."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def full_resource(self) -> str:
        """The resource as rules name it, with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class NonResourceAttributes(NamedTuple):
    """A request to a path that is not a resource."""

    verb: str
    path: str


def rule_from_object(value: Mapping[str, Any]) -> PolicyRule:
    """Parses a rule of a role."""
    return PolicyRule(*(tuple(value.get(name) or ()) for name in _FIELDS))


def rule_to_object(rule: PolicyRule) -> dict[str, list[str]]:
    """Returns a rule as a role contains it."""
    return {name: list(values) for name, values in zip(_FIELDS, rule, strict=True) if values}


def rules_of_role(role: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """Parses the rules of a Role or ClusterRole."""
    return tuple(rule_from_object(rule) for rule in role.get("rules") or ())


def rule_allows(rule: PolicyRule, attributes: ResourceAttributes) -> bool:
    """Returns whether the rule allows the request."""
    return rule_allows_any_name(
        rule, attributes.verb, group=attributes.group, resource=attributes.resource, subresource=attributes.subresource
    ) and (not rule.names or attributes.name in rule.names)


def rule_allows_any_name(rule: PolicyRule, verb: str, *, group: str, resource: str, subresource: str) -> bool:
    """Returns whether the rule allows the action, on objects of all names or of some."""
    return (
        _includes(rule.verbs, verb) and _includes(rule.groups, group) and _includes_resource(rule.resources, resource, subresource)
    )


def rule_allows_path(rule: PolicyRule, attributes: NonResourceAttributes) -> bool:
    """Returns whether the rule allows the request to a path."""
    return _includes(rule.verbs, attributes.verb) and any(url_matches(url, attributes.path) for url in rule.urls)


def url_matches(url: str, path: str) -> bool:
    """Returns whether a non-resource URL of a rule matches the path."""
    return url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


def _includes(allowed: Iterable[str], value: str) -> bool:
    return value in allowed or ALL in allowed


def _includes_resource(allowed: tuple[str, ...], resource: str, subresource: str) -> bool:
    if ALL in allowed:
        return True
    if not subresource:
        return resource in allowed
    return f"{resource}/{subresource}" in allowed or f"*/{subresource}" in allowed
