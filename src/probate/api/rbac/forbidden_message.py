"""Messages of RBAC denials: Kubernetes' text, and the rule that would allow the request."""

from __future__ import annotations

import json
from collections.abc import Iterable

from probate.api.field_errors import FieldError
from probate.api.rbac import policy_rules
from probate.api.rbac.policy_rules import NonResourceAttributes, PolicyRule, ResourceAttributes
from probate.api.rbac.rule_resolver import GROUP, BoundRole
from probate.api.rbac.users import User
from probate.core.errors import ApiError, Details, Forbidden

MISSING_RULE = "MissingRule"
"""The reason of a cause that names the missing rule."""
MAX_MISSING_ROLES = 5
MAX_RULES = 50


def forbidden_error(
    user: User, attributes: ResourceAttributes, *, missing_roles: Iterable[BoundRole] = (), purpose: str = ""
) -> Forbidden:
    """Returns the error for a denied request. `purpose` says what the permission is needed for."""
    resource = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    target = f'{resource} "{attributes.name}"' if attributes.name else resource
    missing = json.dumps(policy_rules.rule_to_object(missing_rule(attributes)))
    denial = f"{f'{purpose}: ' if purpose else ''}{denial_message(user, attributes)}{missing_roles_message(missing_roles)}"
    message = f"{target} is forbidden: {denial}. What is missing is a rule such as {missing}"
    cause = FieldError(MISSING_RULE, "", missing)
    return Forbidden(message, Details(name=attributes.name, group=attributes.group, kind=attributes.resource, causes=(cause,)))


def forbidden_path_error(user: User, attributes: NonResourceAttributes) -> Forbidden:
    """Returns the error for a denied request to a non-resource path."""
    missing = json.dumps(policy_rules.rule_to_object(PolicyRule((attributes.verb,), urls=(attributes.path,))))
    denial = f'User "{user.name}" cannot {attributes.verb} path "{attributes.path}"'
    message = f"forbidden: {denial}. What is missing is a rule such as {missing}"
    return Forbidden(message, Details(causes=(FieldError(MISSING_RULE, "", missing),)))


def is_missing_rule_error(error: ApiError) -> bool:
    """Returns whether the error is a denial because of a missing rule."""
    return any(cause.reason == MISSING_RULE for cause in error.details.causes)


def denial_message(user: User, attributes: ResourceAttributes) -> str:
    """Returns Kubernetes' message: the user, the action and the scope."""
    scope = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
    action = f'{attributes.verb} resource "{attributes.full_resource}"'
    return f'User "{user.name}" cannot {action} in API group "{attributes.group}" {scope}'


def missing_roles_message(missing_roles: Iterable[BoundRole]) -> str:
    """Returns the part of the message about bound roles that do not exist; empty if there are none."""
    bound_roles = [bound_role for bound_role, _ in zip(missing_roles, range(MAX_MISSING_ROLES), strict=False)]
    return "" if not bound_roles else f": RBAC: {', '.join(_no_such_role(bound_role) for bound_role in bound_roles)}"


def allowed_reason(bound_role: BoundRole) -> str:
    """Returns the reason of an allowed request: the binding that allows it."""
    binding_key, role = bound_role.binding, bound_role.role
    binding = (
        f'RoleBinding "{binding_key.name}/{binding_key.namespace}"'
        if binding_key.namespace
        else f'ClusterRoleBinding "{binding_key.name}"'
    )
    kind, name = bound_role.subject.split(" ", 1)
    return f'RBAC: allowed by {binding} of {"Role" if role.namespace else "ClusterRole"} "{role.name}" to {kind} "{name}"'


def _no_such_role(bound_role: BoundRole) -> str:
    kind = "role" if bound_role.role.namespace else "clusterrole"
    return f'{kind}.{GROUP} "{bound_role.role.name}" not found'


def missing_rule(attributes: ResourceAttributes) -> PolicyRule:
    """Returns the smallest rule that allows the action on objects of any name."""
    return PolicyRule((attributes.verb,), (attributes.group,), (attributes.full_resource,))


def escalation_error(user: User, resource: str, name: str, *, missing: list[PolicyRule]) -> Forbidden:
    """Returns the error for a grant of permissions that the user does not have."""
    rules = "\n".join(_format_rule(rule) for rule in missing[:MAX_RULES])
    groups = ", ".join(f'"{group}"' for group in user.groups)
    message = f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n{rules}'
    causes = tuple(FieldError(MISSING_RULE, "", json.dumps(policy_rules.rule_to_object(rule))) for rule in missing[:MAX_RULES])
    details = Details(name=name, group=GROUP, kind=resource, causes=causes)
    return Forbidden(f'{resource}.{GROUP} "{name}" is forbidden: {message}', details)


def _format_rule(rule: PolicyRule) -> str:
    names = ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs")
    pairs = dict(zip(names, rule, strict=True))
    shown = [f"{name}:{json.dumps(list(pairs[name]))}" for name in (*names[1:], "Verbs") if pairs[name]]
    return "{" + ", ".join(shown) + "}"
