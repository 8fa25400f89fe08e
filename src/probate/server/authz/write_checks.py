"""What a write needs besides its verb, by what is written: rights, for roles, certificates and policies. Most need nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from probate.api.rbac import grants
from probate.api.rbac.users import User
from probate.server.admission import priority
from probate.server.authz import csr_signers, escalation, policy_params
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]
Check: TypeAlias = Callable[[Api, User, Target, Object, Object | None], Awaitable[None]]

CHECKS: dict[str, Check] = {
    grants.GROUP: escalation.check,
    csr_signers.GROUP: csr_signers.check,
    policy_params.GROUP: policy_params.check,
    priority.GROUP: priority.check,
}
"""By group. Each is given the new object and the old one, and raises `Forbidden`."""
