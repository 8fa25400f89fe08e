"""Routes a request to its handler: a verb of a resource, a subresource, or a path that is not a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import orjson

from probate.api.gvk import GroupResource
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.server import api_errors, query, timeouts
from probate.server.audit import request_trail as trails
from probate.server.authn import issuer_discovery
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authz import authorization_attributes
from probate.server.codec import negotiation, responses
from probate.server.codec.negotiation import Form
from probate.server.context import ServerContext
from probate.server.diagnostics import health, metrics_endpoint, version_info
from probate.server.discovery import discovery_documents
from probate.server.kind_rules import object_parts
from probate.server.ownership_api import graph_endpoint, owners_and_dependents, tenant_audit
from probate.server.request import Request, RequestInfo, Target
from probate.server.response import Response, StreamingResponse
from probate.server.reviews import access_review, identity_reviews, rules_review
from probate.server.subresources import binding, eviction, scale, tenant_kubeconfig, token
from probate.server.verbs import create, delete, deletecollection, get, patch, update, watch
from probate.server.verbs import list as listing


class RequestHandler(Protocol):
    """Handles a request for a resource that RBAC allows. `form` is the format of the response."""

    async def __call__(
        self, context: ServerContext, request: Request, target: Target, /, *, form: Form
    ) -> Response | StreamingResponse: ...


VERBS: dict[str, RequestHandler] = {
    "get": get.get,
    "list": listing.list_,
    "watch": watch.watch,
    "create": create.create,
    "update": update.update,
    "patch": patch.patch,
    "delete": delete.delete,
    "deletecollection": deletecollection.deletecollection,
}

VIRTUAL_RESOURCES: dict[GroupResource, Callable[[], RequestHandler]] = {
    GroupResource("", "bindings"): lambda: binding.create_binding,
    GroupResource("authentication.k8s.io", "selfsubjectreviews"): lambda: identity_reviews.review_self,
    GroupResource("authentication.k8s.io", "tokenreviews"): lambda: identity_reviews.review_token,
    GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"): lambda: access_review.review_self,
    GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"): lambda: rules_review.review_self,
    GroupResource("authorization.k8s.io", "subjectaccessreviews"): lambda: access_review.review_subject,
    GroupResource("authorization.k8s.io", "localsubjectaccessreviews"): lambda: access_review.review_subject,
}
"""Resources that are never stored: creating one runs a command. (Values are functions because handlers are imported lazily.)"""

SUBRESOURCES: dict[str, Callable[[], RequestHandler]] = {
    "scale": lambda: scale.handle_scale,
    "binding": lambda: binding.bind_pod,
    "eviction": lambda: eviction.evict,
    "token": lambda: token.create_token,
    "kubeconfig": lambda: tenant_kubeconfig.create_kubeconfig,
}

READ_VERBS = {"get", "list", "watch"}
WRITE_VERBS = {"create", "update", "patch", "delete", "deletecollection"}

PROBATE_PATHS: dict[str, Callable[[], Callable[[ServerContext, Request], Awaitable[Response]]]] = {
    "/apis/probate.dev/v1alpha1/dependents": lambda: owners_and_dependents.list_dependents,
    "/apis/probate.dev/v1alpha1/owners": lambda: owners_and_dependents.list_owners,
    "/debug/tenants": lambda: tenant_audit.get_tenant_audit,
    "/debug/ownership": lambda: graph_endpoint.get_ownership_graph,
}
"""Paths that only Probate has. They are not resources, and discovery does not list them."""

ISSUER_PATHS: dict[str, Callable[[], Callable[[TokenIssuer], Awaitable[Response]]]] = {
    ".well-known/openid-configuration": lambda: issuer_discovery.openid_configuration,
    "openid/v1/jwks": lambda: issuer_discovery.json_web_key_set,
}
"""Paths that other systems read to verify service account tokens."""

PLAIN_TEXT = "text/plain; charset=utf-8"


def resolve(context: ServerContext, request: Request) -> RequestInfo | None:
    """Returns the verb and target of a request, or None if its path is not a resource. Raises as `RequestInfoResolver.resolve`."""
    return None if request.path in PROBATE_PATHS else context.request_info.resolve(request, context.kinds.catalog)


async def handle(context: ServerContext, request: Request) -> Response | StreamingResponse:
    """Resolves, authorizes and handles a request. Raises `ApiError`."""
    return await handle_resolved(context, request, resolve(context, request))


async def handle_resolved(context: ServerContext, request: Request, info: RequestInfo | None) -> Response | StreamingResponse:
    """Authorizes and handles a request that `resolve` has resolved. Raises `ApiError`."""
    if "timeout" in request.query and (info is None or info.verb != "watch"):
        timeouts.requested_timeout(request.query)
    if context.audit.log is not None:
        await _authorize_audited(context, request, info)
    elif not request.user.is_superuser and (
        info is None or request.query or not context.authorizer.is_cached_as_allowed(request.user, *info)
    ):
        await _authorize(context, request, info)
    if info is not None:
        response = await _handle_resource(context, request, info)
        warning = info.target.resource.deprecation_warning
        return response._replace(warnings=(warning, *response.warnings)) if warning else response
    if request.path in PROBATE_PATHS:
        return await _handle_probate_path(context, request)
    if request.path.startswith("/openapi"):
        return await context.offloader.run_in_thread(lambda: discovery_documents.openapi(context, request))
    documents = discovery_documents.document(context, request)
    if documents is not None:
        return documents
    return await _handle_process_path(context, request)


async def _authorize(context: ServerContext, request: Request, info: RequestInfo | None) -> None:
    """Raises `Forbidden` unless RBAC allows the request. The authorizer caches the result until RBAC changes."""
    user = request.user
    ask = authorization_attributes.for_path(request) if info is None else authorization_attributes.for_resource(request, info)
    if not isinstance(ask, ResourceAttributes) or info is None or not context.authorizer.allows_from_cache(user, ask):
        await context.authorizer.check_request(user, ask)
    elif not request.query:
        context.authorizer.cache_allowed(user, *info)


async def _authorize_audited(context: ServerContext, request: Request, info: RequestInfo | None) -> None:
    """Raises `Forbidden` unless RBAC allows the request. Records the decision and its reason in the audit event."""
    user, ask = (
        request.user,
        authorization_attributes.for_path(request) if info is None else authorization_attributes.for_resource(request, info),
    )
    if not user.is_superuser:
        await context.authorizer.check_request(user, ask)
    trail = None if context.audit.log is None else trails.CURRENT_TRAIL.get()
    if trail is not None:
        trail.set_decision(is_allowed=True, reason=await context.authorizer.reason(user, ask))


async def _handle_probate_path(context: ServerContext, request: Request) -> Response:
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    async with asyncio.timeout(timeouts.requested_timeout(request.query) or timeouts.REQUEST_TIMEOUT_SECONDS):
        return await PROBATE_PATHS[request.path]()(context, request)


async def _handle_resource(context: ServerContext, request: Request, info: RequestInfo) -> Response | StreamingResponse:
    verb, target = info
    form = negotiation.accepted(request.headers.get(b"accept", b""), has_protobuf=target.resource.has_protobuf)
    if form.shape:
        form = _supported_form(form, request, verb, target=target)
    if request.query:
        if query.boolean(request.query, "pretty"):
            form = form._replace(is_pretty=True)
        if form.shape == "Table":
            form = form._replace(included=query.include_object(request.query))
    if verb in READ_VERBS and not target.subresource:
        response = await VERBS[verb](context, request, target, form=form)
        return await _encode(context, response, form) if form.is_yaml or form.is_protobuf else response
    if "timeout" not in request.query:
        response = await _write_handler(verb, target)(context, request, target, form=form)
    else:
        async with asyncio.timeout(timeouts.requested_timeout(request.query)):
            response = await _write_handler(verb, target)(context, request, target, form=form)
    if verb in WRITE_VERBS:
        if context.kinds.is_crd(target.resource):
            # Shielded: the CRD is written, so it must be served even if the request times out.
            await asyncio.shield(context.kinds.refresh(now=context.timestamp()))
        elif context.admission.configuration.includes(target.resource):
            await asyncio.shield(context.admission.configuration.refresh(target.resource.group_resource))
    return await _encode(context, response, form) if form.is_yaml or form.is_protobuf else response


def _supported_form(form: Form, request: Request, verb: str, *, target: Target) -> Form:
    """Returns the first form that the client accepts and this target has. Raises `NotAcceptable` if there is none."""
    if form.shape == "Table" and not _has_tables(request, verb, target):
        form = negotiation.accepted(request.headers[b"accept"], has_tables=False, has_protobuf=target.resource.has_protobuf)
    negotiation.check_suits(form, verb)
    return form


def _has_tables(request: Request, verb: str, target: Target) -> bool:
    """Whether the target can be shown as a Table. Commands cannot, and neither can a watch that begins with a list."""
    if target.resource.group_resource in VIRTUAL_RESOURCES or target.subresource in {"binding", "eviction", "kubeconfig", "token"}:
        return False
    return verb != "watch" or not query.boolean(request.query, "sendInitialEvents")


async def _encode(context: ServerContext, response: Response | StreamingResponse, form: Form) -> Response | StreamingResponse:
    """Encodes the response as YAML or protobuf."""
    if isinstance(response, StreamingResponse):
        return response
    convert = responses.as_yaml if form.is_yaml else responses.as_protobuf
    return await context.offloader.offload_if_large(len(response.body), lambda: convert(response))


def _write_handler(verb: str, target: Target) -> RequestHandler:
    if (target.resource.group, target.resource.plural) in VIRTUAL_RESOURCES:
        return VIRTUAL_RESOURCES[target.resource.group_resource]()
    if target.subresource in SUBRESOURCES:
        return SUBRESOURCES[target.subresource]()
    if target.subresource and target.subresource != "status" and target.subresource not in object_parts.PARTIAL_SUBRESOURCES:
        raise api_errors.resource_not_found()
    return VERBS[verb]


async def _handle_process_path(context: ServerContext, request: Request) -> Response:
    """Handles paths that describe the process: version, metrics, issuer keys, health."""
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    path = request.path.strip("/")
    if path == "version":
        return Response(200, orjson.dumps(version_info.version_body(), option=orjson.OPT_INDENT_2))
    if path == "metrics":
        return await _metrics(context, request)
    if path in ISSUER_PATHS:
        return await ISSUER_PATHS[path]()(context.service_accounts)
    check, _, only = path.partition("/")
    excluded = request.query.get("exclude", ())
    results = (
        await health.run_checks(context.store, context.readiness_checks, check, only=only, excluded=excluded)
        if check in health.CHECKS
        else None
    )
    if results is None:
        raise api_errors.path_not_found(request.path)
    code, text = health.render(check, results, is_verbose="verbose" in request.query)
    return Response(code, text, PLAIN_TEXT, headers=(("x-content-type-options", "nosniff"),))


async def _metrics(context: ServerContext, request: Request) -> Response:
    await context.metrics.refresh_store_metrics(context.store, context.kinds, context.clock)
    families, accepted = context.metrics.registry.gather(), request.header("accept")
    page = await context.offloader.run_in_thread(lambda: metrics_endpoint.render(families, accepted))
    return Response(200, page.text, page.content_type)
