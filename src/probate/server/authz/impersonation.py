"""User impersonation: the Impersonate-* headers, and the rights that they take.

Each value (user name, group, uid, extra) takes the verb `impersonate` on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from probate.api.rbac import users
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.authz.authorizer import Authorizer

PREFIX = b"impersonate-"
_EXTRA_PREFIX = "extra-"
_AUTHENTICATION_GROUP = "authentication.k8s.io"
MAX_HEADERS = 1_000
"""Limits the impersonation headers of a request: each takes an authorization check."""


class Impersonation(NamedTuple):
    """The user that the headers name."""

    name: str
    groups: tuple[str, ...]
    uid: str
    extra: users.Extra


def may_have_headers(names: Iterable[bytes]) -> bool:
    """Returns whether there may be such a header; `parse` decides. Searches all names at once, as every request needs it."""
    return PREFIX in b"".join(names)


def parse(headers: Iterable[tuple[bytes, bytes]]) -> Impersonation | None:
    """Returns the user that a request impersonates, or None. Raises `BadRequest` if the headers do not name one user."""
    pairs = [(name[len(PREFIX) :].decode("latin-1"), _text(value)) for name, value in headers if name.startswith(PREFIX)]
    if not pairs:
        return None
    if len(pairs) > MAX_HEADERS:
        raise errors.BadRequest(f"the request has {len(pairs)} impersonation headers: send at most {MAX_HEADERS}")
    names, uids = _values(pairs, "user"), _values(pairs, "uid")
    if len(names) != 1 or not names[0] or len(uids) > 1:
        raise errors.BadRequest("impersonation needs a user: send Impersonate-User once, and Impersonate-Uid at most once")
    extra: dict[str, list[str]] = {}
    for name, value in pairs:
        if name.startswith(_EXTRA_PREFIX):
            extra.setdefault(unquote(name.removeprefix(_EXTRA_PREFIX)).lower(), []).append(value)
    return Impersonation(
        names[0], tuple(_values(pairs, "group")), uids[0] if uids else "", tuple((key, tuple(extra[key])) for key in sorted(extra))
    )


async def impersonate(access: Authorizer, user: User, impersonated: Impersonation) -> User:
    """Returns the impersonated user, who is of the user's own tenant. Raises `Forbidden` if the user may not impersonate them.

    Without the tenant, who is named like a controller of the server, or like an administrator, would be taken for one.
    """
    for ask in _needed_rights(impersonated):
        await access.check(user, ask)
    return User(impersonated.name, _groups(impersonated), impersonated.uid, impersonated.extra, user.tenant)


def _needed_rights(impersonated: Impersonation) -> Iterator[ResourceAttributes]:
    account = users.parse_service_account_username(impersonated.name)
    if account is not None:
        yield ResourceAttributes("impersonate", "", "serviceaccounts", "", *account)
    else:
        yield ResourceAttributes("impersonate", "", "users", name=impersonated.name)
    for group in impersonated.groups:
        yield ResourceAttributes("impersonate", "", "groups", name=group)
    if impersonated.uid:
        yield ResourceAttributes("impersonate", _AUTHENTICATION_GROUP, "uids", name=impersonated.uid)
    for key, values in impersonated.extra:
        for value in values:
            yield ResourceAttributes("impersonate", _AUTHENTICATION_GROUP, "userextras", key, name=value)


def _groups(impersonated: Impersonation) -> tuple[str, ...]:
    """Returns the groups that the headers name, and those that every user of that kind is in."""
    account = users.parse_service_account_username(impersonated.name)
    if account is not None and not impersonated.groups:
        return users.service_account_groups(account[0])
    implied = users.UNAUTHENTICATED if impersonated.name == users.ANONYMOUS.name else users.AUTHENTICATED
    return impersonated.groups if implied in impersonated.groups else (*impersonated.groups, implied)


def _values(headers: list[tuple[str, str]], name: str) -> list[str]:
    return [value for key, value in headers if key == name]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
