"""Acting as somebody else: the headers that say so, and whether one may.

Each thing that is said about the other (name, groups, uid, extras) has to be allowed on its own, by the verb `impersonate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from probate.api.rbac import users
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.users import User
from probate.core import errors
from probate.server.authz.authorizer import Access

PREFIX = b"impersonate-"
_EXTRA = "extra-"
_AUTHENTICATION = "authentication.k8s.io"
MAX_HEADERS = 1_000
"""Each of them is looked up."""


class Wanted(NamedTuple):
    """Whom the headers name."""

    name: str
    groups: tuple[str, ...]
    uid: str
    extra: users.Extra


def is_meant(names: Iterable[bytes]) -> bool:
    """Whether there may be such a header: `read` knows. (Every request is asked this, so it is asked of all names at once.)"""
    return PREFIX in b"".join(names)


def read(headers: Iterable[tuple[bytes, bytes]]) -> Wanted | None:
    """Whom a request acts as; None if it acts for itself. `BadRequest` if it does not say as whom."""
    given = [(name[len(PREFIX) :].decode("latin-1"), _text(value)) for name, value in headers if name.startswith(PREFIX)]
    if not given:
        return None
    if len(given) > MAX_HEADERS:
        raise errors.BadRequest(f"{len(given)} headers say as whom the request is made: give at most {MAX_HEADERS}")
    names, uids = _all(given, "user"), _all(given, "uid")
    if len(names) != 1 or not names[0] or len(uids) > 1:
        raise errors.BadRequest(
            "who acts as somebody else says as whom: give Impersonate-User once, and Impersonate-Uid at most once"
        )
    extra: dict[str, list[str]] = {}
    for name, value in given:
        if name.startswith(_EXTRA):
            extra.setdefault(unquote(name.removeprefix(_EXTRA)).lower(), []).append(value)
    return Wanted(
        names[0], tuple(_all(given, "group")), uids[0] if uids else "", tuple((key, tuple(extra[key])) for key in sorted(extra))
    )


async def assume(access: Access, user: User, wanted: Wanted) -> User:
    """The other one, if the user may act as them."""
    for ask in _asks(wanted):
        await access.check(user, ask)
    return User(wanted.name, _groups(wanted), wanted.uid, wanted.extra)


def _asks(wanted: Wanted) -> Iterator[Ask]:
    account = users.account_of(wanted.name)
    if account is not None:
        yield Ask("impersonate", "", "serviceaccounts", "", *account)
    else:
        yield Ask("impersonate", "", "users", name=wanted.name)
    for group in wanted.groups:
        yield Ask("impersonate", "", "groups", name=group)
    if wanted.uid:
        yield Ask("impersonate", _AUTHENTICATION, "uids", name=wanted.uid)
    for key, values in wanted.extra:
        for value in values:
            yield Ask("impersonate", _AUTHENTICATION, "userextras", key, name=value)


def _groups(wanted: Wanted) -> tuple[str, ...]:
    """The groups that are named, and those that everybody of that kind is in."""
    account = users.account_of(wanted.name)
    if account is not None and not wanted.groups:
        return users.account_groups(account[0])
    implied = users.UNAUTHENTICATED if wanted.name == users.ANONYMOUS.name else users.AUTHENTICATED
    return wanted.groups if implied in wanted.groups else (*wanted.groups, implied)


def _all(given: list[tuple[str, str]], wanted: str) -> list[str]:
    return [value for name, value in given if name == wanted]


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
