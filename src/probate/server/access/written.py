"""What a write needs besides its verb, by what is written: rights, for roles, certificates and policies. Most need nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from probate.machinery.rbac import grants
from probate.machinery.rbac.users import User
from probate.server import priorities
from probate.server.access import parameters, privileges, signers
from probate.server.api import Api
from probate.server.request import Target

Object = dict[str, Any]
Check: TypeAlias = Callable[[Api, User, Target, Object, Object | None], Awaitable[None]]

CHECKS: dict[str, Check] = {
    grants.GROUP: privileges.check,
    signers.GROUP: signers.check,
    parameters.GROUP: parameters.check,
    priorities.GROUP: priorities.check,
}
"""By group. Each is given the new object and the old one, and raises `Forbidden`."""
