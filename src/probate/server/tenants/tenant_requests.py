"""Handles the requests of tenants' users: in the context of the tenant, and only what tenants have.

A tenant's user sees the API of its tenant, its discovery and OpenAPI documents, the version, and whether the server is healthy. All
other paths are about the process or about all tenants, so they do not exist for tenants, whatever their roles say.

The server's address in the kubeconfig of a tenant ends in `/tenants/<id>`, because kubectl caches discovery by address: with one
address for all, it would mix up the API groups of several tenants. The path selects nothing: the credentials say which tenant a
request is from, and a user who leaves the path out gets the same response.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from probate.api import tenants
from probate.api.rbac import users
from probate.api.rbac.users import User
from probate.core import errors
from probate.server import api_errors, routing
from probate.server.context import ServerContext
from probate.server.diagnostics import health
from probate.server.request import Request, RequestInfo
from probate.server.response import Response, StreamingResponse

_PREFIXES = ("/api/", "/apis/", "/openapi/")
_PATHS = frozenset({"/api", "/apis", "/version", *(f"/{check}" for check in health.CHECKS)})
_PROBATE = "/apis/probate.dev"


class TenantView(NamedTuple):
    """The context of a tenant, and a user of it, as the tenant names it."""

    context: ServerContext
    user: User


class TenantViews(Protocol):
    """The contexts of the tenants that are in use."""

    async def view(self, user: User) -> TenantView:
        """Returns the view of a tenant's user, starting the tenant's context if it is not running.

        Raises `Unauthorized` if the tenant no longer exists.
        """
        ...

    def keep_open(self, tenant: str, response: StreamingResponse) -> StreamingResponse:
        """Returns the response of a tenant's context, which is kept as long as the response runs."""
        ...


class NoTenantViews:
    """The views of a server that serves no tenants: it knows none of their users."""

    async def view(self, _user: User) -> TenantView:
        raise errors.Unauthorized

    def keep_open(self, _tenant: str, response: StreamingResponse) -> StreamingResponse:
        return response


def resolve(context: ServerContext, request: Request) -> RequestInfo | None:
    """Returns the verb and target of a request, or None if its path is one of the others that tenants have. Raises `NotFound`."""
    info = routing.resolve(context, request)
    if info is None and not _is_served(request.path):
        raise api_errors.path_not_found(request.path)
    return info


async def handle(context: ServerContext, request: Request, info: RequestInfo | None) -> Response | StreamingResponse:
    """Authorizes and handles a request that `resolve` has resolved. Raises `ApiError`."""
    is_health_check = info is None and request.path.strip("/") in health.CHECKS
    if is_health_check:
        request = request._replace(query={})  # the details are about the platform
    response = await routing.handle_resolved(context, request, info)
    if is_health_check and response.code != 200 and isinstance(response, Response):
        return response._replace(body=b"not ok\n")
    return response


def without_masters(user: User) -> User:
    """Returns a user whom a tenant's user impersonates. No user of a tenant is in `system:masters`."""
    return user._replace(groups=tuple(group for group in user.groups if group != users.MASTERS))


def without_path_of(tenant: str, request: Request) -> Request:
    """Returns the request without the path of its tenant. The path of another tenant stays: nothing is served there."""
    path = tenants.path_of(tenant)
    return request._replace(path=request.path.removeprefix(path)) if request.path.startswith(f"{path}/") else request


def measured_info(info: RequestInfo | None) -> RequestInfo | None:
    """Returns what metrics say of a tenant's request: nothing of the tenant's own kinds, since labels are never forgotten."""
    return None if info is not None and info.target.resource.is_custom else info


def _is_served(path: str) -> bool:
    if path == _PROBATE or path.startswith(f"{_PROBATE}/"):
        return False
    return path.rstrip("/") in _PATHS or path.startswith(_PREFIXES)
