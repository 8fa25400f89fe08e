"""Decodes bodies for the audit log, on its thread and within size limits.

A body that cannot be decoded is left out, since the request was refused for it. A body that is too large is left out too, and the
event says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import orjson

from probate.api.audit.audit_event import NO_OBJECT, ObjectRef
from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.api.serialization import documents
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode
from probate.server.codec import negotiation

MAX_BYTES = 1024 * 1024
MAX_YAML_BYTES = 64 * 1024
"""Limits the bodies that are recorded. (YAML takes a hundred times as long to read as JSON.)"""


class Body(NamedTuple):
    """The content of a body and its media type."""

    content: bytes
    media: str = negotiation.JSON


class Unreadable(Exception):
    """The body cannot be decoded."""


class TooLarge(Exception):
    """The body is too large to be decoded."""


def decode_body(body: Body) -> Any:
    """Returns the content of the body. Raises `TooLarge` or `Unreadable`."""
    if len(body.content) > MAX_BYTES:
        raise TooLarge
    try:
        return _decode_body(body)
    except (errors.ApiError, orjson.JSONDecodeError, ValueError, RecursionError):
        raise Unreadable from None


def _decode_body(body: Body) -> Any:
    if body.media == negotiation.PROTOBUF:
        return decode.decode(body.content, _schema)
    if body.media.endswith("yaml"):
        return _decode_yaml(body.content)
    return documents.parse_json(body.content, finds_duplicates=False).value


def _decode_yaml(content: bytes) -> Any:
    try:
        return documents.parse_json(content, finds_duplicates=False).value  # most clients that say YAML send JSON
    except errors.ApiError:
        if len(content) > MAX_YAML_BYTES:
            raise TooLarge from None
    return documents.parse_yaml(content, finds_duplicates=False).value


def _schema(api_version: str, kind: str) -> Schema | None:
    return catalog.schema(*GroupVersion.parse(api_version), kind)


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Details(msgspec.Struct, gc=False):
    name: str = ""
    uid: str = ""


class _Head(msgspec.Struct, gc=False):
    kind: str = ""
    metadata: _Meta | None = None
    details: _Details | None = None


_head_decoder = msgspec.json.Decoder(_Head)


def object_info(body: Body) -> ObjectRef:
    """Returns which object an answer is about. Decodes only the fields that it needs."""
    try:
        head = _head_decoder.decode(body.content)
    except (msgspec.DecodeError, UnicodeDecodeError):  # not JSON, or not an object
        return NO_OBJECT
    if head.kind == "Status":
        return NO_OBJECT if head.details is None else ObjectRef(head.details.name, uid=head.details.uid)
    meta = head.metadata
    return NO_OBJECT if meta is None else ObjectRef(meta.name, meta.namespace, meta.uid, meta.resource_version)
