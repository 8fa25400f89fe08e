"""From a request's body to an object: parsed, of the right kind, typed; and what was odd about it.

`fieldValidation` decides what becomes of unknown and duplicate fields: Strict refuses, Warn says so in a header, Ignore is silent.
In each case an unknown field is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate import errors
from probate.machinery import builtin, documents
from probate.machinery.catalog import Resource
from probate.machinery.documents import Document
from probate.machinery.gvk import GroupVersion
from probate.machinery.protobuf import decode
from probate.machinery.schema import Schema
from probate.machinery.typed import MAX_UNKNOWN
from probate.server import negotiation
from probate.server.rules.contract import Rules, Typed


class Read(NamedTuple):
    """An object, and warnings for the client."""

    object: dict[str, Any]
    warnings: tuple[str, ...]


def parse(body: bytes, media: str, *, finds_duplicates: bool = False) -> Document:
    """The value in a body of this media type."""
    negotiation.check_is_object_form(media)
    if not body or body.isspace():
        raise errors.BadRequest("the body is empty, and an object was expected")
    if media == negotiation.PROTOBUF:
        return Document(decode.decode(body, _schema), [])
    parser = documents.parse_yaml if negotiation.is_yaml(media) else documents.parse_json
    return parser(body, finds_duplicates=finds_duplicates)


def _schema(api_version: str, kind: str) -> Schema | None:
    return builtin.schema(*GroupVersion.parse(api_version), kind)


def read_object(body: bytes, media: str, resource: Resource, rules: Rules, field_validation: str) -> Read:
    """The object in a body that was sent to this resource."""
    if resource.is_custom and media == negotiation.PROTOBUF:
        raise negotiation.unsupported(media)
    document = parse(body, media, finds_duplicates=field_validation != "Ignore")
    if not isinstance(document.value, dict):
        raise errors.BadRequest("the body must be an object")
    check_kind(document.value, resource)
    typed = Typed(document.value, []) if rules.fits(document.value) else rules.read(document.value)
    return _told(typed, field_validation, duplicates=document.duplicates)


def typed_object(value: dict[str, Any], rules: Rules, field_validation: str) -> Read:
    """The value as an object of this kind."""
    return _told(rules.read(value), field_validation, duplicates=[])


def _told(typed: Typed, field_validation: str, *, duplicates: list[str]) -> Read:
    """The object, and what was odd about it."""
    object_, unknown = typed
    meta = object_.setdefault("metadata", {})
    if not unknown and not duplicates and "ownerReferences" not in meta:
        return Read(object_, ())
    odd = [f'unknown field "{path}"' for path in unknown] + [f'duplicate field "{path}"' for path in duplicates]
    if odd and field_validation == "Strict":
        raise errors.BadRequest(f"strict decoding error: {', '.join(odd)}")
    return Read(object_, (*(odd if field_validation == "Warn" else ()), *_without_repeated_owners(meta)))


def _without_repeated_owners(meta: dict[str, Any]) -> Iterator[str]:
    """Drop owner references that say nothing new, and tell."""
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
    """`BadRequest` if the object says that it is of another kind than the resource's."""
    kind, version = value.get("kind") or "", value.get("apiVersion") or ""
    if not isinstance(kind, str) or not isinstance(version, str):
        raise errors.BadRequest("the object's apiVersion and kind must be texts")
    if (kind and kind != resource.kind) or (version and version != str(resource.group_version)):
        raise errors.BadRequest(
            f"the object is a {version or '?'} {kind or '?'}, but what is served here is {resource.group_version} {resource.kind}"
        )
    if resource.is_custom and not (kind and version):
        raise errors.BadRequest("the object must say its apiVersion and kind")
