"""By which FlowSchema and level each request is sorted, which its answer tells in headers.

What was found is remembered until a FlowSchema or a level changes. For most who ask it is the same whatever they ask of resources,
and who asks again is recalled as one and the same object: so nothing has to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api.rbac.users import User
from probate.core.metrics import Labels
from probate.kinds.flowcontrol.bootstrap_flows import GROUP, LEVELS, SCHEMAS
from probate.kinds.flowcontrol.classification import About, Classifier, Flow, seats
from probate.server.admission.configuration import Configured
from probate.server.request import Asked

Object = dict[str, Any]

MAX_KNOWN = 1_000
MAX_OTHERS = 1_000
SCHEMA_HEADER, LEVEL_HEADER = b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid"


class _Known(NamedTuple):
    """Somebody who asks. As long as they are held here, nobody else can be mistaken for them."""

    user: User
    headers: bytes  # of all that they ask of resources; empty if it depends on what that is
    others: dict[About, bytes]


class Flows:
    """What is told of the flows of requests."""

    def __init__(self) -> None:
        self._schemas: list[Object] = []
        self._levels: list[Object] = []
        self._classifier = Classifier()
        self._known: dict[int, _Known] = {}  # by the identity of the user

    def listen(self, configured: Configured) -> None:
        """Follow what there is, from now on."""
        configured.tell(GROUP, "v1", SCHEMAS, lambda objects: self._learn(schemas=list(objects.values())))
        configured.tell(GROUP, "v1", LEVELS, lambda objects: self._learn(levels=list(objects.values())))

    def _learn(self, schemas: list[Object] | None = None, levels: list[Object] | None = None) -> None:
        self._schemas = self._schemas if schemas is None else schemas
        self._levels = self._levels if levels is None else levels
        self._classifier, self._known = Classifier(self._schemas, self._levels), {}

    def seats(self, total: int) -> dict[Labels, float]:
        """How many of all requests under way each level may have."""
        return {(name,): float(number) for name, number in seats(self._levels, total).items()}

    def headers_for(self, user: User, asked: Asked) -> bytes:
        """Headers of the answer to who asks this, as they go on the wire."""
        known = self._known.get(id(user))
        if known is None:
            known = self._know(user)
        return known.headers or self._looked_up(known, asked)

    def _know(self, user: User) -> _Known:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        known = self._known[id(user)] = _Known(user, _headers(self._classifier.only_flow_of(user)), {})
        return known

    def _looked_up(self, known: _Known, asked: Asked) -> bytes:
        """What depends on what is asked."""
        about = _about(asked)
        found = known.others.get(about)
        if found is None:
            if len(known.others) >= MAX_OTHERS:
                known.others.clear()
            found = known.others[about] = _headers(self._classifier.flow_of(known.user, about))
        return found

    def headers_for_path(self, user: User, method: str, path: str) -> bytes:
        """The same, of a path that is no resource."""
        return _headers(self._classifier.flow_of(user, About(method.lower(), path=path)))


def _headers(flow: Flow | None) -> bytes:
    if flow is None:
        return b""
    schema, level = (one["metadata"]["uid"].encode() for one in flow)
    return b"%b: %b\r\n%b: %b\r\n" % (SCHEMA_HEADER, schema, LEVEL_HEADER, level)


def pairs(headers: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The same headers one by one."""
    for line in headers.splitlines():
        name, _, value = line.partition(b": ")
        yield name, value


def _about(asked: Asked) -> About:
    at = asked.at
    resource = f"{at.resource.plural}/{at.subresource}" if at.subresource else at.resource.plural
    return About(asked.verb, at.resource.group, resource, at.namespace or "")
