"""How a refusal is told: in the words of Kubernetes, and which rule would have helped."""

from __future__ import annotations

import json
from collections.abc import Iterable

from probate.api.field_errors import Problem
from probate.api.rbac import policy_rules
from probate.api.rbac.grants import GROUP, Granted
from probate.api.rbac.policy_rules import Ask, AskPath, Rule
from probate.api.rbac.users import User
from probate.core.errors import ApiError, Details, Forbidden

RULE = "MissingRule"
"""The reason of a cause that says which rule is missing."""
MAX_LOST = 5
MAX_RULES = 50


def refusal(user: User, ask: Ask, lost: Iterable[Granted] = (), why: str = "") -> Forbidden:
    """The user may not do this; `why` says what it was needed for."""
    what = f"{ask.resource}.{ask.group}" if ask.group else ask.resource
    about = f'{what} "{ask.name}"' if ask.name else what
    rule = json.dumps(policy_rules.to_object(rule_for(ask)))
    needed = f"{why}: " if why else ""
    told = f"{about} is forbidden: {needed}{sentence(user, ask)}{reason(lost)}. What is missing is a rule such as {rule}"
    cause = Problem(RULE, "", rule)
    return Forbidden(told, Details(name=ask.name, group=ask.group, kind=ask.resource, causes=(cause,)))


def path_refusal(user: User, ask: AskPath) -> Forbidden:
    """The user may not do this at a path that is no resource."""
    rule = json.dumps(policy_rules.to_object(Rule((ask.verb,), urls=(ask.path,))))
    told = f'forbidden: User "{user.name}" cannot {ask.verb} path "{ask.path}". What is missing is a rule such as {rule}'
    return Forbidden(told, Details(causes=(Problem(RULE, "", rule),)))


def is_told_by(error: ApiError) -> bool:
    """Whether somebody was refused because a rule is missing."""
    return any(cause.reason == RULE for cause in error.details.causes)


def sentence(user: User, ask: Ask) -> str:
    """Who cannot do what, and where."""
    where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
    return f'User "{user.name}" cannot {ask.verb} resource "{ask.full_resource}" in API group "{ask.group}" {where}'


def reason(lost: Iterable[Granted]) -> str:
    """Which roles are bound that are not there, if any."""
    found = [one for one, _ in zip(lost, range(MAX_LOST), strict=False)]
    return "" if not found else f": RBAC: {', '.join(_no_such_role(one) for one in found)}"


def allowed_by(granted: Granted) -> str:
    """Which binding allows it."""
    place, role = granted.binding, granted.role
    binding = f'RoleBinding "{place.name}/{place.namespace}"' if place.namespace else f'ClusterRoleBinding "{place.name}"'
    kind, name = granted.subject.split(" ", 1)
    return f'RBAC: allowed by {binding} of {"Role" if role.namespace else "ClusterRole"} "{role.name}" to {kind} "{name}"'


def _no_such_role(granted: Granted) -> str:
    kind = "role" if granted.role.namespace else "clusterrole"
    return f'{kind}.{GROUP} "{granted.role.name}" not found'


def rule_for(ask: Ask) -> Rule:
    """The smallest rule that allows this to objects of any name."""
    return Rule((ask.verb,), (ask.group,), (ask.full_resource,))


def escalation(user: User, resource: str, name: str, missing: list[Rule]) -> Forbidden:
    """The user would hand on what they do not have."""
    listed = "\n".join(_listed(rule) for rule in missing[:MAX_RULES])
    groups = ", ".join(f'"{group}"' for group in user.groups)
    told = f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n{listed}'
    causes = tuple(Problem(RULE, "", json.dumps(policy_rules.to_object(rule))) for rule in missing[:MAX_RULES])
    details = Details(name=name, group=GROUP, kind=resource, causes=causes)
    return Forbidden(f'{resource}.{GROUP} "{name}" is forbidden: {told}', details)


def _listed(rule: Rule) -> str:
    names = ("Verbs", "APIGroups", "Resources", "ResourceNames", "NonResourceURLs")
    pairs = dict(zip(names, rule, strict=True))
    shown = [f"{name}:{json.dumps(list(pairs[name]))}" for name in (*names[1:], "Verbs") if pairs[name]]
    return "{" + ", ".join(shown) + "}"
