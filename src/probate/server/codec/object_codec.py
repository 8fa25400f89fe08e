"""Converts objects between their stored form and the wire, as bytes wherever the content is not needed.

A stored value is the object's JSON without everything that depends on the request: `apiVersion` and `kind` (a kind can be served in
several versions) and the resourceVersion (the store knows it). It always starts with the metadata, so these fields are spliced in:

    stored     {"metadata":{"name":"x","uid":"u"},"data":{"k":"v"}}                                         at revision 7
    response   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}
    list item  {"metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}    (custom resources: like response)

A kind whose versions differ in shape is stored in one of them. Updates change the stored version (`loaded`); the other versions are
created when a response is written. If a webhook converts a custom resource, the stored object ends with its version, because the
storage version can change with the CustomResourceDefinition:

    stored     {"metadata":{"name":"x","uid":"u"},"spec":{"k":"v"},"apiVersion":"example.com/v1"}
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import msgspec
import orjson

from probate.api.catalog import Resource
from probate.api.gvk import GroupVersion
from probate.api.ownership import ObjectMeta
from probate.kinds import conversion
from probate.store.contract import NO_REVISION, Event, Record, Revision

_START = b'{"metadata":{'
_SKIP = len(_START)


_MARK = b',"apiVersion":"'
_MAX_MARK = 400


class StoredVersion(str):
    """An apiVersion that is stored with its object."""

    __slots__ = ()


class _Head(msgspec.Struct):
    metadata: ObjectMeta


_head = msgspec.json.Decoder(_Head)


def meta(value: bytes) -> ObjectMeta:
    """Decodes the metadata of a stored value and skips the rest."""
    return _head.decode(value).metadata


class _Observed(msgspec.Struct, rename="camel"):
    observed_generation: int | None = None


class _Generations(msgspec.Struct):
    metadata: ObjectMeta
    status: _Observed | None = None


_generations = msgspec.json.Decoder(_Generations)


def is_unobserved(value: bytes) -> bool:
    """Returns whether the status shows that the controller has not observed the newest generation yet."""
    if b'"observedGeneration"' not in value:
        return False
    try:
        found = _generations.decode(value)
    except msgspec.ValidationError:  # the status of a custom resource can have any type
        return False
    observed = found.status.observed_generation if found.status is not None else None
    return observed is not None and observed < found.metadata.generation


def stored(object_: dict[str, Any]) -> bytes:
    """Returns the stored form of an object."""
    metadata = object_["metadata"]
    if "resourceVersion" in metadata:
        metadata = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    rest = {name: value for name, value in object_.items() if name not in {"metadata", "apiVersion", "kind"}}
    version = object_.get("apiVersion")
    if type(version) is StoredVersion:
        rest["apiVersion"] = version
    return orjson.dumps({"metadata": metadata, **rest})


def mark(value: bytes) -> str:
    """Returns the apiVersion at the end of a stored value; empty if it has none."""
    at = value.rfind(_MARK, -_MAX_MARK) if value.endswith(b'"}') else -1
    version = value[at + len(_MARK) : -2] if at >= 0 else b""
    return "" if b'"' in version else version.decode()


def marked(value: bytes, version: str) -> bytes:
    """Appends the apiVersion to a stored value."""
    return b'%b%b%b"}' % (value[:-1], _MARK, version.encode())


def with_type_meta(value: bytes, kind: str, version: str) -> bytes:
    """Prepends kind and apiVersion to a stored value."""
    return b'{"kind":"%b","apiVersion":"%b",%b' % (kind.encode(), version.encode(), value[1:])


def unmarked(record: Record) -> Record:
    """Returns the record without the apiVersion at the end of its value."""
    return Record(record.key, _unmarked(record.value), record.revision)


def _unmarked(value: bytes) -> bytes:
    version = mark(value)
    return value[: -len(_MARK) - len(version.encode()) - 2] + b"}" if version else value


def loaded(record: Record, resource: Resource) -> dict[str, Any]:
    """Decodes an object in its stored version."""
    value: dict[str, Any] = orjson.loads(record.value)
    value["metadata"]["resourceVersion"] = str(record.revision)
    about = resource.storage_gvk or resource
    version = value.pop("apiVersion", None)
    return {
        "kind": about.kind,
        "apiVersion": str(about.group_version) if version is None or not resource.is_converted else StoredVersion(version),
        **value,
    }


def served(record: Record, resource: Resource) -> dict[str, Any]:
    """Decodes an object in the version of the resource."""
    return in_version(loaded(record, resource), resource)


def in_version(value: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """Converts an object from its stored version to the version of the resource."""
    if resource.storage_gvk is None:
        return value
    about = {"kind": resource.kind, "apiVersion": str(resource.group_version)}
    return {**conversion.from_stored(resource.group_version_kind, value), **about}


def _shown(value: bytes, resource: Resource) -> bytes:
    """Converts a stored value to the version of the resource."""
    if resource.storage_gvk is None:
        return value
    return stored(conversion.from_stored(resource.group_version_kind, orjson.loads(value)))


def answered(value: bytes, revision: Revision, resource: Resource) -> bytes:
    """Encodes an object for a response or watch event. An object that was never stored has no resourceVersion."""
    if resource.storage_gvk is not None:
        value = _shown(value, resource)
    elif resource.is_custom:
        value = _unmarked(value)
    if revision == NO_REVISION:
        return b"%b%b" % (_opening(resource.group, resource.version, resource.kind), value[1:])
    return b'%b"metadata":{"resourceVersion":"%d",%b' % (
        _opening(resource.group, resource.version, resource.kind),
        revision,
        value[_SKIP:],
    )


def changes(events: Iterable[Event], resource: Resource) -> list[bytes]:
    """Encodes events for a watch without selectors."""
    is_plain = resource.storage_gvk is None and not resource.is_custom
    opening = _opening(resource.group, resource.version, resource.kind)
    lines: list[bytes] = []
    for one in events:
        value, previous = one.value, one.previous
        if value is not None:
            kind = b"ADDED" if previous is None else b"MODIFIED"
        elif previous is None:
            continue
        else:
            kind, value = b"DELETED", previous.value
        if is_plain:  # fast path: equals `event` and `answered`, in one step
            about = (kind, opening, one.revision, value[_SKIP:])
            lines.append(b'{"type":"%b","object":%b"metadata":{"resourceVersion":"%d",%b}\n' % about)
        else:
            lines.append(event(kind, answered(value, one.revision, resource)))
    return lines


def items(records: list[Record], resource: Resource) -> bytes:
    """Encodes the items of a list."""
    if resource.is_custom:
        return b",".join([answered(record.value, record.revision, resource) for record in records])
    values = [record.value if resource.storage_gvk is None else _shown(record.value, resource) for record in records]
    return b",".join(
        [
            b'{"metadata":{"resourceVersion":"%d",%b' % (one.revision, value[_SKIP:])
            for one, value in zip(records, values, strict=True)
        ]
    )


def listing(resource: Resource, items: bytes, *, revision: Revision, continue_: str = "", remaining: int | None = None) -> bytes:
    """Encodes a list."""
    about: dict[str, Any] = {"resourceVersion": str(revision)}
    if continue_:
        about["continue"] = continue_
    if remaining is not None:
        about["remainingItemCount"] = remaining
    opening = _opening(resource.group, resource.version, f"{resource.kind}List")
    return b'%b"metadata":%b,"items":[%b]}' % (opening, orjson.dumps(about), items)


@functools.lru_cache(maxsize=1024)
def _opening(group: str, version: str, kind: str) -> bytes:
    """Encodes the common start of all objects of a kind."""
    return b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), str(GroupVersion(group, version)).encode())


def event(kind: bytes, object_: bytes) -> bytes:
    """Encodes one watch event."""
    return b'{"type":"%s","object":%s}\n' % (kind, object_)
