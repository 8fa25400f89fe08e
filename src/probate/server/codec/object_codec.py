"""Objects between the store and the wire, as bytes wherever nobody has to look inside.

A stored value is the object's JSON less what depends on who asks: `apiVersion` and `kind` (a kind may be served in several
versions) and the resourceVersion (the store knows it). It always begins with its metadata, so those are spliced in:

    stored     {"metadata":{"name":"x","uid":"u"},"data":{"k":"v"}}                                         at revision 7
    answered   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}
    in a list  {"metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}    (custom kinds: like answered)

A kind of which several versions differ in shape is stored in one of them. Whoever changes an object changes that one (`loaded`);
the others are made when an answer is written. An object of a custom kind whose versions a webhook converts says at its end in
which of them it is, since that changes with the definition:

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
from probate.api.ownership import Meta
from probate.kinds import conversion
from probate.store.contract import NOTHING, Event, Record, Revision

_START = b'{"metadata":{'
_SKIP = len(_START)


_MARK = b',"apiVersion":"'
_MAX_MARK = 400


class StoredVersion(str):
    """The apiVersion of an object that is to be stored with it."""

    __slots__ = ()


class _Head(msgspec.Struct):
    metadata: Meta


_head = msgspec.json.Decoder(_Head)


def meta(value: bytes) -> Meta:
    """The metadata of a stored value, read without the rest."""
    return _head.decode(value).metadata


class _Observed(msgspec.Struct, rename="camel"):
    observed_generation: int | None = None


class _Generations(msgspec.Struct):
    metadata: Meta
    status: _Observed | None = None


_generations = msgspec.json.Decoder(_Generations)


def is_unobserved(value: bytes) -> bool:
    """Whether the object's status says that its controller has not seen its newest generation yet."""
    if b'"observedGeneration"' not in value:
        return False
    try:
        found = _generations.decode(value)
    except msgspec.ValidationError:  # a custom kind's status can be anything
        return False
    observed = found.status.observed_generation if found.status is not None else None
    return observed is not None and observed < found.metadata.generation


def stored(object_: dict[str, Any]) -> bytes:
    """The object as it is stored."""
    metadata = object_["metadata"]
    if "resourceVersion" in metadata:
        metadata = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    rest = {name: value for name, value in object_.items() if name not in {"metadata", "apiVersion", "kind"}}
    version = object_.get("apiVersion")
    if type(version) is StoredVersion:
        rest["apiVersion"] = version
    return orjson.dumps({"metadata": metadata, **rest})


def mark(value: bytes) -> str:
    """The apiVersion that a stored value says at its end; empty if it does not."""
    at = value.rfind(_MARK, -_MAX_MARK) if value.endswith(b'"}') else -1
    version = value[at + len(_MARK) : -2] if at >= 0 else b""
    return "" if b'"' in version else version.decode()


def marked(value: bytes, version: str) -> bytes:
    """A stored value that says in which version it is."""
    return b'%b%b%b"}' % (value[:-1], _MARK, version.encode())


def whole(value: bytes, kind: str, version: str) -> bytes:
    """A stored value as an object that says what it is."""
    return b'{"kind":"%b","apiVersion":"%b",%b' % (kind.encode(), version.encode(), value[1:])


def unmarked(record: Record) -> Record:
    """The record as if it did not say in which version it is."""
    return Record(record.key, _unmarked(record.value), record.revision)


def _unmarked(value: bytes) -> bytes:
    version = mark(value)
    return value[: -len(_MARK) - len(version.encode()) - 2] + b"}" if version else value


def loaded(record: Record, resource: Resource) -> dict[str, Any]:
    """The object as a value, in the version that is stored."""
    value: dict[str, Any] = orjson.loads(record.value)
    value["metadata"]["resourceVersion"] = str(record.revision)
    about = resource.stored_as or resource
    version = value.pop("apiVersion", None)
    return {
        "kind": about.kind,
        "apiVersion": str(about.group_version) if version is None or not resource.is_converted else StoredVersion(version),
        **value,
    }


def served(record: Record, resource: Resource) -> dict[str, Any]:
    """The object as a value, in the resource's version."""
    return in_version(loaded(record, resource), resource)


def in_version(value: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """An object of the version that is stored, in the resource's."""
    if resource.stored_as is None:
        return value
    about = {"kind": resource.kind, "apiVersion": str(resource.group_version)}
    return {**conversion.served(resource.group_version_kind, value), **about}


def _shown(value: bytes, resource: Resource) -> bytes:
    """A stored value in the resource's version."""
    if resource.stored_as is None:
        return value
    return stored(conversion.served(resource.group_version_kind, orjson.loads(value)))


def answered(value: bytes, revision: Revision, resource: Resource) -> bytes:
    """The object as an answer or an event shows it. One that was never stored has no resourceVersion."""
    if resource.stored_as is not None:
        value = _shown(value, resource)
    elif resource.is_custom:
        value = _unmarked(value)
    if revision == NOTHING:
        return b"%b%b" % (_opening(resource.group, resource.version, resource.kind), value[1:])
    return b'%b"metadata":{"resourceVersion":"%d",%b' % (
        _opening(resource.group, resource.version, resource.kind),
        revision,
        value[_SKIP:],
    )


def changes(events: Iterable[Event], resource: Resource) -> list[bytes]:
    """The lines of a watch that shows everything, as it is."""
    is_plain = resource.stored_as is None and not resource.is_custom
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
        if is_plain:  # in one go what `event` and `answered` make of it
            about = (kind, opening, one.revision, value[_SKIP:])
            lines.append(b'{"type":"%b","object":%b"metadata":{"resourceVersion":"%d",%b}\n' % about)
        else:
            lines.append(event(kind, answered(value, one.revision, resource)))
    return lines


def items(records: list[Record], resource: Resource) -> bytes:
    """The objects as the items of a list."""
    if resource.is_custom:
        return b",".join([answered(record.value, record.revision, resource) for record in records])
    values = [record.value if resource.stored_as is None else _shown(record.value, resource) for record in records]
    return b",".join(
        [
            b'{"metadata":{"resourceVersion":"%d",%b' % (one.revision, value[_SKIP:])
            for one, value in zip(records, values, strict=True)
        ]
    )


def listing(resource: Resource, items: bytes, *, revision: Revision, continue_: str = "", remaining: int | None = None) -> bytes:
    """A whole list."""
    about: dict[str, Any] = {"resourceVersion": str(revision)}
    if continue_:
        about["continue"] = continue_
    if remaining is not None:
        about["remainingItemCount"] = remaining
    opening = _opening(resource.group, resource.version, f"{resource.kind}List")
    return b'%b"metadata":%b,"items":[%b]}' % (opening, orjson.dumps(about), items)


@functools.lru_cache(maxsize=1024)
def _opening(group: str, version: str, kind: str) -> bytes:
    """How everything of a kind begins."""
    return b'{"kind":"%b","apiVersion":"%b",' % (kind.encode(), str(GroupVersion(group, version)).encode())


def event(kind: bytes, object_: bytes) -> bytes:
    """A line of a watch."""
    return b'{"type":"%s","object":%s}\n' % (kind, object_)
