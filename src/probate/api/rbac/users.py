"""Who asks: a name, the groups they are in, and what else whoever knows them says about them."""

from __future__ import annotations

from typing import Any, NamedTuple

MASTERS = "system:masters"
"""The group that may do anything, whatever the roles say: so nobody can lock themselves out by writing roles."""
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
SERVICE_ACCOUNT = "system:serviceaccount:"
SERVICE_ACCOUNTS = "system:serviceaccounts"

Extra = tuple[tuple[str, tuple[str, ...]], ...]


class User(NamedTuple):
    """Somebody who has been recognised. `extra` is sorted by its keys."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Extra = ()

    @property
    def is_master(self) -> bool:
        """Whether they may do anything."""
        return MASTERS in self.groups

    @property
    def info(self) -> dict[str, Any]:
        """The user as `userInfo` of reviews; what is empty is left out."""
        extra = {key: list(values) for key, values in self.extra}
        found = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {name: value for name, value in found.items() if value}


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
UNRECOGNISED = User("")
"""Whoever asks, until it is known who that is: they may do nothing."""
UNSECURED = User("system:unsecured", (MASTERS, AUTHENTICATED))
"""Whoever asks a server that asks nobody who they are."""
INTERNAL = User("system:probate", (MASTERS, AUTHENTICATED))
"""The server itself."""


def account_name(namespace: str, name: str) -> str:
    """What a service account is called as a user."""
    return f"{SERVICE_ACCOUNT}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups that service accounts of a namespace are in."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED


def account(namespace: str, name: str, uid: str = "", extra: Extra = ()) -> User:
    """A service account as a user."""
    return User(account_name(namespace, name), account_groups(namespace), uid, extra)


def account_of(name: str) -> tuple[str, str] | None:
    """The namespace and the name of the service account that a user is; None if they are none."""
    if not name.startswith(SERVICE_ACCOUNT):
        return None
    namespace, colon, rest = name.removeprefix(SERVICE_ACCOUNT).partition(":")
    return (namespace, rest) if colon and namespace and rest and ":" not in rest else None
