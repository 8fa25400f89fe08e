"""What a request asks for, as its path and method say, whether or not such a thing is served.

GET /api/v1/namespaces/a/pods/web/log      get, pods/log "web" in "a"
GET /api/v1/namespaces/a                   get, namespaces "a", which count as lying in themselves
GET /apis/apps/v1                          get, at a path that is no resource
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_MANY = {"get": "list", "delete": "deletecollection"}
_OF_NAMESPACES = {"status", "finalize"}
_TRUE = {"true", "1", "t", "T", "TRUE", "True"}
_ONE_NAME = re.compile(r"(?:.*,)?\s*metadata\.name==?([^,=!\\]+)(?:,.*)?")


class Asked(NamedTuple):
    """What is wanted. `resource` is empty for what is none."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def asked(method: str, path: str, query: Mapping[str, Sequence[str]]) -> Asked:
    """What such a request means."""
    parts = path.strip("/").split("/")
    prefix, rest = parts[0], parts[1:]
    if prefix == "api" and len(rest) >= 2:
        group, version, below = "", rest[0], rest[1:]
    elif prefix == "apis" and len(rest) >= 3:
        group, version, below = rest[0], rest[1], rest[2:]
    else:
        return Asked(method.lower(), path)
    return _resource(Asked(_VERBS.get(method, method.lower()), path, group, version), below, query)


def _resource(found: Asked, below: list[str], query: Mapping[str, Sequence[str]]) -> Asked:
    is_watch = below[0] == "watch" and len(below) > 1
    if is_watch:
        below = below[1:]
    namespace = ""
    if below[0] == "namespaces" and len(below) > 1:
        namespace = below[1]
        if len(below) > 2 and below[2] not in _OF_NAMESPACES:
            below = below[2:]
    resource, name, subresource = (*below, "", "")[:3]
    found = found._replace(resource=resource, namespace=namespace, name=name, subresource=subresource)
    if name:
        return found._replace(verb="watch") if is_watch else found
    return _of_many(found, query, is_watch=is_watch)


def _of_many(found: Asked, query: Mapping[str, Sequence[str]], *, is_watch: bool) -> Asked:
    verb = _OF_MANY.get(found.verb, found.verb)
    if is_watch or (verb == "list" and query and query.get("watch", ("",))[0] in _TRUE):
        verb = "watch"
    chosen = _ONE_NAME.fullmatch(query["fieldSelector"][0]) if query and query.get("fieldSelector") else None
    name = chosen[1] if chosen is not None and verb in {"list", "watch", "deletecollection"} else ""
    return found._replace(verb=verb, name=name)
