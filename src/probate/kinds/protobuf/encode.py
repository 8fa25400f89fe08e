"""Encodes objects in Kubernetes' protobuf encoding, byte for byte as Kubernetes does: the reverse of `decode`.

The input is the object's JSON: a field that Go always writes is written even if the JSON does not have it. A watch is a sequence of
frames, each a length in four bytes and an event that contains the object with its envelope:

    WatchEvent { type = 1, object = 2 { raw = 1 } }
"""

from __future__ import annotations

from functools import cache
from typing import Any

from probate.api.gvk import GroupVersion
from probate.api.schema.node import Schema
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import message_writers
from probate.lib import protobuf

_MAGIC = b"k8s\x00"
_END = b"\x1a\x00\x22\x00"  # contentEncoding and contentType, both empty
_META = "io.k8s.apimachinery.pkg.apis.meta"
_GROUP = "meta.k8s.io"
_PARTIAL = "PartialObjectMetadata"


def encode(object_: dict[str, Any]) -> bytes | None:
    """Returns the object in its envelope; None if its kind has no protobuf encoding."""
    api_version, kind = object_.get("apiVersion", ""), object_.get("kind", "")
    found = _message(api_version, kind)
    return None if found is None else _opening(api_version, kind) + protobuf.chunk(2, found.write(object_)) + _END


def event(kind: bytes, object_: bytes) -> bytes:
    """Returns the frame of a watch event. `object_` is an object in its envelope."""
    written = protobuf.chunk(1, kind) + protobuf.chunk(2, protobuf.chunk(1, object_))
    return len(written).to_bytes(4, "big") + written


def schema(api_version: str, kind: str) -> Schema | None:
    """Returns the schema of a kind that a response may have."""
    group, version = GroupVersion.parse(api_version)
    if group == _GROUP and kind in {_PARTIAL, f"{_PARTIAL}List"}:
        return _partial(version, kind)
    return catalog.schema(group, version, kind)


@cache
def _message(api_version: str, kind: str) -> message_writers.Message | None:
    found = schema(api_version, kind)
    return None if found is None else message_writers.message(found)


@cache
def _opening(api_version: str, kind: str) -> bytes:
    about = protobuf.chunk(1, api_version.encode()) + protobuf.chunk(2, kind.encode())
    return _MAGIC + protobuf.chunk(1, about)


@cache
def _partial(version: str, kind: str) -> Schema:
    """Returns the schema of metadata-only objects, which OpenAPI does not define.

    (Only their list is a different type in v1beta1.)
    """
    listed = catalog.schema("", "v1", "ConfigMapList")
    assert listed is not None and listed.items is None  # noqa: S101, PT018 these kinds always exist
    items = listed.properties["items"].items
    assert items is not None  # noqa: S101
    one = Schema(type="object", name=f"{_META}.v1.{_PARTIAL}", properties={"metadata": items.properties["metadata"]})
    if kind == _PARTIAL:
        return one
    inner = {"metadata": listed.properties["metadata"], "items": Schema(type="array", items=one)}
    return Schema(type="object", name=f"{_META}.{version}.{kind}", properties=inner)
