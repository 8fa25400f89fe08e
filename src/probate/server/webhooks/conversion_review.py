"""ConversionReviews: converts custom resources between versions with the conversion webhook of their CustomResourceDefinition."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.server.webhooks import endpoints
from probate.server.webhooks.endpoints import Services, Unreachable
from probate.server.webhooks.https_client import Outbound

SECONDS = 30.0
MAX_OBJECTS, MAX_BYTES = 500, 2 * 1024 * 1024
"""Limits of one review."""
_MUTABLE = ("labels", "annotations")


class Converter:
    """Calls the conversion webhooks of CustomResourceDefinitions."""

    def __init__(self, outbound: Outbound, services: Services, *, new_uid: Callable[[], str], offloader: Offloader) -> None:
        self._outbound = outbound
        self._offloader = offloader
        self._services = services
        self._new_uid = new_uid

    async def convert(self, definition: Object, objects: list[bytes], wanted: str) -> list[Object]:
        """Converts objects to the apiVersion `wanted`, in order. Raises `ApiError` if the webhook fails."""
        found: list[Object] = []
        for part in _parts(objects):
            try:
                found += await self._call_webhook(definition, part, wanted)
            except (Unreachable, _InvalidResponse) as error:
                kind = definition["spec"]["names"]["kind"]
                detail = f"conversion webhook for {wanted}, Kind={kind} failed: {error}"
                raise errors.ApiError(f"Internal error occurred: {detail}") from None
        return found

    async def _call_webhook(self, definition: Object, objects: list[bytes], wanted: str) -> list[Object]:
        webhook = definition["spec"]["conversion"]["webhook"]
        endpoint = endpoints.find(webhook["clientConfig"], self._services)
        versions = webhook.get("conversionReviewVersions") or ["v1"]
        version = next((one for one in versions if one in {"v1", "v1beta1"}), "v1")
        uid = self._new_uid()
        request = {"uid": uid, "desiredAPIVersion": wanted, "objects": [orjson.Fragment(one) for one in objects]}
        about = {"kind": "ConversionReview", "apiVersion": f"apiextensions.k8s.io/{version}"}
        try:
            body = orjson.dumps({**about, "request": request})
            answer = await self._outbound.post(endpoint, body, seconds=SECONDS)
        except Unreachable as error:
            raise Unreachable(f'Post "{endpoint.url}?timeout={SECONDS:g}s": {error}') from None
        return await self._offloader.offload_if_large(
            len(answer) + len(body), lambda: _check_identity(objects, _converted(answer, uid, about), wanted)
        )


class _InvalidResponse(Exception):
    """The response of the webhook cannot be used. The message contains the reason."""


def _parts(objects: list[bytes]) -> list[list[bytes]]:
    """Splits the objects into parts within the limits of one review."""
    parts: list[list[bytes]] = []
    size = 0
    for one in objects:
        if not parts or len(parts[-1]) >= MAX_OBJECTS or size + len(one) > MAX_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += len(one)
    return parts


def _converted(answer: bytes, uid: str, about: Object) -> list[Object]:
    try:
        review = orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise _InvalidResponse(f"json parse error: {error}") from None
    if not isinstance(review, dict) or {name: review.get(name) for name in about} != about:
        raise _InvalidResponse(f"the answer is not a {about['kind']} of {about['apiVersion']}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _InvalidResponse("no response provided")
    if response.get("uid") != uid:
        raise _InvalidResponse(f'expected response.uid="{uid}", got {orjson.dumps(response.get("uid") or "").decode()[:200]}')
    result = response.get("result") if isinstance(response.get("result"), dict) else {}
    if (result or {}).get("status") != "Success":
        raise _InvalidResponse(str((result or {}).get("message") or "response.result.status was not Success")[:1000])
    objects = response.get("convertedObjects")
    if not isinstance(objects, list) or not all(isinstance(one, dict) for one in objects):
        raise _InvalidResponse("response.convertedObjects must be a list of objects")
    return objects


def _check_identity(objects: list[bytes], converted: list[Object], wanted: str) -> list[Object]:
    """Checks that the webhook converted the objects without changing their identity."""
    if len(objects) != len(converted):
        raise _InvalidResponse(f"expected {len(objects)} converted objects, got {len(converted)}")
    for number, (sent, after) in enumerate(zip(objects, converted, strict=True)):
        before = orjson.loads(sent)
        where = f"returned invalid converted object at index {number}"
        if after.get("apiVersion") != wanted or after.get("kind") != before.get("kind"):
            raise _InvalidResponse(f"{where}: it is a {str(after.get('apiVersion'))[:200]} {str(after.get('kind'))[:200]}")
        meta = after.get("metadata")
        if not isinstance(meta, dict) or _immutable_fields(meta) != _immutable_fields(before["metadata"]):
            raise _InvalidResponse(f"{where}: it changed metadata other than labels and annotations")
        for name in _MUTABLE:
            given = meta.get(name) or {}
            if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
                raise _InvalidResponse(f"{where}: metadata.{name} must be of type object with strings as values")
    return converted


def _immutable_fields(meta: Object) -> Object:
    return {name: value for name, value in meta.items() if name not in _MUTABLE and value not in (None, {}, [], "")}
