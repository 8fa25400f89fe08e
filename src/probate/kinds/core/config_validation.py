"""Validates ConfigMaps, Secrets and ServiceAccounts: keys that are valid file names, sizes, and the data each Secret type requires.

Messages never contain the data of a Secret.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable

import msgspec

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, required, too_long
from probate.kinds.shared.field_checks import Problems, Value, check_unchanged, child, text

MAX_BYTES = 1024 * 1024

_DATA = FieldPath("data")
_REDACTED = "<secret contents redacted>"
_FROZEN = "field is immutable when `immutable` is set"
_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def check_config_map(config_map: Value) -> Problems:
    """Validates a ConfigMap."""
    data, binary = child(config_map, "data"), child(config_map, "binaryData")
    yield from _check_keys(data, _DATA)
    if binary:
        yield from _check_keys(binary, FieldPath("binaryData"))
        yield from (invalid(_DATA @ key, key, "duplicate of key present in binaryData") for key in binary if key in data)
    if _are_over(data, MAX_BYTES - sum(map(_decoded_size, binary.values()))):
        yield too_long(FieldPath(), MAX_BYTES)


def check_secret(secret: Value) -> Problems:
    """Validates a Secret."""
    data = _data_of(secret)
    yield from _check_keys(data, _DATA)
    if sum(len(value) for value in data.values()) > MAX_BYTES:
        yield too_long(_DATA, MAX_BYTES)
    kind = text(secret, "type")
    if kind in _DOCKER:
        yield from _check_docker(data, _DOCKER[kind])
    else:
        yield from _check_type(kind, data, secret)


def update_config_map(new: Value, old: Value) -> Problems:
    """Validates that an immutable ConfigMap stays immutable and keeps its data."""
    yield from _check_frozen(new, old, ("data", "binaryData"))


def update_secret(new: Value, old: Value) -> Problems:
    """Validates that a Secret keeps its type, and that an immutable one stays immutable and keeps its data."""
    yield from check_unchanged(new.get("type"), old.get("type"), FieldPath("type"))
    yield from _check_frozen(new, old, ("data",))


def _check_keys(keys: Iterable[str], path: FieldPath) -> Problems:
    for key in keys:
        for problem in names.validate_config_key(key):
            yield invalid(path @ key, key, problem)


def _check_type(kind: str, data: dict[str, bytes], secret: Value) -> Problems:
    if kind == "kubernetes.io/service-account-token":
        if not child(child(secret, "metadata"), "annotations").get(_SERVICE_ACCOUNT):
            yield required(FieldPath("metadata") / "annotations" @ _SERVICE_ACCOUNT)
    elif kind == "kubernetes.io/basic-auth":
        if not {"username", "password"} & data.keys():
            yield from (required(_DATA @ key) for key in ("username", "password"))
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            yield required(_DATA @ "ssh-privatekey")
    elif kind == "kubernetes.io/tls":
        yield from (required(_DATA @ key) for key in ("tls.crt", "tls.key") if key not in data)


def _check_docker(data: dict[str, bytes], key: str) -> Problems:
    if key not in data:
        yield required(_DATA @ key)
        return
    try:
        is_object = isinstance(msgspec.json.decode(data[key]), dict | None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        is_object = False
    if not is_object:
        yield invalid(_DATA @ key, _REDACTED, "must be a JSON object")


def _check_frozen(new: Value, old: Value, fields: Iterable[str]) -> Problems:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden(FieldPath("immutable"), _FROZEN)
    for field in fields:  # removing an empty field is not a change; adding an empty field that was absent is one
        if new.get(field) != old.get(field) and (new.get(field) is not None or old.get(field)):
            yield forbidden(FieldPath(field), _FROZEN)


def _data_of(secret: Value) -> dict[str, bytes]:
    plain = {key: (value or "").encode(errors="replace") for key, value in child(secret, "stringData").items()}
    return {**{key: _decoded(value or "") for key, value in child(secret, "data").items()}, **plain}


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=False)
    except (binascii.Error, ValueError):
        return b""


def _are_over(data: Value, limit: int) -> bool:
    """Reports whether the values together have more than `limit` bytes. Their number of characters decides most cases."""
    texts = [value for value in data.values() if value]
    return 4 * sum(map(len, texts)) > limit and sum(len(text.encode(errors="replace")) for text in texts) > limit


def _decoded_size(value: str | None) -> int:
    return len((value or "").rstrip("=")) * 3 // 4
