"""Finds the FlowSchema and the priority level of each request, which its answer names in headers.

Results are cached until a FlowSchema or a level changes. Fast path: most users have the same flow for all resources, and a repeated
request has the same user object, so users are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.core.metrics import LabelValues
from probate.kinds.flowcontrol.bootstrap_flows import GROUP, LEVELS, SCHEMAS
from probate.kinds.flowcontrol.classification import Classifier, Flow, RequestTarget, seats
from probate.server.admission.configuration import PluginConfiguration
from probate.server.request import RequestInfo

MAX_CACHED_USERS = 1_000
MAX_CACHED_ATTRIBUTES = 1_000
SCHEMA_HEADER, LEVEL_HEADER = b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid"


class _CachedUser(NamedTuple):
    """The cached headers of a user. Holding the user object here keeps its identity from being reused."""

    user: User
    headers: bytes  # of all requests for resources; empty if they depend on the request
    by_attributes: dict[RequestTarget, bytes]


class FlowClassifier:
    """The FlowSchemas and levels of one server, and the headers of requests by them."""

    def __init__(self) -> None:
        self._schemas: list[Object] = []
        self._levels: list[Object] = []
        self._classifier = Classifier()
        self._cached: dict[int, _CachedUser] = {}  # by the identity of the user

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the configured FlowSchemas and levels from now on."""
        configuration.subscribe(GroupResource(GROUP, SCHEMAS), lambda objects: self._update(schemas=list(objects.values())))
        configuration.subscribe(GroupResource(GROUP, LEVELS), lambda objects: self._update(levels=list(objects.values())))

    def _update(self, schemas: list[Object] | None = None, levels: list[Object] | None = None) -> None:
        self._schemas = self._schemas if schemas is None else schemas
        self._levels = self._levels if levels is None else levels
        self._classifier, self._cached = Classifier(self._schemas, self._levels), {}

    def seats(self, total: int) -> dict[LabelValues, float]:
        """Returns how many of all requests in flight each level may have."""
        return {(name,): float(number) for name, number in seats(self._levels, total).items()}

    def headers_for(self, user: User, asked: RequestInfo) -> bytes:
        """Returns the headers of the answer to a request for a resource, as bytes for the wire."""
        cached = self._cached.get(id(user))
        if cached is None:
            cached = self._cache(user)
        return cached.headers or self._cached_headers(cached, asked)

    def _cache(self, user: User) -> _CachedUser:
        if len(self._cached) >= MAX_CACHED_USERS:
            self._cached.clear()
        cached = self._cached[id(user)] = _CachedUser(user, _headers(self._classifier.only_flow_of(user)), {})
        return cached

    def _cached_headers(self, cached: _CachedUser, asked: RequestInfo) -> bytes:
        """Returns the headers of a user whose flow depends on the request."""
        attributes = _attributes(asked)
        headers = cached.by_attributes.get(attributes)
        if headers is None:
            if len(cached.by_attributes) >= MAX_CACHED_ATTRIBUTES:
                cached.by_attributes.clear()
            headers = cached.by_attributes[attributes] = _headers(self._classifier.flow_of(cached.user, attributes))
        return headers

    def headers_for_path(self, user: User, method: str, path: str) -> bytes:
        """Returns the headers of the answer to a request for a path that is not a resource."""
        return _headers(self._classifier.flow_of(user, RequestTarget(method.lower(), path=path)))


def _headers(flow: Flow | None) -> bytes:
    if flow is None:
        return b""
    schema, level = (item["metadata"]["uid"].encode() for item in flow)
    return b"%b: %b\r\n%b: %b\r\n" % (SCHEMA_HEADER, schema, LEVEL_HEADER, level)


def header_pairs(headers: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Returns the same headers as pairs."""
    for line in headers.splitlines():
        name, _, value = line.partition(b": ")
        yield name, value


def _attributes(asked: RequestInfo) -> RequestTarget:
    at = asked.target
    resource = f"{at.resource.plural}/{at.subresource}" if at.subresource else at.resource.plural
    return RequestTarget(asked.verb, at.resource.group, resource, at.namespace or "")
