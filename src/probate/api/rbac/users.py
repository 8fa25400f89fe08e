"""Users: a name, groups, the extra attributes that the authenticator adds, and the tenant that the user belongs to, if any."""

from __future__ import annotations

from typing import Any, NamedTuple

MASTERS = "system:masters"
"""The group that may do anything, whatever the roles say, so that a wrong role cannot lock all users out."""
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNTS_GROUP = "system:serviceaccounts"

Extra = tuple[tuple[str, tuple[str, ...]], ...]


class User(NamedTuple):
    """An authenticated user. `extra` is sorted by its keys.

    Only authentication sets `tenant`, from a certificate or an account of the tenant, never from a name. A user of a tenant is
    named as in the physical view until its request is handled in the tenant's view, and is never in `system:masters`.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Extra = ()
    tenant: str = ""

    @property
    def is_superuser(self) -> bool:
        """Returns whether the user may do anything."""
        return MASTERS in self.groups

    @property
    def info(self) -> dict[str, Any]:
        """The user as `userInfo` of reviews, without empty fields."""
        extra = {key: list(values) for key, values in self.extra}
        fields = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in fields.items() if value}


def tenant_user(user: User, tenant: str) -> User:
    """Returns a user, named as in the physical view, as one of a tenant."""
    return user._replace(groups=tuple(group for group in user.groups if group != MASTERS), tenant=tenant)


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
NOT_AUTHENTICATED = User("")
"""The user of a request that is not authenticated yet. May do nothing."""
UNSECURED = User("system:unsecured", (MASTERS, AUTHENTICATED))
"""The user of all requests to a server without authentication."""
INTERNAL = User("system:probate", (MASTERS, AUTHENTICATED))
"""The server itself."""


def service_account_username(namespace: str, name: str) -> str:
    """Returns the user name of a service account."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    """Returns the groups of the service accounts in a namespace."""
    return SERVICE_ACCOUNTS_GROUP, f"{SERVICE_ACCOUNTS_GROUP}:{namespace}", AUTHENTICATED


def service_account_user(namespace: str, name: str, uid: str = "", *, extra: Extra = ()) -> User:
    """Returns a service account as a user."""
    return User(service_account_username(namespace, name), service_account_groups(namespace), uid, extra)


def parse_service_account_username(name: str) -> tuple[str, str] | None:
    """Returns the namespace and the name of a service account from its user name; None if the user is not a service account."""
    if not name.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, rest = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    return (namespace, rest) if colon and namespace and rest and ":" not in rest else None
