"""Whether somebody may do what they ask for. `Forbidden` says who cannot do what, and which rule is missing."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.rbac import forbidden_message
from probate.api.rbac.grants import Grants
from probate.api.rbac.policy_rules import Ask, AskPath
from probate.api.rbac.user_rules import Rights
from probate.api.rbac.users import User
from probate.server.authz.cel_authorizer import Deciding
from probate.server.authz.rbac_cache import Following
from probate.store.contract import Store

MAX_USERS = 2_000
"""Whose rights are remembered."""
MAX_LATELY = 4_000
"""Requests of which it is remembered that they were allowed."""


class _Allowed(NamedTuple):
    user: User
    what: object
    generation: int


class Access:
    """The rights of everybody, on one store."""

    def __init__(self, store: Store) -> None:
        self.grants = Grants()
        self.following = Following(store, self.grants)
        self._rights: dict[tuple[str, tuple[str, ...]], Rights] = {}
        self._lately: dict[tuple[int, int, str], _Allowed] = {}

    async def rights(self, user: User) -> Rights:
        """What the user may do now."""
        if not self.following.is_current():
            await self.following.catch_up()
        return self._worked_out(user)

    def decider(self, user: User) -> Deciding:
        """Who says at once what the user may do, for those who cannot wait."""
        return Deciding(user, lambda one: self._worked_out(one) if self.following.is_current() else None)

    def _worked_out(self, user: User) -> Rights:
        key = user.name, user.groups
        found = self._rights.get(key)
        if found is None or found.generation != self.grants.generation:
            if len(self._rights) >= MAX_USERS:
                self._rights.clear()
            found = self._rights[key] = Rights(self.grants, user)
        return found

    async def allows(self, user: User, ask: Ask | AskPath) -> bool:
        """Whether the user may do this."""
        if user.is_master:
            return True
        rights = await self.rights(user)
        return rights.allow(ask) if isinstance(ask, Ask) else rights.allow_path(ask)

    def recalls(self, user: User, verb: str, what: object) -> bool:
        """Whether just this user was allowed this lately, to do just that to `what`, and nothing has changed since.

        Who asks again and again is recalled as one and the same object, and so is what they ask for: nothing has to be compared.
        """
        found = self._lately.get((id(user), id(what), verb))
        if found is None or found.user is not user or found.what is not what or found.generation != self.grants.generation:
            return False
        return self.following.is_current()

    def note_allowed(self, user: User, verb: str, what: object) -> None:
        """The user was allowed this, by their rights of this moment."""
        if len(self._lately) >= MAX_LATELY:
            self._lately.clear()
        self._lately[id(user), id(what), verb] = _Allowed(user, what, self.grants.generation)

    def is_known_to_allow(self, user: User, ask: Ask) -> bool:
        """Whether the user may do this, as far as that can be told at once. If not, `check` knows more."""
        return self.following.is_current() and self._worked_out(user).allow(ask)

    async def check(self, user: User, ask: Ask) -> None:
        """`Forbidden` if the user may not do this."""
        if not user.is_master:
            rights = await self.rights(user)
            if not rights.allow(ask):
                raise forbidden_message.refusal(user, ask, rights.lost(ask.namespace))

    async def check_other(self, user: User, ask: Ask | AskPath) -> None:
        """The same of what may be no resource."""
        if isinstance(ask, Ask):
            await self.check(user, ask)
        elif not await self.allows(user, ask):
            raise forbidden_message.path_refusal(user, ask)

    async def why(self, user: User, ask: Ask | AskPath) -> str:
        """By what the user may do this, who may: empty if it is not for a role."""
        return "" if user.is_master else (await self.rights(user)).reason(ask)
