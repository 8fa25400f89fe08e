"""Which form a client wants to be answered in, and which form it sent.

JSON is what is spoken; built-in kinds, and metadata alone, can also be had in Kubernetes' protobuf. A client may ask for a `Table`
(what `kubectl get` shows) or for metadata alone; a list of wishes is taken in its order (the `q` of each, then those that name a
form before those that take any), and `NotAcceptable` says that none can be had.
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
"""Of an `Accept` header. It is parsed on the event loop, for each request that has it."""


class Form(NamedTuple):
    """A form that can be had.

    `shape` is empty for whole objects, and `version` is that of meta.k8s.io. Rows of a table have `included` of their objects.
    """

    is_yaml: bool = False
    shape: str = ""
    version: tables.Version = "v1"
    is_pretty: bool = False
    included: tables.IncludeObject = "Metadata"
    is_protobuf: bool = False


PLAIN = Form()


def accepted(header: bytes, *, has_tables: bool = True, has_protobuf: bool = False) -> Form:
    """The first of the client's wishes, its `Accept`, that can be met. Whole objects of some kinds have no protobuf form."""
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
    """The form of what has only one shape, whichever the client wishes for. (What it can read besides is not looked at.)"""
    _check_length(header)
    wishes = _wishes(header) if header and header != _PLAIN else []
    for wish in wishes:
        if wish.media in _YAMLS or wish.media in _JSONS or wish.media == PROTOBUF:
            return Form(is_yaml=wish.media in _YAMLS)
    return accepted(header) if wishes else PLAIN


def of_refusal(header: bytes) -> Form:
    """The form that a client would rather have if something goes wrong. All kinds have that in common."""
    if len(header) > MAX_BYTES or (b"yaml" not in header and PROTOBUF.encode() not in header):
        return PLAIN
    return _accepted(header, has_tables=True, has_protobuf=True) or PLAIN


def _check_length(header: bytes) -> None:
    if len(header) > MAX_BYTES:
        raise errors.BadRequest(f"the Accept header may not be more than {MAX_BYTES} bytes")


def check_suits(form: Form, verb: str) -> None:
    """`NotAcceptable` if metadata were asked for as those of a list where there is one object, or the other way round."""
    if form.shape == _METADATA and verb == "list":
        raise errors.NotAcceptable(f"you requested {_METADATA}, but the requested object is a list: ask for {_METADATA}List")
    if form.shape == f"{_METADATA}List" and verb in _OF_ONE:
        raise errors.NotAcceptable(f"you requested {_METADATA}List, but the requested object is not a list: ask for {_METADATA}")


class _Wish(NamedTuple):
    """One of the forms that a client would take."""

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


def _wishes(header: bytes) -> list[_Wish]:
    """What a client would take, what it would rather have first."""
    found = []
    for wish in header.decode("latin-1").split(","):
        media, *parameters = (part.strip() for part in wish.split(";"))
        found.append(_Wish(media, dict(part.split("=", 1) for part in parameters if "=" in part)))
    return sorted(found, key=lambda one: one.rank) if len(found) > 1 else found


def _accepted(header: bytes, has_tables: bool, has_protobuf: bool) -> Form | None:
    for wish in _wishes(header):
        form = _form(wish.media, wish.given)
        is_one = form is not None and (has_tables or form.shape != _TABLE)
        if is_one and form is not None and (has_protobuf or form.shape or not form.is_protobuf):
            return form
    return None


_known = functools.lru_cache(maxsize=MAX_KNOWN)(_accepted)
"""Clients wish for the same again and again."""


def _form(media: str, given: dict[str, str]) -> Form | None:
    is_yaml, is_protobuf = media in _YAMLS, media == PROTOBUF
    if not is_yaml and not is_protobuf and media not in _JSONS:
        return None
    shape = given.get("as", "")
    if not shape:
        return Form(is_yaml=is_yaml, is_protobuf=is_protobuf)
    if shape == _TABLE and is_protobuf:  # tables have no such form
        return None
    if shape in _SHAPES and given.get("g") == "meta.k8s.io" and given.get("v") in {"v1", "v1beta1"}:
        version: tables.Version = "v1" if given["v"] == "v1" else "v1beta1"
        return Form(is_yaml=is_yaml, shape=shape, version=version, is_protobuf=is_protobuf)
    return None


def media_type(header: bytes) -> str:
    """The media type of a `Content-Type`, without its parameters; JSON if none was given."""
    if not header or header == _PLAIN:
        return JSON
    return header.decode("latin-1").partition(";")[0].strip().lower() or JSON


def check_is_object_form(media: str) -> None:
    """`UnsupportedMediaType` unless an object can be read from this form."""
    if media not in {JSON, PROTOBUF} and media not in _YAMLS:
        raise unsupported(media)


def unsupported(media: str) -> errors.UnsupportedMediaType:
    """No object can be read from this form."""
    return errors.UnsupportedMediaType(
        f"the body of the request was in an unknown format ({media}) - accepted media types include: "
        f"{JSON}, {YAML} and, for built-in kinds, {PROTOBUF}"
    )


def is_yaml(media: str) -> bool:
    """Whether a body of this media type is YAML."""
    return media in _YAMLS
