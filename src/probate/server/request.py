"""A parsed request, and the resolution of its path and method to a verb and a resource.

GET    /api/v1/namespaces/default/pods/web            get pods "web" in "default"
GET    /apis/apps/v1/deployments?watch=1              watch deployments everywhere
PATCH  /api/v1/nodes/n1/status                        patch nodes "n1", its status
GET    /api/v1/watch/...                              deprecated watch path
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.rbac.users import UNSECURED, User
from probate.core import errors
from probate.server import api_errors, query
from probate.server.query import Query

MAX_CACHED_PATHS = 4_000
MAX_CACHED_PATH_LENGTH = 300


class Target(NamedTuple):
    """The object or collection that a path names.

    `namespace` is None for all namespaces, and empty for a cluster-scoped kind. `is_watch` marks the deprecated `/watch/` paths.
    """

    resource: Resource
    namespace: str | None
    name: str = ""
    subresource: str = ""
    is_watch: bool = False


class Request(NamedTuple):
    """One request to the API."""

    method: str
    path: str
    query: Query
    headers: Mapping[bytes, bytes]  # names in lower case
    body: bytes | Callable[[], Awaitable[bytes]] = b""  # or a function that waits for it
    user: User = UNSECURED

    async def read_body(self) -> bytes:
        """Returns the body as soon as all of it has arrived."""
        return self.body if isinstance(self.body, bytes) else await self.body()

    def header(self, name: str) -> str:
        """Returns a header's value, or an empty string. `name` is in lower case."""
        return self.headers.get(name.encode(), b"").decode("latin-1")


class RequestInfo(NamedTuple):
    """The verb and the target of a request for a resource."""

    verb: str
    target: Target


class RequestInfoResolver:
    """Resolves requests to verbs and targets. Caches results until the catalog changes, because most paths repeat."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._target_cache: dict[str, Target] = {}
        self._info_cache: dict[tuple[str, str], RequestInfo] = {}  # by method and path, for requests without a query

    def resolve(self, request: Request, catalog: Catalog) -> RequestInfo | None:
        """Returns the verb and target of a request, or None if its path is not a resource path.

        Raises `NotFound` if no resource is served at the path, `MethodNotAllowed` if the resource does not have the verb.
        """
        if catalog is not self._catalog or len(self._target_cache) > MAX_CACHED_PATHS:
            self._catalog, self._target_cache, self._info_cache = catalog, {}, {}
        cached = self._info_cache.get((request.method, request.path)) if not request.query else None
        return cached or self._resolve(request, catalog)

    def _resolve(self, request: Request, catalog: Catalog) -> RequestInfo | None:
        target = self._find_target(request.path, catalog)
        if target is None:
            return None
        resolved = RequestInfo(request_verb(request, target), target)
        if not request.query and request.path in self._target_cache:
            self._info_cache[request.method, request.path] = resolved
        return resolved

    def _find_target(self, path: str, catalog: Catalog) -> Target | None:
        resolved = self._target_cache.get(path)
        if resolved is None and is_resource_path(path):
            resolved = parse_path(path, catalog)
            if len(path) <= MAX_CACHED_PATH_LENGTH:
                self._target_cache[path] = resolved
        return resolved


def is_resource_path(path: str) -> bool:
    """Whether the path is a resource path (`/api/v1/pods/…`), not a discovery path (`/api/v1`)."""
    if path.startswith("/api/"):
        return path.count("/", 5, -1) > 0
    return path.startswith("/apis/") and path.count("/", 6, -1) > 1


def parse_path(path: str, catalog: Catalog) -> Target:
    """Returns the target that a resource path names. Raises `NotFound` if nothing is served there."""
    prefix, *parts = path.strip("/").split("/")
    if len(parts) < (3 if prefix == "apis" else 2) or not all(parts):  # an empty path segment
        raise api_errors.resource_not_found()
    group, version, *below = parts if prefix == "apis" else ("", *parts)
    is_watch = below[0] == "watch" and len(below) > 1
    resolved = _find(catalog, group, version, below=below[1:] if is_watch else below, is_watch=is_watch)
    if resolved is None:
        raise api_errors.resource_not_found() if version in catalog.versions(group) else api_errors.path_not_found(path)
    return resolved


def _find(catalog: Catalog, group: str, version: str, *, below: list[str], is_watch: bool) -> Target | None:
    if len(below) >= 3 and below[0] == "namespaces":
        resource = catalog.find(group, version, below[2])
        if resource is not None and resource.is_namespaced:
            return _target_below(resource, below[1], below[3:], is_watch=is_watch)
    resource = catalog.find(group, version, below[0])
    if resource is None or (resource.is_namespaced and len(below) > 1):
        return None
    return _target_below(resource, None if resource.is_namespaced else "", below[1:], is_watch=is_watch)


def _target_below(resource: Resource, namespace: str | None, below: list[str], *, is_watch: bool) -> Target | None:
    match below:
        case []:
            return Target(resource, namespace, is_watch=is_watch)
        case [name]:
            return Target(resource, namespace, name, is_watch=is_watch)
        case [name, subresource] if resource.subresource(subresource) is not None:
            return Target(resource, namespace, name, subresource, is_watch)
    return None


_VERBS = {
    ("GET", True): "get",
    ("HEAD", True): "get",
    ("GET", False): "list",
    ("HEAD", False): "list",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}


def request_verb(request: Request, target: Target) -> str:
    """Returns the verb of a request. Raises `MethodNotAllowed` if the resource does not have it."""
    is_post_to_subresource = request.method == "POST" and bool(target.subresource)
    verb = "create" if is_post_to_subresource else _VERBS.get((request.method, bool(target.name)), "")
    if target.namespace is None:
        _check_all_namespaces(verb, target)
    if target.is_watch:
        if request.method != "GET" or "watch" not in target.resource.verbs:
            raise api_errors.method_not_allowed()
        return "watch"
    allowed = target.resource.verbs
    if target.subresource:
        resolved = target.resource.subresource(target.subresource)
        allowed = resolved.verbs if resolved is not None else ()
    elif target.resource.is_custom:
        allowed = (*allowed, "create")  # if the CRD is being deleted, `write.scope_guards` says why create fails
    if verb not in allowed:
        raise _not_allowed(request.method, target)
    return "watch" if verb == "list" and query.boolean(request.query, "watch") else verb


def _check_all_namespaces(verb: str, target: Target) -> None:
    """Raises for any verb but list: namespaced objects are written in one namespace. `NotFound` for custom resources."""
    if verb == "list":
        return
    if target.resource.is_custom:
        raise api_errors.resource_not_found()
    raise errors.MethodNotAllowed(
        f"{target.resource.plural} can only be written in a namespace: use /namespaces/<namespace>/{target.resource.plural}"
    )


def _not_allowed(method: str, target: Target) -> errors.ApiError:
    """Returns the error for a method that the resource does not have: more specific for custom resources, as in Kubernetes."""
    if not target.resource.is_custom:
        return api_errors.method_not_allowed()
    if method in {"PUT", "PATCH"} and not target.name:
        return errors.BadRequest("name must be provided: PUT and PATCH change a single object")
    return api_errors.method_not_allowed(target.resource)
