"""ConversionReviews: objects of one version of a custom kind, made objects of another by the webhook that its definition names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from probate.core import errors
from probate.server.webhooks import endpoints
from probate.server.webhooks.endpoints import Services, Unreachable
from probate.server.webhooks.https_client import Outbound

Object = dict[str, Any]

SECONDS = 30.0
MAX_OBJECTS, MAX_BYTES = 500, 2 * 1024 * 1024
"""Of one review."""
_MAY_CHANGE = ("labels", "annotations")


Apart = Callable[[int, Callable[[], list[Object]]], Awaitable[list[Object]]]
"""Does what is large elsewhere: `Api.apart`."""


class Converter:
    """Asks the webhooks of definitions."""

    def __init__(self, outbound: Outbound, services: Callable[[], Services], new_uid: Callable[[], str], apart: Apart) -> None:
        self._outbound = outbound
        self._apart = apart
        self._services = services
        self._new_uid = new_uid

    async def convert(self, definition: Object, objects: list[bytes], wanted: str) -> list[Object]:
        """The objects in the wanted apiVersion, in their order. An `ApiError` says what is wrong with the webhook."""
        found: list[Object] = []
        for part in _parts(objects):
            try:
                found += await self._ask(definition, part, wanted)
            except (Unreachable, _Unusable) as error:
                kind = definition["spec"]["names"]["kind"]
                told = f"conversion webhook for {wanted}, Kind={kind} failed: {error}"
                raise errors.ApiError(f"Internal error occurred: {told}") from None
        return found

    async def _ask(self, definition: Object, objects: list[bytes], wanted: str) -> list[Object]:
        webhook = definition["spec"]["conversion"]["webhook"]
        endpoint = endpoints.find(webhook["clientConfig"], self._services())
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
        return await self._apart(len(answer) + len(body), lambda: _checked(objects, _converted(answer, uid, about), wanted))


class _Unusable(Exception):
    """Why an answer cannot be used."""


def _parts(objects: list[bytes]) -> list[list[bytes]]:
    """So many at once as a review may have."""
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
        raise _Unusable(f"json parse error: {error}") from None
    if not isinstance(review, dict) or {name: review.get(name) for name in about} != about:
        raise _Unusable(f"the answer is no {about['kind']} of {about['apiVersion']}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _Unusable("no response provided")
    if response.get("uid") != uid:
        raise _Unusable(f'expected response.uid="{uid}", got {orjson.dumps(response.get("uid") or "").decode()[:200]}')
    result = response.get("result") if isinstance(response.get("result"), dict) else {}
    if (result or {}).get("status") != "Success":
        raise _Unusable(str((result or {}).get("message") or "response.result.status was not Success")[:1000])
    objects = response.get("convertedObjects")
    if not isinstance(objects, list) or not all(isinstance(one, dict) for one in objects):
        raise _Unusable("response.convertedObjects must be a list of objects")
    return objects


def _checked(objects: list[bytes], converted: list[Object], wanted: str) -> list[Object]:
    """Conversion changes the form of an object, and never which object it is."""
    if len(objects) != len(converted):
        raise _Unusable(f"expected {len(objects)} converted objects, got {len(converted)}")
    for number, (sent, after) in enumerate(zip(objects, converted, strict=True)):
        before = orjson.loads(sent)
        where = f"returned invalid converted object at index {number}"
        if after.get("apiVersion") != wanted or after.get("kind") != before.get("kind"):
            raise _Unusable(f"{where}: it is a {str(after.get('apiVersion'))[:200]} {str(after.get('kind'))[:200]}")
        meta = after.get("metadata")
        if not isinstance(meta, dict) or _fixed(meta) != _fixed(before["metadata"]):
            raise _Unusable(f"{where}: its metadata were changed, of which only labels and annotations may be")
        for name in _MAY_CHANGE:
            given = meta.get(name) or {}
            if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
                raise _Unusable(f"{where}: metadata.{name} must be of type object with strings as values")
    return converted


def _fixed(meta: Object) -> Object:
    return {name: value for name, value in meta.items() if name not in _MAY_CHANGE and value not in (None, {}, [], "")}
