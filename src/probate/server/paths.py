"""Discovery and OpenAPI: documents about the API, made once for each state of the catalog."""

from __future__ import annotations

import functools
from typing import Any

import orjson

from probate.machinery import builtin
from probate.machinery.catalog import Catalog
from probate.server import discovery, refusals
from probate.server.api import Answer, Api
from probate.server.custom_kinds import Kinds
from probate.server.openapi import documents, protobuf
from probate.server.request import Request

_OTHERS = (
    "/.well-known/openid-configuration",
    *("/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/readyz", "/version"),
)


def document(api: Api, request: Request) -> Answer | None:
    """The document at this path; None if there is none."""
    parts = [part for part in request.path.split("/") if part]
    if request.path != "/" and (not parts or parts[0] not in {"api", "apis"}):
        return None
    found = _discovery(api.catalog, request, parts) if parts else _json({"paths": _paths(api.catalog)})
    if found is None:
        return None
    if request.method not in {"GET", "HEAD"}:
        raise refusals.method_not_allowed()
    return found


def _paths(catalog: Catalog) -> list[str]:
    """Where one can go on from `/`."""
    groups = [group for group in catalog.groups() if group]
    versions = [f"/apis/{group}/{version}" for group in groups for version in catalog.versions(group)]
    core = [f"/api/{version}" for version in catalog.versions("")]
    return sorted(["/api", *core, "/apis", *(f"/apis/{group}" for group in groups), *versions, *_OTHERS])


def _discovery(catalog: Catalog, request: Request, parts: list[str]) -> Answer | None:
    is_core, below = parts[0] == "api", parts[1:]
    if not below:
        return _root(catalog, request, is_core=is_core)
    if is_core and len(below) == 1:
        return _known(discovery.api_resource_list(catalog, "", below[0]))
    if not is_core and len(below) == 1:
        return _known(discovery.api_group(catalog, below[0]))
    if not is_core and len(below) == 2:
        return _known(discovery.api_resource_list(catalog, below[0], below[1]))
    return None


def _root(catalog: Catalog, request: Request, *, is_core: bool) -> Answer:
    accepted = request.header("accept")
    for version in discovery.AGGREGATED_VERSIONS:
        wanted = discovery.aggregated_media_type(version)
        if _asks_for(accepted, wanted):
            make = discovery.aggregated_core if is_core else discovery.aggregated_groups
            return Answer(200, orjson.dumps(make(catalog, version)), wanted, headers=(("vary", "Accept"),))
    if is_core:
        return _json(discovery.api_versions(catalog, request.header("host")))
    return _json(discovery.api_group_list(catalog))


def _asks_for(accepted: str, media: str) -> bool:
    """Whether the wished-for forms have this one, whatever the order of its parameters."""
    wanted = set(media.replace(" ", "").split(";"))
    return any(wanted <= set(wish.replace(" ", "").split(";")) for wish in accepted.split(","))


def _known(found: dict[str, Any] | None) -> Answer:
    if found is None:
        raise refusals.no_such_resource()
    return _json(found)


def _json(found: dict[str, Any]) -> Answer:
    return Answer(200, orjson.dumps(found), headers=(("vary", "Accept"),))


@functools.lru_cache(maxsize=2)
def _documents(catalog: Catalog, kinds: Kinds) -> documents.Documents:
    return documents.Documents(catalog, builtin.definitions(), tuple(kinds.definitions()), version=f"v{builtin.version()}")


def openapi(api: Api, request: Request) -> Answer:
    """The OpenAPI document at this path. The first question after a change of the kinds takes long."""
    first, *parts = [part for part in request.path.split("/") if part]
    if first != "openapi":
        raise refusals.no_such_path(request.path)
    if request.method not in {"GET", "HEAD"}:
        raise refusals.method_not_allowed()
    made = _documents(api.catalog, api.kinds)
    found: documents.Document | None = None
    if parts == ["v2"]:
        found = made.v2_protobuf if protobuf.ACCEPTED in request.header("accept") else made.v2_json
    elif parts == ["v3"]:
        found = made.v3_index
    elif parts[:1] == ["v3"]:
        found = made.v3("/".join(parts[1:]))
    if found is None:
        raise refusals.no_such_resource()
    headers = [("etag", found.etag), ("vary", "Accept")]
    if request.query.get("hash"):
        headers.append(("cache-control", "public, max-age=31536000, immutable"))
    is_known = request.header("if-none-match") == found.etag
    return Answer(304 if is_known else 200, b"" if is_known else found.body, found.content_type, headers=tuple(headers))
