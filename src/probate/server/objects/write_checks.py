"""WriteChecks: the rights that some writes take besides their verb. Most take none.

Roles, certificates, policies, priority classes and Tenants have a check each. References to owners and finalizers have theirs on
any object.
"""

from __future__ import annotations

from typing import Protocol

from probate.api import tenants
from probate.api.objects import Object
from probate.api.rbac import rule_resolver
from probate.api.rbac.users import User
from probate.core.aio.large_work import Offloader
from probate.server.admission import priority
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.admission.priority import PriorityAdmission
from probate.server.authz import csr_signers, policy_param_permissions
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.block_owner_deletion import BlockOwnerDeletion
from probate.server.authz.csr_signers import SignerCheck
from probate.server.authz.escalation import EscalationCheck
from probate.server.authz.owner_reference_permissions import OwnerReferencePermissions
from probate.server.authz.policy_param_permissions import PolicyParamCheck
from probate.server.authz.tenant_check import TenantCheck
from probate.server.kind_rules.contract import ServedKinds
from probate.server.objects.owner_reference_warnings import CheckMode, OwnerReferenceWarnings
from probate.server.request import Target
from probate.store.contract import Store


class WriteCheck(Protocol):
    """The check of an API group."""

    async def check(self, user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Forbidden`. `old` is None for a create."""
        ...


class _DefaultClassCheck:
    """Allows only one default PriorityClass."""

    def __init__(self, classes: PriorityAdmission) -> None:
        self._classes = classes

    async def check(self, _user: User, at: Target, *, new: Object, old: Object | None) -> None:
        self._classes.check_default(at, new, old)


class WriteChecks:
    """All checks. `by_group` has those of API groups; a group without one is absent, so that other writes cost nothing."""

    def __init__(
        self,
        authorizer: Authorizer,
        kinds: ServedKinds,
        store: Store,
        *,
        offloader: Offloader,
        classes: PriorityAdmission,
        blocking: BlockOwnerDeletion,
        owner_warnings: CheckMode,
    ) -> None:
        self.by_group: dict[str, WriteCheck] = {
            rule_resolver.GROUP: EscalationCheck(authorizer, offloader),
            csr_signers.GROUP: SignerCheck(authorizer),
            policy_param_permissions.GROUP: PolicyParamCheck(authorizer, kinds, store),
            priority.GROUP: _DefaultClassCheck(classes),
            tenants.GROUP: TenantCheck(store),
        }
        self.blocking = blocking
        self.metadata = OwnerReferencePermissions(authorizer, blocking.mode)
        self.warnings = OwnerReferenceWarnings(authorizer, kinds, store, mode=owner_warnings)

    async def check_metadata(self, user: User, at: Target, *, new: Object, old: Object) -> None:
        """Raises `Forbidden` if an update changes owner references or finalizers that its author may not change."""
        await self.metadata.check(user, at, new=new, old=old)

    async def check_owner_references(self, act: WriteRequest, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Invalid` for new references that may not block their owner, or cannot work. May only warn of the latter."""
        await self.blocking.check(act.user, at, new=new, old=old)
        await self.warnings.check(act, at, new=new, old=old)
