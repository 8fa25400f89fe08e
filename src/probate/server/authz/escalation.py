"""Nobody grants what they do not have: checked whenever a role or a binding is written, by whatever verb.

A role may be given rules that its author has, in the same namespace; others only by who may `escalate` the role. A binding may be
made to a role all of whose rules its author has; to others only by who may `bind` the role. What the collector may change of any
object, owners and finalizers, changes no rights and needs none of this. All else does: by its labels a role becomes part of others.
"""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.rbac import aggregation, escalation, forbidden_message, grants, policy_rules
from probate.api.rbac.policy_rules import ALL, Ask, Rule
from probate.api.rbac.users import User
from probate.core import errors, work_limits
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

EVERYTHING = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))
"""What an aggregated role may come to grant: nobody knows which roles there will be."""
_COLLECTORS = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""What may change in the metadata of any object when another one goes."""


async def check(api: Api, user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Forbidden` if the user would grant more than they have."""
    resource = at.resource
    if user.is_master or (old is not None and _granting(new) == _granting(old)):
        return
    if resource.plural in {grants.ROLES, grants.CLUSTER_ROLES}:
        await _check_role(api, user, resource, new, old)
    else:
        await _check_binding(api, user, resource, new)


def _granting(object_: Object) -> Object:
    """All of a role or binding that may have to do with what it grants."""
    meta = {name: value for name, value in object_["metadata"].items() if name not in _COLLECTORS}
    return {**{name: value for name, value in object_.items() if name not in {"kind", "apiVersion"}}, "metadata": meta}


async def _check_role(api: Api, user: User, resource: Resource, new: Object, old: Object | None) -> None:
    name, namespace = new["metadata"]["name"], new["metadata"].get("namespace", "")
    if await api.access.allows(user, Ask("escalate", grants.GROUP, resource.plural, "", namespace, name)):
        return
    wanted = policy_rules.of_role(new)
    if aggregation.is_aggregated(new) or (old is not None and aggregation.is_aggregated(old)):
        wanted = (*wanted, *EVERYTHING)
    await _check_has(api, user, resource, new, wanted)


async def _check_binding(api: Api, user: User, resource: Resource, new: Object) -> None:
    namespace = new["metadata"].get("namespace", "")
    role = grants.role_of(new, namespace)
    kind = grants.ROLES if role.namespace else grants.CLUSTER_ROLES
    if await api.access.allows(user, Ask("bind", grants.GROUP, kind, "", namespace, role.name)):
        return
    await api.access.rights(user)  # after which the roles are those of this moment
    wanted = api.access.grants.role(role)
    if wanted is None:
        raise errors.NotFound(
            f'{kind}.{grants.GROUP} "{role.name}" not found', errors.Details(name=role.name, group=grants.GROUP, kind=kind)
        )
    await _check_has(api, user, resource, new, wanted)


async def _check_has(api: Api, user: User, resource: Resource, new: Object, wanted: tuple[Rule, ...]) -> None:
    held = (await api.access.rights(user)).rules(new["metadata"].get("namespace", ""))
    try:
        lacking = await api.apart(0, lambda: escalation.uncovered(held, wanted))
    except work_limits.TooMuch:
        told = "the rules have too many combinations to compare them with what their author may do: write them as several roles"
        raise errors.TooLarge(told) from None
    if lacking:
        raise forbidden_message.escalation(user, resource.plural, new["metadata"]["name"], lacking)
