"""Discovery and OpenAPI: documents about the API, built once for each state of the catalog."""

from __future__ import annotations

import functools
import hashlib
from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Catalog
from probate.kinds.builtin import catalog as builtin_catalog
from probate.server import api_errors, query
from probate.server.codec import negotiation, responses
from probate.server.context import ServerContext
from probate.server.diagnostics import health
from probate.server.discovery import groups as discovery_groups
from probate.server.kind_registry import KindRegistry
from probate.server.openapi import openapi_documents, protobuf
from probate.server.request import Request
from probate.server.response import Response


class Marked(NamedTuple):
    """A document and its ETag, which differs for each content."""

    body: bytes
    etag: str


_OTHERS = (
    "/.well-known/openid-configuration",
    *("/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/readyz", "/version"),
)


def document(context: ServerContext, request: Request) -> Response | None:
    """Returns the document at this path; None if there is none."""
    parts = [part for part in request.path.split("/") if part]
    if request.path != "/" and (not parts or parts[0] not in {"api", "apis"}):
        return None
    found = _discovery(context, request, parts) if parts else _json({"paths": _paths(context)})
    if found is None:
        return None
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    return _formed(found, request) if parts and found.content_type == negotiation.JSON else found


def _formed(found: Response, request: Request) -> Response:
    """Returns the document in the format that the client prefers."""
    return responses.as_yaml(found) if negotiation.of_document(request.headers.get(b"accept", b"")).is_yaml else found


def _paths(context: ServerContext) -> list[str]:
    """The paths that a client can follow from `/`."""
    catalog, checks = (
        context.catalog,
        [f"/{one}/{name}" for one in health.CHECKS for name in health.check_names(context.readiness_checks, one)],
    )
    groups = [group for group in catalog.groups() if group]
    versions = [f"/apis/{group}/{version}" for group in groups for version in catalog.versions(group)]
    core = [f"/api/{version}" for version in catalog.versions("")]
    return sorted(["/api", *core, "/apis", *(f"/apis/{group}" for group in groups), *versions, *_OTHERS, *checks])


def _discovery(context: ServerContext, request: Request, parts: list[str]) -> Response | None:
    catalog, is_core, below = context.catalog, parts[0] == "api", parts[1:]
    if not below:
        return _root(context, request, is_core=is_core)
    if is_core and len(below) == 1:
        return _known(discovery_groups.api_resource_list(catalog, "", below[0]))
    if not is_core and len(below) == 1:
        return _known(discovery_groups.api_group(catalog, below[0]))
    if not is_core and len(below) == 2:
        return _known(discovery_groups.api_resource_list(catalog, below[0], below[1]))
    return None


def _root(context: ServerContext, request: Request, *, is_core: bool) -> Response:
    catalog, accepted = context.catalog, request.header("accept")
    for version in discovery_groups.AGGREGATED_VERSIONS:
        wanted = discovery_groups.aggregated_media_type(version)
        if _asks_for(accepted, wanted):
            make = functools.partial(_aggregated, catalog, version, is_core=is_core)
            found = context.discovery_cache.get(context.kinds.documents_owner, (version, is_core), catalog, make=make)
            return _unless_known(request, found, wanted)
    if is_core:
        return _json(discovery_groups.api_versions(catalog, request.header("host")))
    return _json(discovery_groups.api_group_list(catalog))


def _aggregated(catalog: Catalog, version: str, *, is_core: bool) -> Marked:
    make = discovery_groups.aggregated_core if is_core else discovery_groups.aggregated_groups
    body = orjson.dumps(make(catalog, version))
    return Marked(body, f'"{hashlib.sha256(body).hexdigest().upper()}"')


def _unless_known(request: Request, found: Marked, content_type: str, *, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    """Returns the document, or 304 with only its ETag if the client has it already."""
    is_known = request.header("if-none-match") == found.etag
    marks = (("etag", found.etag), ("vary", "Accept"), *headers)
    return Response(304 if is_known else 200, b"" if is_known else found.body, content_type, headers=marks)


def _asks_for(accepted: str, media: str) -> bool:
    """Returns whether the accepted media types include this one, whatever the order of its parameters."""
    wanted = set(media.replace(" ", "").split(";"))
    return any(wanted <= set(wish.replace(" ", "").split(";")) for wish in accepted.split(","))


def _known(found: dict[str, Any] | None) -> Response:
    if found is None:
        raise api_errors.resource_not_found()
    return _json(found)


def _json(found: dict[str, Any]) -> Response:
    return Response(200, orjson.dumps(found), headers=(("vary", "Accept"),))


def _documents(catalog: Catalog, kinds: KindRegistry) -> openapi_documents.Documents:
    return openapi_documents.Documents(
        catalog, builtin_catalog.definitions(), tuple(kinds.crds()), version=f"v{builtin_catalog.version()}"
    )


def openapi(context: ServerContext, request: Request) -> Response:
    """Returns the OpenAPI document at this path. The first request after a change of the kinds takes long."""
    first, *parts = [part for part in request.path.split("/") if part]
    if first != "openapi":
        raise api_errors.path_not_found(request.path)
    if request.method not in {"GET", "HEAD"}:
        raise api_errors.method_not_allowed()
    catalog, kinds = context.catalog, context.kinds
    make = functools.partial(_documents, catalog, kinds)
    made = context.openapi_cache.get(kinds.documents_owner, "openapi", catalog, make=make)
    found: openapi_documents.Document | None = None
    if parts == ["v2"]:
        found = made.v2_protobuf if protobuf.ACCEPTED in request.header("accept") else made.v2_json
    elif parts == ["v3"]:
        found = made.v3_index
    elif parts[:1] == ["v3"]:
        found = made.v3("/".join(parts[1:]))
    if found is None:
        raise api_errors.resource_not_found()
    wanted = query.first_value(request.query, "hash") if parts[1:] else ""
    if wanted and wanted != found.hash:
        return Response(301, b"", found.content_type, headers=(("location", f"{request.path}?hash={found.hash}"),))
    is_lasting = (("cache-control", "public, max-age=31536000, immutable"),) if wanted else ()
    return _unless_known(request, Marked(found.body, found.etag), found.content_type, headers=is_lasting)
