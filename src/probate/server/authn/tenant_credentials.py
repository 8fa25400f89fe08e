"""What a kubeconfig for a user of a tenant is made from, and what makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias


class TenantUser(NamedTuple):
    """The user that the credentials are for. The name and the groups are those in the tenant's view."""

    tenant: str
    tenant_uid: str
    name: str
    groups: tuple[str, ...] = ()


class IssuedKubeconfig(NamedTuple):
    """A kubeconfig with a certificate and its key, and the time at which the certificate expires."""

    text: str
    expires_at: float


IssueKubeconfig: TypeAlias = Callable[[TenantUser, int], Awaitable[IssuedKubeconfig]]
"""Makes a new key pair and a certificate that is valid for this many seconds. Nothing of it is kept."""
