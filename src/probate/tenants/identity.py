"""How a tenant names its users: without the prefix that their names have in the physical view.

    physical view                                  tenant's view
    111111-admin                                   admin
    system:serviceaccount:111111-web:builder       system:serviceaccount:web:builder
    group system:serviceaccounts:111111-web        group system:serviceaccounts:web

Whether a user belongs to a tenant is decided before (`server.authn.tenant_users`). A user of a tenant is never in `system:masters`.
"""

from __future__ import annotations

from probate.api import tenants
from probate.api.rbac import users
from probate.api.rbac.users import SERVICE_ACCOUNT_PREFIX, SERVICE_ACCOUNTS_GROUP, User
from probate.core import errors
from probate.server.authn.token_authenticator import AuthenticatedToken, TokenAuthenticator

_GROUP_PREFIX = f"{SERVICE_ACCOUNTS_GROUP}:"


def in_tenant_view(user: User) -> User:
    """Returns a user of a tenant as the tenant names it."""
    prefix = tenants.prefix_of(user.tenant)
    kind = SERVICE_ACCOUNT_PREFIX if user.name.startswith(SERVICE_ACCOUNT_PREFIX) else ""
    name = kind + user.name.removeprefix(kind).removeprefix(prefix)
    groups = tuple(_group(group, prefix) for group in user.groups if group != users.MASTERS)
    return user._replace(name=name, groups=groups)


def _group(group: str, prefix: str) -> str:
    if not group.startswith(_GROUP_PREFIX):
        return group
    return _GROUP_PREFIX + group.removeprefix(_GROUP_PREFIX).removeprefix(prefix)


def authenticate_in_view(authenticate: TokenAuthenticator, tenant: str) -> TokenAuthenticator:
    """Returns an authenticator for TokenReviews of a tenant: it knows the tokens of the tenant's own users only."""

    async def authenticate_token(token: str, audiences: tuple[str, ...]) -> AuthenticatedToken:
        found = await authenticate(token, audiences)
        if found.user.tenant != tenant:
            raise errors.Unauthorized
        return found._replace(user=in_tenant_view(found.user))

    return authenticate_token
