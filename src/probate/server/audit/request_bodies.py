"""What bodies say, for the audit log: read on its thread, within limits, and without what is never written down.

A body that cannot be read was refused for that, and is left out; so is one that is too large, and the event says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import orjson

from probate.api import documents
from probate.api.audit.audit_event import NOBODY, Known
from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode
from probate.server.codec import negotiation

MAX_BYTES = 1024 * 1024
MAX_YAML_BYTES = 64 * 1024
"""Of bodies that are written down. (YAML takes a hundred times as long to read.)"""


class Body(NamedTuple):
    """What was sent, and as what."""

    content: bytes
    media: str = negotiation.JSON


class Unreadable(Exception):
    """Nobody can tell what the body says."""


class TooLarge(Exception):
    """It is not read for its size."""


def value(body: Body) -> Any:
    """What the body says."""
    if len(body.content) > MAX_BYTES:
        raise TooLarge
    try:
        return _value(body)
    except (errors.ApiError, orjson.JSONDecodeError, ValueError, RecursionError):
        raise Unreadable from None


def _value(body: Body) -> Any:
    if body.media == negotiation.PROTOBUF:
        return decode.decode(body.content, _schema)
    if body.media.endswith("yaml"):
        return _yaml(body.content)
    return documents.parse_json(body.content, finds_duplicates=False).value


def _yaml(content: bytes) -> Any:
    try:
        return documents.parse_json(content, finds_duplicates=False).value  # as most who say YAML write it
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


_head = msgspec.json.Decoder(_Head)


def known(body: Body) -> Known:
    """Which object an answer is about, read without the rest."""
    try:
        head = _head.decode(body.content)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is no JSON, or no object
        return NOBODY
    if head.kind == "Status":
        return NOBODY if head.details is None else Known(head.details.name, uid=head.details.uid)
    meta = head.metadata
    return NOBODY if meta is None else Known(meta.name, meta.namespace, meta.uid, meta.resource_version)
