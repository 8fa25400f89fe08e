"""The API client: the verbs of the API as methods. Objects in, objects out; error responses become exceptions.

pods = GroupVersionResource("", "v1", "pods")
pod = await client.create(pods, "default", {"metadata": {"generateName": "web-"}, "spec": {...}})
await client.delete(pods, "default", pod["metadata"]["name"], uid=pod["metadata"]["uid"], policy="Background")
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import orjson

from probate.api.field_errors import FieldError
from probate.api.objects import Object
from probate.client.transport import Reply, Transport
from probate.core import errors

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
NAMESPACE_TERMINATING, TENANT_TERMINATING = "NamespaceTerminating", "TenantTerminating"
"""The causes with which the server refuses to create anything in a namespace or a tenant that is being deleted."""


class GroupVersionResource(NamedTuple):
    """A resource in one version of its API group."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Returns the URL path of all objects, those of a namespace, one object, or a subresource of it."""
        base = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        prefix = f"{base}/namespaces/{namespace}" if namespace else base
        return "/".join(filter(None, (prefix, self.plural, name, subresource)))


class ObjectList(NamedTuple):
    """Objects as they were at one revision."""

    items: list[Object]
    revision: str


class WatchEvent(NamedTuple):
    """An event of a watch. Its type is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class Client:
    """A client of an API server. All methods raise an `ApiError` for an error response."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, resource: GroupVersionResource, namespace: str, name: str) -> Object | None:
        """Returns the object; None if it does not exist."""
        try:
            return await self._request("GET", resource.path(namespace, name))
        except errors.NotFound:
            return None

    async def list(self, resource: GroupVersionResource, namespace: str = "", **query: str) -> ObjectList:
        """Returns all objects, or those of a namespace, or those that query parameters such as `labelSelector` select."""
        items: list[Object] = []
        revision = ""
        async for page in self.pages(resource, namespace, **query):
            items += page.items
            revision = page.revision
        return ObjectList(items, revision)

    async def pages(self, resource: GroupVersionResource, namespace: str = "", **query: str) -> AsyncGenerator[ObjectList, None]:
        """Yields what `list` returns, page by page: all of one revision."""
        parameters = {"limit": "500", **query}
        while True:
            page = await self._request("GET", resource.path(namespace), parameters)
            yield ObjectList(page["items"], page["metadata"]["resourceVersion"])
            if not page["metadata"].get("continue"):
                return
            parameters["continue"] = page["metadata"]["continue"]

    @asynccontextmanager
    async def watch(
        self, resource: GroupVersionResource, namespace: str = "", **query: str
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Yields the events after `resourceVersion`. Raises `Gone` if that revision has been compacted."""
        parameters = {"watch": "1", "allowWatchBookmarks": "true", **query}
        async with self._transport.stream(resource.path(namespace), parameters) as lines:
            yield _decode_events(lines)

    async def create(self, resource: GroupVersionResource, namespace: str, object_: Object) -> Object:
        """Creates an object and returns it. Raises `AlreadyExists` if the name is taken."""
        return await self._request("POST", resource.path(namespace), body=object_)

    async def create_subresource(
        self, resource: GroupVersionResource, namespace: str, name: str, *, subresource: str, body: Object
    ) -> Object:
        """Posts to a subresource of the object, such as "token", and returns the response."""
        return await self._request("POST", resource.path(namespace, name, subresource), body=body)

    async def update(self, resource: GroupVersionResource, object_: Object, subresource: str = "") -> Object:
        """Replaces the object, or only its subresource ("status"). Raises `Conflict` if it has changed since it was read."""
        meta = object_["metadata"]
        return await self._request("PUT", resource.path(meta.get("namespace", ""), meta["name"], subresource), body=object_)

    async def patch(
        self,
        resource: GroupVersionResource,
        namespace: str,
        name: str,
        *,
        change: Object,
        subresource: str = "",
        media: str = MERGE_PATCH,
    ) -> Object:
        """Merges the change into the object, whatever its current version."""
        return await self._request("PATCH", resource.path(namespace, name, subresource), body=change, media=media)

    async def delete(self, resource: GroupVersionResource, namespace: str, name: str, **options: Any) -> Object | None:
        """Deletes the object. Options: `uid` (precondition), `policy` (propagation policy), `grace` (grace period in seconds).

        Returns the object if its deletion is pending; None if it is gone. It is not an error if it was gone before.
        """
        body: Object = {}
        if "uid" in options:
            body["preconditions"] = {"uid": options["uid"]}
        if "policy" in options:
            body["propagationPolicy"] = options["policy"]
        if "grace" in options:
            body["gracePeriodSeconds"] = options["grace"]
        try:
            deleted = await self._request("DELETE", resource.path(namespace, name), body=body)
        except errors.NotFound:
            return None
        return None if deleted.get("kind") == "Status" or not is_pending_deletion(deleted) else deleted

    async def _request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *, body: Object | None = None, media: str = JSON
    ) -> Object:
        content = b"" if body is None else orjson.dumps(body)
        return decode_reply(await self._transport.send(method, path, query=query or {}, body=content, media=media))


def decode_reply(reply: Reply) -> Object:
    """Returns the body of a response. Raises an `ApiError` for an error response."""
    code, body = reply
    content: Object = orjson.loads(body)
    if code >= 400:
        raise error_from_status(content, code)
    return content


def error_from_status(status: Object, code: int) -> errors.ApiError:
    """Returns the exception for a Status."""
    reason, message = status.get("reason") or "", status.get("message") or f"the server answered {code}"
    details = _parse_details(status.get("details") or {})
    for error_class in _subclasses(errors.ApiError):
        if error_class.reason == reason and error_class.code == code:
            return error_class(message, details)
    by_code = {404: errors.NotFound, 409: errors.Conflict, 410: errors.Gone, 422: errors.Invalid, 403: errors.Forbidden}
    return by_code.get(code, errors.ApiError)(message, details)


def has_cause(error: errors.ApiError, reason: str) -> bool:
    """Whether the error has a cause with this reason."""
    return any(cause.reason == reason for cause in error.details.causes)


def is_terminating(error: errors.ApiError) -> bool:
    """Whether a create was refused because its namespace or its tenant is being deleted: there is no use in trying again."""
    return has_cause(error, NAMESPACE_TERMINATING) or has_cause(error, TENANT_TERMINATING)


def _parse_details(details: Object) -> errors.Details:
    causes = [
        FieldError(cause.get("reason", ""), cause.get("field", ""), cause.get("message", ""))
        for cause in details.get("causes") or []
    ]
    names = {name: details.get(name) or "" for name in ("name", "group", "kind", "uid")}
    return errors.Details(**names, causes=tuple(causes), retry_after_seconds=details.get("retryAfterSeconds") or 0)


def is_pending_deletion(deleted: Object) -> bool:
    """Whether a deleted object remains for now: it has finalizers (in `metadata` or `spec`) or a grace period."""
    meta = deleted["metadata"]
    spec_finalizers = (deleted.get("spec") or {}).get("finalizers")
    return bool(meta.get("finalizers") or meta.get("deletionGracePeriodSeconds") or spec_finalizers)


def _subclasses(error_class: type[errors.ApiError]) -> list[type[errors.ApiError]]:
    return [error_class, *(deeper for subclass in error_class.__subclasses__() for deeper in _subclasses(subclass))]


async def _decode_events(lines: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
    async for line in lines:
        event = orjson.loads(line)
        if event["type"] == "ERROR":
            raise error_from_status(event["object"], int(event["object"].get("code") or 500))
        yield WatchEvent(event["type"], event["object"])
