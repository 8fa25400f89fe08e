"""Prevents privilege escalation: a write of a role or binding, by any verb, may grant only what its author has.

A role may be given rules that its author has in the same namespace; other rules take `escalate` on the role. A binding may refer to
a role all of whose rules its author has; other roles take `bind` on the role. What the garbage collector may change of any object
(ownerReferences and finalizers) grants nothing and is not checked. Everything else is: labels, for example, can add a role to an
aggregated one.
"""

from __future__ import annotations

from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.rbac import aggregation, escalation, forbidden_message, policy_rules, rule_resolver
from probate.api.rbac.policy_rules import ALL, PolicyRule, ResourceAttributes
from probate.api.rbac.users import User
from probate.core import errors, work_limits
from probate.core.aio.large_work import Offloader
from probate.server.authz.authorizer import Authorizer
from probate.server.request import Target

EVERYTHING = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), urls=(ALL,)))
"""What an aggregated role may grant: the roles that it will select are not known."""
_HARMLESS_FIELDS = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
"""The metadata that may change without granting anything, also when the garbage collector changes it."""


class EscalationCheck:
    """The check of roles and bindings."""

    def __init__(self, authorizer: Authorizer, offloader: Offloader) -> None:
        self._authorizer = authorizer
        self._offloader = offloader

    async def check(self, user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Forbidden` if the user would grant more than they have."""
        resource = at.resource
        if user.is_superuser or (old is not None and _granting_part(new) == _granting_part(old)):
            return
        if resource.plural in {rule_resolver.ROLES, rule_resolver.CLUSTER_ROLES}:
            await self._check_role(user, resource, new=new, old=old)
        else:
            await self._check_binding(user, resource, new)

    async def _check_role(self, user: User, resource: Resource, *, new: Object, old: Object | None) -> None:
        name, namespace = new["metadata"]["name"], new["metadata"].get("namespace", "")
        if await self._authorizer.allows(
            user, ResourceAttributes("escalate", rule_resolver.GROUP, resource.plural, "", namespace, name)
        ):
            return
        rules = policy_rules.rules_of_role(new)
        if aggregation.is_aggregated(new) or (old is not None and aggregation.is_aggregated(old)):
            rules = (*rules, *EVERYTHING)
        await self._check_covered(user, resource, new, rules=rules)

    async def _check_binding(self, user: User, resource: Resource, new: Object) -> None:
        namespace = new["metadata"].get("namespace", "")
        role = rule_resolver.role_ref(new, namespace)
        kind = rule_resolver.ROLES if role.namespace else rule_resolver.CLUSTER_ROLES
        if await self._authorizer.allows(user, ResourceAttributes("bind", rule_resolver.GROUP, kind, "", namespace, role.name)):
            return
        await self._authorizer.rights(user)  # waits until the cached roles are current
        rules = self._authorizer.grants.role(role)
        if rules is None:
            raise errors.NotFound(
                f'{kind}.{rule_resolver.GROUP} "{role.name}" not found',
                errors.Details(name=role.name, group=rule_resolver.GROUP, kind=kind),
            )
        await self._check_covered(user, resource, new, rules=rules)

    async def _check_covered(self, user: User, resource: Resource, new: Object, *, rules: tuple[PolicyRule, ...]) -> None:
        own_rules = (await self._authorizer.rights(user)).rules(new["metadata"].get("namespace", ""))
        try:
            missing = await self._offloader.offload_if_large(0, lambda: escalation.uncovered_rules(own_rules, rules))
        except work_limits.TooMuchWork:
            message = (
                "the rules have too many combinations to compare them with what their author may do: write them as several roles"
            )
            raise errors.TooLarge(message) from None
        if missing:
            raise forbidden_message.escalation_error(user, resource.plural, new["metadata"]["name"], missing=missing)


def _granting_part(object_: Object) -> Object:
    """Returns all of a role or binding that may affect what it grants."""
    meta = {name: value for name, value in object_["metadata"].items() if name not in _HARMLESS_FIELDS}
    return {**{name: value for name, value in object_.items() if name not in {"kind", "apiVersion"}}, "metadata": meta}
