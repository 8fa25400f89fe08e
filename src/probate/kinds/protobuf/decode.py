"""Decodes a body in Kubernetes' protobuf encoding into the dict that the same object's JSON would have given.

Four magic bytes identify the encoding; then comes a message that names the kind and holds the object as bytes:

    k8s\\0  Unknown { typeMeta = 1 { apiVersion = 1, kind = 2 }, raw = 2, contentEncoding = 3, contentType = 4 }

Only built-in kinds have this encoding. The caller decides what a missing apiVersion or kind means: `resolve` gets them unchanged,
also when empty. Bodies are untrusted: any input that cannot be decoded raises `BadRequest`, and time and memory are proportional to
its size. The receiver limits the size of bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api.schema.node import Schema
from probate.api.serialization import documents
from probate.core import errors
from probate.kinds.protobuf import field_numbers, messages
from probate.lib import protobuf

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_JSON = "application/json"


class Envelope(NamedTuple):
    """The kind and the content type of a body, and its object, not yet decoded."""

    api_version: str
    kind: str
    raw: bytes
    content_encoding: str
    content_type: str


def decode(
    body: bytes,
    resolve: Callable[[str, str], Schema | None],
    *,
    on_unknown: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Returns the object in this body. `resolve` returns the schema of an apiVersion and kind.

    Unknown fields are skipped, as in Kubernetes; `on_unknown` is called with the path of each. Raises `BadRequest` if the body
    cannot be decoded, and `UnsupportedMediaType` if the kind has no protobuf encoding.
    """
    envelope = parse_envelope(body)
    if envelope.content_type == _JSON:
        return _json(envelope.raw)
    schema = resolve(envelope.api_version, envelope.kind)
    if schema is None:
        raise errors.BadRequest(f'no kind "{envelope.kind}" is registered for version "{envelope.api_version}"')
    if field_numbers.fields_of(schema.name) is None:
        raise errors.UnsupportedMediaType(f'kind "{envelope.kind}" has no protobuf form: send it as {_JSON}')
    named = {"apiVersion": envelope.api_version, "kind": envelope.kind}
    return {key: text for key, text in named.items() if text} | messages.decode(envelope.raw, schema, on_unknown)


def parse_envelope(body: bytes) -> Envelope:
    """Returns the envelope of a body, after checking it."""
    if not body.startswith(_MAGIC):
        raise errors.BadRequest(f"the body is not Kubernetes protobuf: it does not begin with the bytes {_MAGIC.hex(' ')}")
    try:
        outer = protobuf.fields(body[len(_MAGIC) :])
        type_meta = protobuf.fields(outer.message(1))
    except protobuf.Malformed as error:
        raise errors.BadRequest(f"the body is not valid protobuf: {error}") from None
    envelope = Envelope(_text(type_meta, 1), _text(type_meta, 2), outer.chunk(2), _text(outer, 3), _text(outer, 4))
    if envelope.content_encoding:
        raise errors.BadRequest(f'content encoding "{envelope.content_encoding}" is not supported: leave it empty')
    if envelope.content_type not in {"", MEDIA_TYPE, _JSON}:
        raise errors.BadRequest(f'content type "{envelope.content_type}" is not supported: use {MEDIA_TYPE} or {_JSON}')
    return envelope


def _json(raw: bytes) -> dict[str, Any]:
    value = documents.parse_json(raw, finds_duplicates=False).value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body contains JSON but no object")
    return value


def _text(fields: protobuf.Fields, number: int) -> str:
    return fields.chunk(number).decode(errors="replace")
