"""Answers the `authorizer` variable of CEL expressions. If rights cannot be determined, the expression gets an error."""

from __future__ import annotations

from collections.abc import Callable

from probate.api.rbac import forbidden_message
from probate.api.rbac.cel_authorizer import Attributes, AuthorizationDecision
from probate.api.rbac.policy_rules import NonResourceAttributes, ResourceAttributes
from probate.api.rbac.user_rules import UserRules
from probate.api.rbac.users import User, service_account_user

UNKNOWN = AuthorizationDecision(is_allowed=False, error="rights cannot be determined at the moment")


class CelAuthorizer:
    """Decides for one user. `rights` returns the cached rights of any user, or None if they are not current."""

    def __init__(self, user: User, rights: Callable[[User], UserRules | None]) -> None:
        self._user = user
        self._rights = rights

    def decide(self, attributes: Attributes) -> AuthorizationDecision:
        user = self._user if attributes.service_account is None else service_account_user(*attributes.service_account)
        if user.is_superuser:
            return AuthorizationDecision(is_allowed=True)
        rights = self._rights(user)
        if rights is None:
            return UNKNOWN
        granting = rights.allowing_binding(_ask(attributes))
        if granting is not None:
            return AuthorizationDecision(is_allowed=True, reason=forbidden_message.allowed_reason(granting))
        return AuthorizationDecision(
            is_allowed=False,
            reason=forbidden_message.missing_roles_message(rights.bindings_without_role(attributes.namespace)).removeprefix(": "),
        )


def _ask(of: Attributes) -> ResourceAttributes | NonResourceAttributes:
    if of.path:
        return NonResourceAttributes(of.verb, of.path)
    return ResourceAttributes(of.verb, of.group, of.resource, of.subresource, of.namespace, of.name)
