"""Which form a client wants to be answered in, and which form it sent.

JSON is what is spoken; built-in kinds, and metadata alone, can also be had in Kubernetes' protobuf. A client may ask for a `Table`
(what `kubectl get` shows) or for metadata alone; a list of wishes is taken in its order, and `NotAcceptable` says that none can be
had.
"""

from __future__ import annotations

from typing import NamedTuple

from probate import errors
from probate.machinery.tables import table

JSON = "application/json"
_PLAIN = JSON.encode()
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTOBUF_WATCH = f"{PROTOBUF};stream=watch"
_YAMLS = {"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"}
_METADATA = "PartialObjectMetadata"
_SHAPES = {"Table", _METADATA, f"{_METADATA}List"}
_OF_ONE = {"get", "watch", "create", "update", "patch"}
_META_VERSIONS = {"v1", "v1beta1"}


class Form(NamedTuple):
    """A form that can be had.

    `shape` is empty for whole objects, and `version` is that of meta.k8s.io. Rows of a table have `included` of their objects.
    """

    is_yaml: bool = False
    shape: str = ""
    version: str = "v1"
    is_pretty: bool = False
    included: table.IncludeObject = "Metadata"
    is_protobuf: bool = False


PLAIN = Form()


def accepted(header: bytes, *, has_protobuf: bool = False) -> Form:
    """The first of the client's wishes, its `Accept`, that can be met. Whole objects of some kinds have no protobuf form."""
    if not header or header == _PLAIN:
        return PLAIN
    for wish in header.decode("latin-1").split(","):
        form = _form(wish)
        if form is not None and (has_protobuf or form.shape or not form.is_protobuf):
            return form
    raise errors.NotAcceptable(
        f"only the following media types are accepted: {JSON}, {YAML}, {JSON};as=Table;g=meta.k8s.io;v=v1, "
        f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1" + (f", {PROTOBUF}" if has_protobuf else "")
    )


def prefers_protobuf(header: bytes) -> bool:
    """Whether a refusal, which all kinds have in common, is wanted in protobuf."""
    if PROTOBUF.encode() not in header:
        return False
    try:
        return accepted(header, has_protobuf=True).is_protobuf
    except errors.NotAcceptable:
        return False


def check_suits(form: Form, verb: str) -> None:
    """`NotAcceptable` if metadata were asked for as those of a list where there is one object, or the other way round."""
    if form.shape == _METADATA and verb == "list":
        raise errors.NotAcceptable(f"you requested {_METADATA}, but the requested object is a list: ask for {_METADATA}List")
    if form.shape == f"{_METADATA}List" and verb in _OF_ONE:
        raise errors.NotAcceptable(f"you requested {_METADATA}List, but the requested object is not a list: ask for {_METADATA}")


def _form(wish: str) -> Form | None:
    media, *parameters = (part.strip() for part in wish.split(";"))
    given = dict(part.split("=", 1) for part in parameters if "=" in part)
    is_yaml, is_protobuf = media in _YAMLS, media == PROTOBUF
    if not is_yaml and not is_protobuf and media not in {JSON, "*/*", "application/*"}:
        return None
    shape = given.get("as", "")
    if not shape:
        return Form(is_yaml=is_yaml, is_protobuf=is_protobuf)
    if shape == "Table" and is_protobuf:  # tables have no such form
        return None
    if shape in _SHAPES and given.get("g") == "meta.k8s.io" and given.get("v") in _META_VERSIONS:
        return Form(is_yaml=is_yaml, shape=shape, version=given["v"], is_protobuf=is_protobuf)
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
