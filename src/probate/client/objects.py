"""The verbs of the API, for whoever acts through it: objects in, objects out, refusals as exceptions.

pods = Kind("", "v1", "pods")
made = await client.create(pods, "default", {"metadata": {"generateName": "web-"}, "spec": {...}})
await client.delete(pods, "default", made["metadata"]["name"], uid=made["metadata"]["uid"], policy="Background")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

import orjson

from probate.api.field_errors import Problem
from probate.client.transport import Reply, Transport
from probate.core import errors

Object: TypeAlias = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


class Kind(NamedTuple):
    """A resource in one version."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """The version as objects spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", part: str = "") -> str:
        """Where its objects are: all of them, those of a namespace, one of them, or a part of one."""
        base = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        spaced = f"{base}/namespaces/{namespace}" if namespace else base
        return "/".join(filter(None, (spaced, self.plural, name, part)))


class Listing(NamedTuple):
    """Objects as they were at one revision."""

    items: list[Object]
    revision: str


class Happening(NamedTuple):
    """A line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class Client:
    """Acts through an API server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object; None if there is none."""
        try:
            return await self._object("GET", kind.path(namespace, name))
        except errors.NotFound:
            return None

    async def list(self, kind: Kind, namespace: str = "", **query: str) -> Listing:
        """All objects, or those of a namespace; `labelSelector` and the like narrow it down."""
        items: list[Object] = []
        asked = {"limit": "500", **query}
        while True:
            page = await self._object("GET", kind.path(namespace), asked)
            items += page["items"]
            if not page["metadata"].get("continue"):
                return Listing(items, page["metadata"]["resourceVersion"])
            asked["continue"] = page["metadata"]["continue"]

    @asynccontextmanager
    async def watch(self, kind: Kind, namespace: str = "", **query: str) -> AsyncIterator[AsyncIterator[Happening]]:
        """What happens after `resourceVersion`. `Gone` if that is too long ago."""
        asked = {"watch": "1", "allowWatchBookmarks": "true", **query}
        async with self._transport.stream(kind.path(namespace), asked) as lines:
            yield _happenings(lines)

    async def create(self, kind: Kind, namespace: str, object_: Object) -> Object:
        """The object as it was created. `AlreadyExists` if the name is taken."""
        return await self._object("POST", kind.path(namespace), body=object_)

    async def send_to(self, kind: Kind, namespace: str, name: str, part: str, what: Object) -> Object:
        """What a part of the object (such as "token") answers to what it is sent."""
        return await self._object("POST", kind.path(namespace, name, part), body=what)

    async def update(self, kind: Kind, object_: Object, part: str = "") -> Object:
        """Put the object (or only its part: "status") in place of what is there. `Conflict` if that is not what was read."""
        meta = object_["metadata"]
        return await self._object("PUT", kind.path(meta.get("namespace", ""), meta["name"], part), body=object_)

    async def patch(
        self, kind: Kind, namespace: str, name: str, change: Object, part: str = "", *, media: str = MERGE_PATCH
    ) -> Object:
        """Merge the change into the object, whatever it is now."""
        return await self._object("PATCH", kind.path(namespace, name, part), body=change, media=media)

    async def delete(self, kind: Kind, namespace: str, name: str, **options: Any) -> Object | None:
        """Delete the object: `uid`, `policy`, `grace` say which and how. One that is gone already is no failure.

        Returns the object as it is while something holds it; None if it is gone.
        """
        body: Object = {}
        if "uid" in options:
            body["preconditions"] = {"uid": options["uid"]}
        if "policy" in options:
            body["propagationPolicy"] = options["policy"]
        if "grace" in options:
            body["gracePeriodSeconds"] = options["grace"]
        try:
            left = await self._object("DELETE", kind.path(namespace, name), body=body)
        except errors.NotFound:
            return None
        return None if left.get("kind") == "Status" or not is_held(left) else left

    async def _object(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None, media: str = JSON
    ) -> Object:
        sent = b"" if body is None else orjson.dumps(body)
        return understood(await self._transport.send(method, path, query or {}, sent, media))


def understood(reply: Reply) -> Object:
    """What the answer holds; the refusal, if it is one."""
    code, body = reply
    found: Object = orjson.loads(body)
    if code >= 400:
        raise refusal(found, code)
    return found


def refusal(status: Object, code: int) -> errors.ApiError:
    """The exception that a Status stands for."""
    reason, message = status.get("reason") or "", status.get("message") or f"the server answered {code}"
    details = _details(status.get("details") or {})
    for kind in _all(errors.ApiError):
        if kind.reason == reason and kind.code == code:
            return kind(message, details)
    by_code = {404: errors.NotFound, 409: errors.Conflict, 410: errors.Gone, 422: errors.Invalid, 403: errors.Forbidden}
    return by_code.get(code, errors.ApiError)(message, details)


def has_cause(error: errors.ApiError, reason: str) -> bool:
    """Whether this is among the reasons that the server gave for a refusal."""
    return any(cause.reason == reason for cause in error.details.causes)


def _details(told: Object) -> errors.Details:
    causes = [Problem(one.get("reason", ""), one.get("field", ""), one.get("message", "")) for one in told.get("causes") or []]
    about = {name: told.get(name) or "" for name in ("name", "group", "kind", "uid")}
    return errors.Details(**about, causes=tuple(causes), retry_after_seconds=told.get("retryAfterSeconds") or 0)


def is_held(deleted: Object) -> bool:
    """Whether a deleted object stays for now: for its finalizers, for its grace period, or for what is in it."""
    meta = deleted["metadata"]
    within = (deleted.get("spec") or {}).get("finalizers")
    return bool(meta.get("finalizers") or meta.get("deletionGracePeriodSeconds") or within)


def _all(kind: type[errors.ApiError]) -> list[type[errors.ApiError]]:
    return [kind, *(deeper for one in kind.__subclasses__() for deeper in _all(one))]


async def _happenings(lines: AsyncIterator[bytes]) -> AsyncIterator[Happening]:
    async for line in lines:
        found = orjson.loads(line)
        if found["type"] == "ERROR":
            raise refusal(found["object"], int(found["object"].get("code") or 500))
        yield Happening(found["type"], found["object"])
