"""What somebody may do, for expressions (CEL) that ask. Where that is not known at the moment, they are told so."""

from __future__ import annotations

from collections.abc import Callable

from probate.api.rbac import forbidden_message
from probate.api.rbac.cel_authorizer import Attributes, Verdict
from probate.api.rbac.policy_rules import Ask, AskPath
from probate.api.rbac.user_rules import Rights
from probate.api.rbac.users import User, account

UNKNOWN = Verdict(is_allowed=False, error="who may do what is not known at the moment")


class Deciding:
    """Answers for one user. `rights` gives those of anybody; None if they are not known."""

    def __init__(self, user: User, rights: Callable[[User], Rights | None]) -> None:
        self._user = user
        self._rights = rights

    def decide(self, attributes: Attributes) -> Verdict:
        user = self._user if attributes.service_account is None else account(*attributes.service_account)
        if user.is_master:
            return Verdict(is_allowed=True)
        rights = self._rights(user)
        if rights is None:
            return UNKNOWN
        granting = rights.granting(_ask(attributes))
        if granting is not None:
            return Verdict(is_allowed=True, reason=forbidden_message.allowed_by(granting))
        return Verdict(is_allowed=False, reason=forbidden_message.reason(rights.lost(attributes.namespace)).removeprefix(": "))


def _ask(about: Attributes) -> Ask | AskPath:
    if about.path:
        return AskPath(about.verb, about.path)
    return Ask(about.verb, about.group, about.resource, about.subresource, about.namespace, about.name)
