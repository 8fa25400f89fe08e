"""Objects between the store and the wire, as bytes wherever nobody has to look inside.

A stored value is the object's JSON less what depends on who asks: `apiVersion` and `kind` (a kind may be served in several
versions) and the resourceVersion (the store knows it). It always begins with its metadata, so those are spliced in:

    stored     {"metadata":{"name":"x","uid":"u"},"data":{"k":"v"}}                                         at revision 7
    answered   {"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}
    in a list  {"metadata":{"resourceVersion":"7","name":"x","uid":"u"},"data":{"k":"v"}}    (custom kinds: like answered)

A kind of which several versions differ in shape is stored in one of them. Whoever changes an object changes that one (`loaded`);
the others are made when an answer is written.
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec
import orjson

from probate.machinery.catalog import Resource
from probate.machinery.conversion import table as conversion
from probate.machinery.gvk import GroupVersion
from probate.machinery.ownership import Meta
from probate.store.contract import NOTHING, Record, Revision

_START = b'{"metadata":{'
_SKIP = len(_START)


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
    try:
        found = _generations.decode(value)
    except msgspec.ValidationError:  # a custom kind's status can be anything
        return False
    observed = found.status.observed_generation if found.status is not None else None
    return observed is not None and observed < found.metadata.generation


def stored(object_: dict[str, Any]) -> bytes:
    """The object as it is stored."""
    metadata = {name: value for name, value in object_["metadata"].items() if name != "resourceVersion"}
    rest = {name: value for name, value in object_.items() if name not in {"metadata", "apiVersion", "kind"}}
    return orjson.dumps({"metadata": metadata, **rest})


def loaded(record: Record, resource: Resource) -> dict[str, Any]:
    """The object as a value, in the version that is stored."""
    value: dict[str, Any] = orjson.loads(record.value)
    value["metadata"]["resourceVersion"] = str(record.revision)
    about = resource.stored_as or resource
    return {"kind": about.kind, "apiVersion": str(about.group_version), **value}


def served(record: Record, resource: Resource) -> dict[str, Any]:
    """The object as a value, in the resource's version."""
    value = loaded(record, resource)
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
    if revision == NOTHING:
        return b"%b%b" % (_opening(resource.group, resource.version, resource.kind), value[1:])
    return b'%b"metadata":{"resourceVersion":"%d",%b' % (
        _opening(resource.group, resource.version, resource.kind),
        revision,
        value[_SKIP:],
    )


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
