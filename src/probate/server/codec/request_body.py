"""Decodes a request body into an object: parses it, checks its kind and types, and reports unknown and duplicate fields.

`fieldValidation` determines the treatment of unknown and duplicate fields: Strict rejects them, Warn returns a warning header,
Ignore reports nothing. In each case unknown fields are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from probate.api.catalog import Resource
from probate.api.gvk import GroupVersion
from probate.api.schema import typed
from probate.api.schema.node import Schema
from probate.api.schema.typed import MAX_UNKNOWN
from probate.api.serialization import documents
from probate.api.serialization.documents import Document
from probate.core import errors
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import decode
from probate.server.codec import field_validation as codec_field_validation
from probate.server.codec import negotiation
from probate.server.kind_rules.contract import KindRules


class Read(NamedTuple):
    """A decoded object, and the warnings for the client."""

    object: dict[str, Any]
    warnings: tuple[str, ...]


def parse(body: bytes, media: str, *, finds_duplicates: bool = False) -> Document:
    """Parses a body of this media type."""
    if not body or body.isspace():
        negotiation.check_is_object_form(media)
        raise errors.BadRequest("the body is empty, and an object was expected")
    if media == negotiation.JSON:
        return documents.parse_json(body, finds_duplicates=finds_duplicates)
    negotiation.check_is_object_form(media)
    if media == negotiation.PROTOBUF:
        return Document(decode.decode(body, _schema), [])
    return documents.parse_yaml(body, finds_duplicates=finds_duplicates)


def _schema(api_version: str, kind: str) -> Schema | None:
    return catalog.schema(*GroupVersion.parse(api_version), kind)


def read_object(body: bytes, media: str, resource: Resource, *, rules: KindRules, field_validation: str) -> Read:
    """Decodes the object in a body that was sent to this resource."""
    if media == negotiation.PROTOBUF and not resource.has_protobuf:
        raise negotiation.unsupported(media)
    document = parse(body, media, finds_duplicates=field_validation != "Ignore")
    object_, unknown = document.value, list[str]()
    if not isinstance(object_, dict):
        raise errors.BadRequest("the body must be an object")
    check_kind(object_, resource)
    if not rules.matches_exactly(object_):
        object_, unknown = rules.decode(object_)
    meta = object_.setdefault("metadata", {})
    if not unknown and not document.duplicates and "ownerReferences" not in meta:
        return Read(object_, ())
    odd = codec_field_validation.of_body(document, unknown, is_yaml=negotiation.is_yaml(media), is_custom=resource.is_custom)
    return Read(object_, (*codec_field_validation.judged(odd, field_validation, document.lines), *_drop_repeated_owners(meta)))


def command(document: Document, media: str, schema: Schema, *, field_validation: str, odd: Sequence[str] = ()) -> Read:
    """Decodes an action request that is not stored: only its schema applies. Earlier findings in `odd` are reported first."""
    reader = typed.Reader(lambda _: None)
    object_ = reader.read(document.value, schema)
    reported = codec_field_validation.of_body(document, reader.unknown, is_yaml=negotiation.is_yaml(media), is_custom=False)
    return Read(object_, codec_field_validation.judged([*odd, *reported], field_validation, document.lines))


def patched_object(
    value: dict[str, Any], resource: Resource, rules: KindRules, *, field_validation: str, odd: Sequence[str]
) -> Read:
    """Decodes the result of a patch as an object of this kind. Findings about the patch in `odd` are reported first."""
    object_, unknown = rules.decode(value)
    if unknown and not resource.is_custom:
        unknown.sort()  # as in YAML
    reported = codec_field_validation.judged([*odd, *codec_field_validation.unknown(unknown)], field_validation)
    return Read(object_, (*reported, *_drop_repeated_owners(object_.setdefault("metadata", {}))))


def _drop_repeated_owners(meta: dict[str, Any]) -> Iterator[str]:
    """Drops duplicate owner references and yields a warning about them."""
    given = meta.get("ownerReferences") or []
    if len(given) < 2:
        return
    once: dict[tuple[tuple[str, Any], ...], dict[str, Any]] = {}
    repeated = [one for one in given if once.setdefault(tuple(sorted(one.items())), one) is not one]
    if repeated:
        meta["ownerReferences"] = list(once.values())
        uids = ", ".join(dict.fromkeys(str(one.get("uid")) for one in repeated[:MAX_UNKNOWN]))
        yield f".metadata.ownerReferences contains duplicate entries, which were dropped: they refer to {uids}"


def check_kind(value: dict[str, Any], resource: Resource) -> None:
    """Raises `BadRequest` if the kind or apiVersion of the object differs from those of the resource."""
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if not isinstance(kind, str) or not isinstance(version, str):
        raise errors.BadRequest("the object's apiVersion and kind must be of type string")
    if (kind and kind != resource.kind) or (version and version != str(resource.group_version)):
        raise errors.BadRequest(
            f"the object is a {version or '?'} {kind or '?'}, but this path serves {resource.group_version} {resource.kind}"
        )
    if resource.is_custom and not (kind and version):
        raise errors.BadRequest("the object must say its apiVersion and kind")
