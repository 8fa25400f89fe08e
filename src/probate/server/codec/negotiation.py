"""Content negotiation: determines the media type of the response and of the request body.

The default is JSON; built-in kinds and metadata-only objects are also available in Kubernetes' protobuf. A client can request a
`Table` (which `kubectl get` displays) or metadata only. The media types of an Accept header are tried in the order of their `q`
values, specific types before wildcards; if none is available, the response is `NotAcceptable`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from probate.core import errors
from probate.kinds import tables

JSON = "application/json"
_PLAIN = JSON.encode()
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTOBUF_WATCH = f"{PROTOBUF};stream=watch"
_YAMLS = {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}
_JSONS = {JSON, "*/*", "application/*"}
_TABLE, _METADATA = "Table", "PartialObjectMetadata"
_SHAPES = {_TABLE, _METADATA, f"{_METADATA}List"}
_OF_ONE = {"get", "watch", "create", "update", "patch"}
MAX_KNOWN, MAX_KNOWN_BYTES = 50, 500
MAX_BYTES = 8192
"""Maximum size of an `Accept` header, which the event loop parses for each request that has one."""


class Form(NamedTuple):
    """A response format.

    `shape` is empty for whole objects, and `version` is that of meta.k8s.io. Table rows contain `included` of their objects.
    """

    is_yaml: bool = False
    shape: str = ""
    version: tables.Version = "v1"
    is_pretty: bool = False
    included: tables.IncludeObject = "Metadata"
    is_protobuf: bool = False


PLAIN = Form()


def accepted(header: bytes, *, has_tables: bool = True, has_protobuf: bool = False) -> Form:
    """Returns the first acceptable format that is available. Whole objects of some kinds have no protobuf format."""
    if not header or header == _PLAIN:
        return PLAIN
    _check_length(header)
    form = (_known if len(header) <= MAX_KNOWN_BYTES else _accepted)(header, has_tables, has_protobuf)
    if form is not None:
        return form
    raise errors.NotAcceptable(
        f"only the following media types are accepted: {JSON}, {YAML}, {JSON};as=Table;g=meta.k8s.io;v=v1, "
        f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1" + (f", {PROTOBUF}" if has_protobuf else "")
    )


def of_document(header: bytes) -> Form:
    """Returns the format of a document with a single shape. Ignores all parameters of the media types."""
    _check_length(header)
    accepted_types = _parse_accept(header) if header and header != _PLAIN else []
    for accepted_type in accepted_types:
        if accepted_type.media in _YAMLS or accepted_type.media in _JSONS or accepted_type.media == PROTOBUF:
            return Form(is_yaml=accepted_type.media in _YAMLS)
    return accepted(header) if accepted_types else PLAIN


def of_refusal(header: bytes) -> Form:
    """Returns the preferred format of an error response. All kinds share it."""
    if len(header) > MAX_BYTES or (b"yaml" not in header and PROTOBUF.encode() not in header):
        return PLAIN
    return _accepted(header, has_tables=True, has_protobuf=True) or PLAIN


def _check_length(header: bytes) -> None:
    if len(header) > MAX_BYTES:
        raise errors.BadRequest(f"the Accept header may not be more than {MAX_BYTES} bytes")


def check_suits(form: Form, verb: str) -> None:
    """Raises `NotAcceptable` if the client requests list metadata for a single object, or object metadata for a list."""
    if form.shape == _METADATA and verb == "list":
        raise errors.NotAcceptable(f"you requested {_METADATA}, but the requested object is a list: ask for {_METADATA}List")
    if form.shape == f"{_METADATA}List" and verb in _OF_ONE:
        raise errors.NotAcceptable(f"you requested {_METADATA}List, but the requested object is not a list: ask for {_METADATA}")


class _AcceptedType(NamedTuple):
    """One media type of an Accept header."""

    media: str
    given: dict[str, str]

    @property
    def rank(self) -> tuple[float, bool, bool]:
        sort, _, rest = self.media.partition("/")
        return -_weight(self.given.get("q", "")), sort == "*", rest == "*"


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _parse_accept(header: bytes) -> list[_AcceptedType]:
    """Returns the media types of an Accept header by preference."""
    found = []
    for accepted_type in header.decode("latin-1").split(","):
        media, *parameters = (part.strip() for part in accepted_type.split(";"))
        found.append(_AcceptedType(media, dict(part.split("=", 1) for part in parameters if "=" in part)))
    return sorted(found, key=lambda one: one.rank) if len(found) > 1 else found


def _accepted(header: bytes, has_tables: bool, has_protobuf: bool) -> Form | None:
    for accepted_type in _parse_accept(header):
        form = _form(accepted_type.media, accepted_type.given)
        is_one = form is not None and (has_tables or form.shape != _TABLE)
        if is_one and form is not None and (has_protobuf or form.shape or not form.is_protobuf):
            return form
    return None


_known = functools.lru_cache(maxsize=MAX_KNOWN)(_accepted)
"""Fast path: caches the parsed header, because clients send the same Accept headers repeatedly."""


def _form(media: str, given: dict[str, str]) -> Form | None:
    is_yaml, is_protobuf = media in _YAMLS, media == PROTOBUF
    if not is_yaml and not is_protobuf and media not in _JSONS:
        return None
    shape = given.get("as", "")
    if not shape:
        return Form(is_yaml=is_yaml, is_protobuf=is_protobuf)
    if shape == _TABLE and is_protobuf:  # tables have no protobuf format
        return None
    if shape in _SHAPES and given.get("g") == "meta.k8s.io" and given.get("v") in {"v1", "v1beta1"}:
        version: tables.Version = "v1" if given["v"] == "v1" else "v1beta1"
        return Form(is_yaml=is_yaml, shape=shape, version=version, is_protobuf=is_protobuf)
    return None


def media_type(header: bytes) -> str:
    """Returns the media type of a `Content-Type` without its parameters; JSON by default."""
    if not header or header == _PLAIN:
        return JSON
    return header.decode("latin-1").partition(";")[0].strip().lower() or JSON


def check_is_object_form(media: str) -> None:
    """Raises `UnsupportedMediaType` if objects cannot be decoded from this media type."""
    if media not in {JSON, PROTOBUF} and media not in _YAMLS:
        raise unsupported(media)


def unsupported(media: str) -> errors.UnsupportedMediaType:
    """Returns the error for a media type from which objects cannot be decoded."""
    return errors.UnsupportedMediaType(
        f"the body of the request was in an unknown format ({media}) - accepted media types include: "
        f"{JSON}, {YAML} and, for built-in kinds, {PROTOBUF}"
    )


def is_yaml(media: str) -> bool:
    """Returns whether the media type is YAML."""
    return media in _YAMLS
