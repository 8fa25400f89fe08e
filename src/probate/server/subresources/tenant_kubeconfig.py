"""`kubeconfig` of a Tenant: issues the credentials of a user of the tenant, as a kubeconfig with a certificate and its key.

The key is made for this answer and kept nowhere. The certificate has the tenant's uid, so it is worth nothing once the tenant is
gone. While a tenant is being deleted its users still get credentials: they may have to find out what holds the deletion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from probate.api import field_errors, tenants
from probate.api.catalog import Resource
from probate.api.field_errors import FieldError, FieldPath
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.api.timestamps import format_time
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.server import api_errors, query
from probate.server.authn.tenant_credentials import TenantUser
from probate.server.codec import negotiation, object_codec, request_body, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.request import Request, Target
from probate.server.response import Response
from probate.server.storage import storage_keys

DEFAULT_USER = "admin"
DEFAULT_SECONDS, MIN_SECONDS, MAX_SECONDS = 3600, 600, 24 * 3600
MAX_USER_LENGTH = 57
"""With the tenant's id and a dash, the longest common name that a certificate may have."""
MAX_GROUP_LENGTH = 64
MAX_GROUPS = 100
RESERVED_PREFIX = "system:"
_USER = re.compile(r"[A-Za-z0-9]([A-Za-z0-9@._-]*[A-Za-z0-9])?")
_SPEC = FieldPath("spec")


async def create_kubeconfig(context: ServerContext, request: Request, target: Target, *, form: Form) -> Response:
    """Handles POST to a Tenant's `kubeconfig`."""
    options = query.write_options(request.query, "CreateOptions")
    decoded, warnings = await _read(context, request, field_validation=options.field_validation)
    record = await context.store.read(storage_keys.object_key(target.resource, "", target.name))
    if record is None:
        raise api_errors.not_found(target.resource, target.name)
    spec = {"user": DEFAULT_USER, "expirationSeconds": DEFAULT_SECONDS, **decoded["spec"]}
    if problems := list(_problems(spec)):
        raise api_errors.invalid(_KUBECONFIGS, "", problems)
    if context.issue_kubeconfig is None:
        message = "this server runs with --insecure: it knows no users, so there are no credentials. Start it without --insecure"
        raise errors.MethodNotAllowed(message)
    user = TenantUser(
        target.name, object_codec.meta(record.value).uid, spec["user"], tuple(dict.fromkeys(spec.get("groups") or ()))
    )
    issued = await context.issue_kubeconfig(user, spec["expirationSeconds"])
    metadata = {"name": target.name, "creationTimestamp": context.timestamp()}
    status = {
        "kubeconfig": "" if options.is_dry_run else issued.text,
        "expirationTimestamp": format_time(issued.expires_at),
    }
    answer = {**_TYPE_META, "metadata": metadata, "spec": spec, "status": status}
    return responses.one_made(answer, form, code=201, warnings=warnings)


async def _read(context: ServerContext, request: Request, *, field_validation: str) -> request_body.Read:
    """Returns the request in the body, which may be empty."""
    body, media = await request.read_body(), negotiation.media_type(request.headers.get(b"content-type", b""))
    if not body.strip():
        return request_body.Read({"spec": {}}, ())
    finds_duplicates = field_validation != "Ignore"
    document = await context.offloader.offload_if_large(
        len(body), lambda: request_body.parse(body, media, finds_duplicates=finds_duplicates)
    )
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be a TenantKubeconfig")
    request_body.check_kind(document.value, _KUBECONFIGS)
    read = request_body.command(document, media, _KUBECONFIGS.load_schema(), field_validation=field_validation)
    return read._replace(object={**read.object, "spec": read.object.get("spec") or {}})


def _problems(spec: Object) -> Iterator[FieldError]:
    name, seconds, groups = spec["user"], spec["expirationSeconds"], spec.get("groups") or ()
    if not _USER.fullmatch(name) or len(name) > MAX_USER_LENGTH:
        detail = (
            f"must be at most {MAX_USER_LENGTH} letters, digits, '@', '.', '_' and '-', and begin and end with a letter or digit"
        )
        yield field_errors.invalid(_SPEC / "user", name, detail)
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        detail = f"must be between {MIN_SECONDS} and {MAX_SECONDS}, which are 10 minutes and a day"
        yield field_errors.invalid(_SPEC / "expirationSeconds", seconds, detail)
    if len(groups) > MAX_GROUPS:
        yield field_errors.invalid(_SPEC / "groups", len(groups), f"must have at most {MAX_GROUPS} items")
    for index, group in enumerate(groups[:MAX_GROUPS]):
        if not 0 < len(group) <= MAX_GROUP_LENGTH or not group.isprintable() or group.startswith(RESERVED_PREFIX):
            detail = f"must be 1 to {MAX_GROUP_LENGTH} visible characters, and not begin with {RESERVED_PREFIX}"
            yield field_errors.invalid(_SPEC / "groups" / index, group, detail)


_KUBECONFIGS = Resource(
    group=tenants.GROUP,
    version=tenants.VERSION,
    plural="tenantkubeconfigs",
    kind="TenantKubeconfig",
    singular="tenantkubeconfig",
    is_namespaced=False,
    verbs=(),
    load_schema=lambda: catalog.schema(tenants.GROUP, tenants.VERSION, "TenantKubeconfig") or Schema(),
)
_TYPE_META = {"kind": _KUBECONFIGS.kind, "apiVersion": str(_KUBECONFIGS.group_version)}
