"""`GET /debug/tenants`: whether the objects of tenants and the index of them agree, read from the store itself.

/debug/tenants?tenant=…    one tenant, which may have been deleted
/debug/tenants             all tenants, and what is left of deleted ones

The report: the `revision` that was read; the `tenant`; how many objects (`rows`) and index `entries` were read; and the
`findings`, each with the `key` in the store, the sort of `finding`, and a `message`. With `history=true` also the `history`: the
revision at which it `begins`, that at which the tenant was `removed` (0 if it does not say), whether it is `erased` (null: not
known), and a `message`.
"""

from __future__ import annotations

import orjson

from probate.api import tenants
from probate.core import errors
from probate.server import api_errors, query
from probate.server.context import ServerContext
from probate.server.request import Request
from probate.server.response import Response


async def get_tenant_audit(context: ServerContext, request: Request) -> Response:
    """Handles GET /debug/tenants."""
    if context.audit_tenants is None:
        raise api_errors.path_not_found(request.path)
    tenant = query.first_value(request.query, "tenant")
    if tenant and not tenants.is_valid_id(tenant):
        raise errors.BadRequest(f"{tenant[:100]!r} is not the ID of a tenant: give tenant=ID, or leave it out for all tenants")
    has_history = query.first_value(request.query, "history") == "true"
    if has_history and not tenant:
        raise errors.BadRequest("history=true is about one tenant: give tenant=ID, too")
    return Response(200, orjson.dumps(await context.audit_tenants(tenant, has_history), option=orjson.OPT_INDENT_2))
