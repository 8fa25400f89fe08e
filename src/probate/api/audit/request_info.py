"""Parses what a request addresses from its method and path, whether or not the resource exists.

GET /api/v1/namespaces/a/pods/web/log      get, pods/log "web" in "a"
GET /api/v1/namespaces/a                   get, namespaces "a", whose namespace is also "a"
GET /apis/apps/v1                          get, a non-resource path
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
_NAMESPACE_SUBRESOURCES = {"status", "finalize"}
_TRUE_VALUES = {"true", "1", "t", "T", "TRUE", "True"}
_SINGLE_NAME_SELECTOR = re.compile(r"(?:.*,)?\s*metadata\.name==?([^,=!\\]+)(?:,.*)?")


class RequestInfo(NamedTuple):
    """The verb and the resource of a request. `resource` is empty for a non-resource path."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_request(method: str, path: str, query: Mapping[str, Sequence[str]]) -> RequestInfo:
    """Parses a request."""
    parts = path.strip("/").split("/")
    prefix, rest = parts[0], parts[1:]
    if prefix == "api" and len(rest) >= 2:
        group, version, segments = "", rest[0], rest[1:]
    elif prefix == "apis" and len(rest) >= 3:
        group, version, segments = rest[0], rest[1], rest[2:]
    else:
        return RequestInfo(method.lower(), path)
    return _parse_resource(RequestInfo(_VERBS.get(method, method.lower()), path, group, version), segments, query)


def _parse_resource(info: RequestInfo, segments: list[str], query: Mapping[str, Sequence[str]]) -> RequestInfo:
    is_watch = segments[0] == "watch" and len(segments) > 1
    if is_watch:
        segments = segments[1:]
    namespace = ""
    if segments[0] == "namespaces" and len(segments) > 1:
        namespace = segments[1]
        if len(segments) > 2 and segments[2] not in _NAMESPACE_SUBRESOURCES:
            segments = segments[2:]
    resource, name, subresource = (*segments, "", "")[:3]
    info = info._replace(resource=resource, namespace=namespace, name=name, subresource=subresource)
    if name:
        return info._replace(verb="watch") if is_watch else info
    return _parse_collection(info, query, is_watch=is_watch)


def _parse_collection(info: RequestInfo, query: Mapping[str, Sequence[str]], *, is_watch: bool) -> RequestInfo:
    verb = _COLLECTION_VERBS.get(info.verb, info.verb)
    if is_watch or (verb == "list" and query and query.get("watch", ("",))[0] in _TRUE_VALUES):
        verb = "watch"
    match = _SINGLE_NAME_SELECTOR.fullmatch(query["fieldSelector"][0]) if query and query.get("fieldSelector") else None
    name = match[1] if match is not None and verb in {"list", "watch", "deletecollection"} else ""
    return info._replace(verb=verb, name=name)
