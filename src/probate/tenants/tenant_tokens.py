"""Issues the tokens of a tenant's service accounts: tokens of the platform's issuer, for the namespace in the physical view."""

from __future__ import annotations

from probate.api import tenants
from probate.api.field_errors import FieldError
from probate.core import errors
from probate.core.errors import Details
from probate.server.authn.jwt import Claims
from probate.server.authn.service_accounts import TokenIssuer, TokenRequest


class TenantTokenIssuer(TokenIssuer):
    """Issues tokens for requests in which the tenant names its namespaces."""

    def __init__(self, platform: TokenIssuer, tenant: str) -> None:
        super().__init__(
            platform.store, platform.clock, issuer=platform.issuer, audiences=platform.audiences, jwks_uri=platform.jwks_uri
        )
        self._platform = platform
        self._tenant = tenant

    async def check_open(self, request: TokenRequest) -> None:
        """Raises `Forbidden` while the tenant is being deleted."""
        if await self.store.read(tenants.open_entry(self._tenant)) is None:
            message = f"tokens cannot be created in namespace {request.namespace} because the tenant is being deleted"
            cause = FieldError("TenantTerminating", "metadata.namespace", "the tenant is being deleted")
            raise errors.Forbidden(message, Details(name=request.name, kind="serviceaccounts", causes=(cause,)))

    def issue(self, request: TokenRequest, *, id_: str) -> tuple[str, float]:
        physical = tenants.prefix_of(self._tenant) + request.namespace
        return self._platform.issue(request._replace(namespace=physical), id_=id_)

    def keys(self) -> list[Claims]:
        return self._platform.keys()
