"""What is never written down, whatever the policy says: the content of Secrets, and tokens.

Of a Secret only that is kept which is known to be harmless: what it is called, whom it belongs to, of which type it is, and which
keys it has. Everything else becomes `REDACTED`: values, annotations (one may be a copy of the whole object), fields nobody knows,
whatever stands where something else was expected. The same goes for what is sent to change a Secret, in whichever form, and for
lists and tables of Secrets. Of what is about tokens everything is kept but the tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from probate.api.audit.request_info import Asked

REDACTED = "[redacted]"
SECRETS = ("", "secrets")
TOKENS = {("authentication.k8s.io", "tokenreviews", ""), ("", "serviceaccounts", "token")}
_TOKEN_IN_QUERY = re.compile(r"(?i)(?<=[?&])((?:[a-z]+_)?token|password)=[^&]*")

_KEPT_OF_META = {
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
_KEPT_OF_OWNERS = {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"}
_KEPT_OF_ENTRIES = {"manager", "operation", "apiVersion", "time", "fieldsType", "subresource"}
_KEPT_OF_OPTIONS = {"gracePeriodSeconds", "orphanDependents", "propagationPolicy"}
_KEPT_OF_CHANGES = {"op", "path", "from"}

Object = dict[str, Any]


def is_secret(asked: Asked) -> bool:
    """Whether it is Secrets that are asked for, or sent."""
    return (asked.group, asked.resource) == SECRETS


def is_about_tokens(asked: Asked) -> bool:
    """Whether what is asked for, or sent, has tokens in it."""
    return (asked.group, asked.resource, asked.subresource) in TOKENS


def of_request(asked: Asked, value: Any) -> Any:
    """What may be written down of a request's body."""
    if is_secret(asked):
        return [_change(one) for one in value] if isinstance(value, list) else _secret(value)
    return _without_tokens(value) if is_about_tokens(asked) else value


def of_answer(asked: Asked, value: Any) -> Any:
    """What may be written down of an answer's body. One that says no, or that something is gone, is in our own words."""
    if is_secret(asked):
        return value if is_status(value) else _secret(value)
    return _without_tokens(value) if is_about_tokens(asked) else value


def is_status(value: Any) -> bool:
    """Whether an answer is a `Status`."""
    return isinstance(value, dict) and value.get("kind") == "Status"


def in_words_of_others(status: Object) -> Object:
    """A refusal of something about Secrets that a webhook or a policy has worded: they may have seen what is in the Secret."""
    return {name: REDACTED if name in {"message", "details"} else one for name, one in status.items()}


def of_url(url: str) -> str:
    """The URL without tokens that somebody has put there."""
    return _TOKEN_IN_QUERY.sub(lambda found: f"{found[1]}={REDACTED}", url) if "oken=" in url or "assword=" in url else url


def without_managed_fields(value: Any) -> Any:
    """The same object, list or table, without who manages which field."""
    if not isinstance(value, dict):
        return value
    found = {**value, **_each(value, "items", without_managed_fields)}
    if isinstance(value.get("rows"), list):
        found["rows"] = [_row(row, without_managed_fields) for row in value["rows"]]
    if isinstance(value.get("metadata"), dict):
        found["metadata"] = {name: one for name, one in value["metadata"].items() if name != "managedFields"}
    return found


def _each(value: Object, name: str, change: Callable[[Any], Any]) -> Object:
    return {name: [change(one) for one in value[name]]} if isinstance(value.get(name), list) else {}


def _row(row: Any, change: Callable[[Any], Any]) -> Any:
    return {**row, "object": change(row["object"])} if isinstance(row, dict) and "object" in row else row


def _without_tokens(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_tokens(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if name == "token" and one else _without_tokens(one) for name, one in value.items()}


def _secret(value: Any) -> Any:
    return {name: _field(name, one) for name, one in value.items()} if _is_object(value) else REDACTED


def _field(name: str, value: Any) -> Any:
    if name in {"kind", "apiVersion", "type", "immutable"} or name in _KEPT_OF_OPTIONS:
        return _plain(value)
    if name in {"data", "stringData"}:
        return _keys(value)
    if name == "metadata":
        return _meta(value)
    if name == "items" and isinstance(value, list):
        return [_secret(one) for one in value]
    if name == "rows" and isinstance(value, list):
        return [_table_row(one) for one in value]
    if name == "preconditions":
        return _fields(value, {"uid", "resourceVersion"})
    return REDACTED


def _meta(value: Any) -> Any:
    if not isinstance(value, dict):
        return REDACTED
    return {name: _meta_field(name, one) for name, one in value.items()}


def _meta_field(name: str, value: Any) -> Any:
    if name in _KEPT_OF_META:
        return _plain(value)
    if name == "annotations":
        return _keys(value)
    if name == "labels" and isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if name == "finalizers" and isinstance(value, list):
        return [_plain(one) for one in value]
    if name == "ownerReferences" and isinstance(value, list):
        return [_fields(one, _KEPT_OF_OWNERS) for one in value]
    if name == "managedFields" and isinstance(value, list):
        return [_fields(one, _KEPT_OF_ENTRIES) for one in value]
    return REDACTED


def _table_row(row: Any) -> Any:
    """A row without its cells: they are made for people, and what they show is in the object."""
    return {"object": _secret(row.get("object"))} if _is_object(row) else REDACTED


def _change(value: Any) -> Any:
    """One operation of a JSON patch: what it does, and where."""
    return (
        {**_fields(value, _KEPT_OF_CHANGES), **({"value": REDACTED} if "value" in value else {})} if _is_object(value) else REDACTED
    )


def _fields(value: Any, kept: set[str]) -> Any:
    return {name: _plain(one) for name, one in value.items() if name in kept} if _is_object(value) else REDACTED


def _keys(value: Any) -> Any:
    """Which keys there are, and for which there is a value."""
    return {key: None if one is None else REDACTED for key, one in value.items()} if _is_object(value) else REDACTED


def _plain(value: Any) -> Any:
    return REDACTED if isinstance(value, dict | list) else value


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
