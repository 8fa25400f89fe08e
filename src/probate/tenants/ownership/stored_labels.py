"""Reads and sets the tenant's label in stored values, without decoding the rest of the object.

A stored value is the JSON of an object (`server.codec.object_codec`). A value that is none has no label.
"""

from __future__ import annotations

import msgspec
import orjson

from probate.api import tenants
from probate.api.tenants import TENANT_LABEL
from probate.core import errors

LABEL_BYTES = f'"{TENANT_LABEL}"'.encode()
"""What every value with the label contains. (With the quotes, the search takes half the time.)"""
_CLAIM_BYTES = b'"claimRef"'


class _Meta(msgspec.Struct):
    labels: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta | None = None


class _Claim(msgspec.Struct):
    namespace: str = ""


class _VolumeSpec(msgspec.Struct):
    claim: _Claim | None = msgspec.field(default=None, name="claimRef")


class _Volume(msgspec.Struct):
    spec: _VolumeSpec | None = None


_objects = msgspec.json.Decoder(_Object)
_volumes = msgspec.json.Decoder(_Volume)


def tenant_of(value: bytes) -> str:
    """Returns the tenant that the label of an object names; empty if it has none."""
    if LABEL_BYTES not in value:
        return ""
    try:
        metadata = _objects.decode(value).metadata
    except msgspec.DecodeError:  # also of a ValidationError
        return ""
    return (metadata.labels or {}).get(TENANT_LABEL, "") if metadata is not None else ""


def with_tenant(value: bytes, tenant: str) -> bytes:
    """Returns the value with the label. Raises `BadRequest` if it is not the JSON of an object."""
    try:
        object_ = orjson.loads(value)
        metadata = object_["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), TENANT_LABEL: tenant}
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise errors.BadRequest("the value of a tenant's object must be the JSON of an object with metadata") from error
    return orjson.dumps(object_)


def claiming_tenant(value: bytes) -> str:
    """Returns the tenant whose namespace has the claim of a PersistentVolume, if that tenant exists; empty if there can be none."""
    if _CLAIM_BYTES not in value:
        return ""
    try:
        spec = _volumes.decode(value).spec
    except msgspec.DecodeError:
        return ""
    return tenants.id_in_name(spec.claim.namespace) if spec is not None and spec.claim is not None else ""
