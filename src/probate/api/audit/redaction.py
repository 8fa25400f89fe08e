"""Redacts audit events: the content of Secrets, and tokens at every level of the policy.

Of a Secret only fields known to be harmless are kept: its name, its owners, its type, and the names of its keys. Everything else
becomes `REDACTED`: values, annotations (one may be a copy of the whole object), unknown fields, and values of an unexpected type.
The same applies to a patch of a Secret, in any format, and to lists and tables of Secrets. Of token resources everything is kept
but the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from probate.api.audit.request_info import RequestInfo
from probate.api.objects import Object

REDACTED = "[redacted]"
SECRETS = ("", "secrets")
TOKENS = {
    ("authentication.k8s.io", "tokenreviews", ""),
    ("", "serviceaccounts", "token"),
    ("tenant.kubezoo.io", "tenants", "kubeconfig"),
}
_TOKEN_FIELDS = frozenset({"token", "kubeconfig"})
_TOKEN_IN_QUERY = re.compile(r"(?i)(?<=[?&])((?:[a-z]+_)?token|password)=[^&]*")

_KEPT_METADATA = {
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "continue",
    "remainingItemCount",
}
_KEPT_OWNER_FIELDS = {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"}
_KEPT_ENTRY_FIELDS = {"manager", "operation", "apiVersion", "time", "fieldsType", "subresource"}
_KEPT_OPTIONS = {"gracePeriodSeconds", "orphanDependents", "propagationPolicy"}
_KEPT_OPERATION_FIELDS = {"op", "path", "from"}


def is_about_secrets(info: RequestInfo) -> bool:
    """Returns whether the request is about Secrets."""
    return (info.group, info.resource) == SECRETS


def is_about_tokens(info: RequestInfo) -> bool:
    """Returns whether the request or its response contains tokens, or keys."""
    return (info.group, info.resource, info.subresource) in TOKENS


def redact_request(info: RequestInfo, value: Any) -> Any:
    """Returns the request's body without secret values."""
    if is_about_secrets(info):
        return [_redact_operation(operation) for operation in value] if isinstance(value, list) else _redact_secret(value)
    return _redact_tokens(value) if is_about_tokens(info) else value


def redact_response(info: RequestInfo, value: Any) -> Any:
    """Returns the response's body without secret values. A `Status` is kept: it holds only the server's own words."""
    if is_about_secrets(info):
        return value if is_status(value) else _redact_secret(value)
    return _redact_tokens(value) if is_about_tokens(info) else value


def is_status(value: Any) -> bool:
    """Returns whether the response is a `Status`."""
    return isinstance(value, dict) and value.get("kind") == "Status"


def redact_status(status: Object) -> Object:
    """Redacts a denial about a Secret whose message comes from a webhook or a policy: they may quote the Secret's content."""
    return {name: REDACTED if name in {"message", "details"} else value for name, value in status.items()}


def redact_url(url: str) -> str:
    """Returns the URL without tokens in its query."""
    return _TOKEN_IN_QUERY.sub(lambda match: f"{match[1]}={REDACTED}", url) if "oken=" in url or "assword=" in url else url


def remove_managed_fields(value: Any) -> Any:
    """Returns the object, list or table without managed fields."""
    if not isinstance(value, dict):
        return value
    result = {**value, **_map_items(value, "items", remove_managed_fields)}
    if isinstance(value.get("rows"), list):
        result["rows"] = [_map_row(row, remove_managed_fields) for row in value["rows"]]
    if isinstance(value.get("metadata"), dict):
        result["metadata"] = {name: field for name, field in value["metadata"].items() if name != "managedFields"}
    return result


def _map_items(value: Object, name: str, change: Callable[[Any], Any]) -> Object:
    return {name: [change(item) for item in value[name]]} if isinstance(value.get(name), list) else {}


def _map_row(row: Any, change: Callable[[Any], Any]) -> Any:
    return {**row, "object": change(row["object"])} if isinstance(row, dict) and "object" in row else row


def _redact_tokens(value: Any) -> Any:
    if isinstance(value, list):
        return [_redact_tokens(child) for child in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if name in _TOKEN_FIELDS and child else _redact_tokens(child) for name, child in value.items()}


def _redact_secret(value: Any) -> Any:
    return {name: _redact_field(name, child) for name, child in value.items()} if _is_object(value) else REDACTED


def _redact_field(name: str, value: Any) -> Any:
    if name in {"kind", "apiVersion", "type", "immutable"} or name in _KEPT_OPTIONS:
        return _redact_nested(value)
    if name in {"data", "stringData"}:
        return _redact_values(value)
    if name == "metadata":
        return _redact_metadata(value)
    if name == "items" and isinstance(value, list):
        return [_redact_secret(item) for item in value]
    if name == "rows" and isinstance(value, list):
        return [_redact_row(item) for item in value]
    if name == "preconditions":
        return _keep_fields(value, {"uid", "resourceVersion"})
    return REDACTED


def _redact_metadata(value: Any) -> Any:
    if not isinstance(value, dict):
        return REDACTED
    return {name: _redact_metadata_field(name, child) for name, child in value.items()}


def _redact_metadata_field(name: str, value: Any) -> Any:
    if name in _KEPT_METADATA:
        return _redact_nested(value)
    if name == "annotations":
        return _redact_values(value)
    if name == "labels" and isinstance(value, dict):
        return {key: _redact_nested(item) for key, item in value.items()}
    if name == "finalizers" and isinstance(value, list):
        return [_redact_nested(item) for item in value]
    if name == "ownerReferences" and isinstance(value, list):
        return [_keep_fields(item, _KEPT_OWNER_FIELDS) for item in value]
    if name == "managedFields" and isinstance(value, list):
        return [_keep_fields(item, _KEPT_ENTRY_FIELDS) for item in value]
    return REDACTED


def _redact_row(row: Any) -> Any:
    """Redacts a row. Drops its cells: they are for people, and what they show is in the object."""
    return {"object": _redact_secret(row.get("object"))} if _is_object(row) else REDACTED


def _redact_operation(value: Any) -> Any:
    """Redacts one operation of a JSON patch: keeps the operation and the path."""
    return (
        {**_keep_fields(value, _KEPT_OPERATION_FIELDS), **({"value": REDACTED} if "value" in value else {})}
        if _is_object(value)
        else REDACTED
    )


def _keep_fields(value: Any, kept: set[str]) -> Any:
    return {name: _redact_nested(child) for name, child in value.items() if name in kept} if _is_object(value) else REDACTED


def _redact_values(value: Any) -> Any:
    """Returns the keys, and whether each has a value."""
    return {key: None if child is None else REDACTED for key, child in value.items()} if _is_object(value) else REDACTED


def _redact_nested(value: Any) -> Any:
    return REDACTED if isinstance(value, dict | list) else value


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
