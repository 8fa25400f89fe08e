"""The resolved rules of one user, with a cache of decisions."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.rbac import forbidden_message, policy_rules
from probate.api.rbac.policy_rules import NonResourceAttributes, PolicyRule, ResourceAttributes
from probate.api.rbac.rule_resolver import BoundRole, RuleResolver
from probate.api.rbac.users import User

CACHE_SIZE = 4_000
"""Decisions that are cached for each user."""

AllowedNames = frozenset[str] | None
"""The names of the objects on which an action is allowed; None for all names."""
NO_NAMES: AllowedNames = frozenset()

_CacheKey = tuple[str, str, str, str, str]


class UserRules:
    """The rules of one user, valid while the resolver's generation does not change."""

    def __init__(self, resolver: RuleResolver, user: User) -> None:
        self.generation = resolver.generation
        self.user = user
        self._resolver = resolver
        self._cluster_rules = tuple(self._rules(""))
        self._decisions: dict[_CacheKey, AllowedNames] = {}
        self._path_decisions: dict[NonResourceAttributes, bool] = {}
        self._reasons: dict[ResourceAttributes | NonResourceAttributes, str] = {}

    def allow(self, attributes: ResourceAttributes) -> bool:
        """Returns whether the user may do this."""
        allowed_names = self.allowed_names(attributes)
        return allowed_names is None or (bool(allowed_names) and attributes.name in allowed_names)

    def allowed_names(self, attributes: ResourceAttributes) -> AllowedNames:
        """Returns the names of the objects on which the user may do this. Ignores the name in the attributes."""
        return self._allowed_names(
            (attributes.verb, attributes.group, attributes.resource, attributes.subresource, attributes.namespace)
        )

    def allow_path(self, attributes: NonResourceAttributes) -> bool:
        """Returns whether the user may do this at a non-resource path. Only ClusterRoleBindings count."""
        is_allowed = self._path_decisions.get(attributes)
        if is_allowed is None:
            if len(self._path_decisions) >= CACHE_SIZE:
                self._path_decisions.clear()
            is_allowed = self._path_decisions[attributes] = any(
                policy_rules.rule_allows_path(rule, attributes) for rule in self._cluster_rules
            )
        return is_allowed

    def allowing_binding(self, attributes: ResourceAttributes | NonResourceAttributes) -> BoundRole | None:
        """Returns the binding that allows the request; None if there is none. Not cached."""
        namespace = "" if isinstance(attributes, NonResourceAttributes) else attributes.namespace
        for scope in dict.fromkeys(("", namespace)):
            for bound_role in self._resolver.bound_roles(self.user, scope):
                if any(_rule_allows(rule, attributes) for rule in bound_role.rules or ()):
                    return bound_role
        return None

    def reason(self, attributes: ResourceAttributes | NonResourceAttributes) -> str:
        """Returns the reason why the request is allowed; empty if it is not.

        Cached, since the audit log needs it for every request.
        """
        if isinstance(attributes, ResourceAttributes) and attributes.name and self.allowed_names(attributes) is None:
            attributes = attributes._replace(name="")
        reason = self._reasons.get(attributes)
        if reason is None:
            if len(self._reasons) >= CACHE_SIZE:
                self._reasons.clear()
            allowing_binding = self.allowing_binding(attributes)
            reason = self._reasons[attributes] = (
                "" if allowing_binding is None else forbidden_message.allowed_reason(allowing_binding)
            )
        return reason

    def rules(self, namespace: str) -> list[PolicyRule]:
        """Returns all rules of the user: cluster-wide ones and, if `namespace` is not empty, those in the namespace."""
        return [*self._cluster_rules, *(self._rules(namespace) if namespace else ())]

    def bindings_without_role(self, namespace: str) -> Iterator[BoundRole]:
        """Yields the bindings of the user whose role does not exist."""
        for scope in dict.fromkeys(("", namespace)):
            yield from (bound_role for bound_role in self._resolver.bound_roles(self.user, scope) if bound_role.rules is None)

    def _allowed_names(self, cache_key: _CacheKey) -> AllowedNames:
        if cache_key in self._decisions:
            return self._decisions[cache_key]
        if len(self._decisions) >= CACHE_SIZE:
            self._decisions.clear()
        verb, group, resource, subresource, namespace = cache_key
        rule_names = [
            rule.names
            for rule in self.rules(namespace)
            if policy_rules.rule_allows_any_name(rule, verb, group=group, resource=resource, subresource=subresource)
        ]
        allowed_names = None if not all(rule_names) else frozenset(name for names_of_rule in rule_names for name in names_of_rule)
        self._decisions[cache_key] = allowed_names
        return allowed_names

    def _rules(self, namespace: str) -> Iterator[PolicyRule]:
        for bound_role in self._resolver.bound_roles(self.user, namespace):
            yield from bound_role.rules or ()


def _rule_allows(rule: PolicyRule, attributes: ResourceAttributes | NonResourceAttributes) -> bool:
    return (
        policy_rules.rule_allows_path(rule, attributes)
        if isinstance(attributes, NonResourceAttributes)
        else policy_rules.rule_allows(rule, attributes)
    )
