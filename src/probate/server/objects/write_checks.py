"""The rights that some writes take besides their verb: roles, certificates, policies, priority classes. Most take none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from probate.api.objects import Object
from probate.api.rbac import rule_resolver
from probate.api.rbac.users import User
from probate.server.admission import priority
from probate.server.authz import csr_signers, escalation, policy_param_permissions
from probate.server.context import ServerContext
from probate.server.request import Target

Check: TypeAlias = Callable[[ServerContext, User, Target, Object, Object | None], Awaitable[None]]


async def _check_default_class(api: ServerContext, _user: User, at: Target, new: Object, old: Object | None) -> None:
    api.admission.priority.check_default(at, new, old)


CHECKS: dict[str, Check] = {
    rule_resolver.GROUP: escalation.check,
    csr_signers.GROUP: csr_signers.check,
    policy_param_permissions.GROUP: policy_param_permissions.check,
    priority.GROUP: _check_default_class,
}
"""The check of each API group. It is called with the new object and the old one, and raises `Forbidden`."""
