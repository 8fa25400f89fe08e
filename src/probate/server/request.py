"""A request, parsed once: what it wants, of what, in which form.

GET    /api/v1/namespaces/default/pods/web            get pods "web" in "default"
GET    /apis/apps/v1/deployments?watch=1              watch deployments everywhere
PATCH  /api/v1/nodes/n1/status                        patch nodes "n1", its status
GET    /api/v1/watch/...                              the old way to watch
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.rbac.users import UNSECURED, User
from probate.core import errors
from probate.server import api_errors, query
from probate.server.query import Query

MAX_KNOWN = 4_000
MAX_KNOWN_LENGTH = 300


class Target(NamedTuple):
    """What a path names. `namespace` is None if all are meant, and empty for a kind that has none."""

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
    headers: Mapping[bytes, bytes]  # by their names in lower case
    body: bytes | Callable[[], Awaitable[bytes]] = b""  # or what waits for it
    user: User = UNSECURED

    async def read_body(self) -> bytes:
        """The body, as soon as all of it has come."""
        return self.body if isinstance(self.body, bytes) else await self.body()

    def header(self, name: str) -> str:
        return self.headers.get(name.encode(), b"").decode("latin-1")


class Asked(NamedTuple):
    """What a request wants, as far as it was understood."""

    verb: str
    at: Target


class Targets:
    """What requests ask, remembered for as long as the same catalog is served: most paths come again."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._known: dict[str, Target] = {}
        self._asked: dict[tuple[str, str], Asked] = {}  # by method and path, of requests that say nothing else

    def asked(self, request: Request, catalog: Catalog) -> Asked | None:
        """What is wanted of which resource; None if it is no resource that is asked.

        `NotFound` if nothing is served there, and `MethodNotAllowed` if it does not have such a verb.
        """
        if catalog is not self._catalog or len(self._known) > MAX_KNOWN:
            self._catalog, self._known, self._asked = catalog, {}, {}
        known = self._asked.get((request.method, request.path)) if not request.query else None
        return known or self._understand(request, catalog)

    def _understand(self, request: Request, catalog: Catalog) -> Asked | None:
        at = self._find(request.path, catalog)
        if at is None:
            return None
        found = Asked(verb(request, at), at)
        if not request.query and request.path in self._known:
            self._asked[request.method, request.path] = found
        return found

    def _find(self, path: str, catalog: Catalog) -> Target | None:
        found = self._known.get(path)
        if found is None and is_resource(path):
            found = target(path, catalog)
            if len(path) <= MAX_KNOWN_LENGTH:
                self._known[path] = found
        return found


def is_resource(path: str) -> bool:
    """Whether the path is that of a resource or below it, and not of a document about resources."""
    if path.startswith("/api/"):
        return path.count("/", 5, -1) > 0
    return path.startswith("/apis/") and path.count("/", 6, -1) > 1


def target(path: str, catalog: Catalog) -> Target:
    """What the path of a resource names; `NotFound` if nothing is served there."""
    prefix, *parts = path.strip("/").split("/")
    if len(parts) < (3 if prefix == "apis" else 2) or not all(parts):  # with nothing between some of its slashes
        raise api_errors.no_such_resource()
    group, version, *below = parts if prefix == "apis" else ("", *parts)
    is_watch = below[0] == "watch" and len(below) > 1
    found = _find(catalog, group, version, below[1:] if is_watch else below, is_watch=is_watch)
    if found is None:
        raise api_errors.no_such_resource() if version in catalog.versions(group) else api_errors.no_such_path(path)
    return found


def _find(catalog: Catalog, group: str, version: str, below: list[str], *, is_watch: bool) -> Target | None:
    if len(below) >= 3 and below[0] == "namespaces":
        resource = catalog.find(group, version, below[2])
        if resource is not None and resource.is_namespaced:
            return _at(resource, below[1], below[3:], is_watch=is_watch)
    resource = catalog.find(group, version, below[0])
    if resource is None or (resource.is_namespaced and len(below) > 1):
        return None
    return _at(resource, None if resource.is_namespaced else "", below[1:], is_watch=is_watch)


def _at(resource: Resource, namespace: str | None, below: list[str], *, is_watch: bool) -> Target | None:
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


def verb(request: Request, at: Target) -> str:
    """The verb that the request means; `MethodNotAllowed` if the resource does not have it."""
    is_sent_to_a_part = request.method == "POST" and bool(at.subresource)
    wanted = "create" if is_sent_to_a_part else _VERBS.get((request.method, bool(at.name)), "")
    if at.namespace is None:
        _check_is_for_all(wanted, at)
    if at.is_watch:
        if request.method != "GET" or "watch" not in at.resource.verbs:
            raise api_errors.method_not_allowed()
        return "watch"
    allowed = at.resource.verbs
    if at.subresource:
        found = at.resource.subresource(at.subresource)
        allowed = found.verbs if found is not None else ()
    elif at.resource.is_custom:
        allowed = (*allowed, "create")  # one whose definition goes says why it takes nothing new: `writing.open_scopes`
    if wanted not in allowed:
        raise _not_allowed(request.method, at)
    return "watch" if wanted == "list" and query.truth(request.query, "watch") else wanted


def _check_is_for_all(wanted: str, at: Target) -> None:
    """What lies in namespaces is read everywhere at once, and written in one of them. (Custom kinds are not there otherwise.)"""
    if wanted == "list":
        return
    if at.resource.is_custom:
        raise api_errors.no_such_resource()
    raise errors.MethodNotAllowed(
        f"{at.resource.plural} are written in a namespace: ask at /namespaces/<namespace>/{at.resource.plural}"
    )


def _not_allowed(method: str, at: Target) -> errors.ApiError:
    """What is wrong with a method that the resource does not have. Of a custom kind more is told, as in Kubernetes."""
    if not at.resource.is_custom:
        return api_errors.method_not_allowed()
    if method in {"PUT", "PATCH"} and not at.name:
        return errors.BadRequest("name must be provided: what is changed is one object")
    return api_errors.method_not_allowed(at.resource)
