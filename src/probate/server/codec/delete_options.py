"""DeleteOptions of a request: from the body if it has one, otherwise from the query; never from both.

Clients can request the treatment of dependents with several fields: `api.propagation` has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api import field_errors, propagation
from probate.api.deletion import DeletionRequest, PropagationPolicy
from probate.api.field_errors import FieldError, FieldPath, format_value
from probate.api.schema import typed
from probate.core import errors
from probate.server import api_errors, query
from probate.server.codec import request_body
from probate.server.query import Query

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""Deletes an object whose stored data is corrupt; has no effect on other objects."""
_TYPES: dict[str, type] = {**propagation.FIELDS, "gracePeriodSeconds": int, "preconditions": dict, "dryRun": list, UNSAFE: bool}
_PRECONDITIONS: dict[str, type] = {"uid": str, "resourceVersion": str}
_NAMES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
_NOT_WITH_UNSAFE = ("dryRun", "gracePeriodSeconds", "preconditions", *propagation.FIELDS)


class DeleteOptions(NamedTuple):
    """The options of a delete request."""

    grace_seconds: int | None = None
    orphan_dependents: bool | None = None
    policy: PropagationPolicy | None = None
    uid: str = ""
    resource_version: str = ""
    is_dry_run: bool = False
    is_unsafe: bool = False  # only for an object whose stored data is damaged

    @property
    def wish(self) -> DeletionRequest:
        """The part of the options that concerns the object itself."""
        return DeletionRequest(self.policy, self.grace_seconds)


def read(body: bytes, media: str, given: Query) -> DeleteOptions:
    """Parses the options of a request. Raises `BadRequest` or `Invalid`."""
    fields = _from_body(body, media) if body.strip() else _from_query(given)
    found = [*query.dry_run_problems(fields.get("dryRun", ())), *propagation.validate(fields), *_unsafe_problems(fields)]
    if found:
        raise api_errors.invalid_options("DeleteOptions", found)
    preconditions = fields.get("preconditions") or {}
    return DeleteOptions(
        grace_seconds=fields.get("gracePeriodSeconds"),
        orphan_dependents=fields.get("orphanDependents"),
        policy=propagation.policy_of(fields),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        is_dry_run=bool(fields.get("dryRun")),
        is_unsafe=bool(fields.get(UNSAFE)),
    )


def check_suits_collections(options: DeleteOptions) -> None:
    """Raises `Invalid` for options that are not allowed with deletecollection."""
    if options.is_unsafe:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise api_errors.invalid_options("DeleteOptions", [field_errors.invalid(FieldPath(UNSAFE), True, why)])


def _unsafe_problems(fields: dict[str, Any]) -> Iterator[FieldError]:
    """Rejects other options together with the unsafe delete: a corrupt object has no content to check them against."""
    if fields.get(UNSAFE):
        for name in _NOT_WITH_UNSAFE:
            if fields.get(name) not in (None, [], {}, ""):
                yield field_errors.invalid(FieldPath(UNSAFE), True, f"cannot be set together with .{name}")


def _from_body(body: bytes, media: str) -> dict[str, Any]:
    value = request_body.parse(body, media).value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body of a delete must be DeleteOptions")
    if value.get("kind") not in (None, "", "DeleteOptions"):
        raise errors.BadRequest(f"the body of a delete must be DeleteOptions, not {format_value(value['kind'])}")
    _check_types(value, _TYPES, "")
    _check_types(value.get("preconditions") or {}, _PRECONDITIONS, "preconditions.")
    for place, one in enumerate(value.get("dryRun") or ()):
        _check_types({f"dryRun[{place}]": one}, {f"dryRun[{place}]": str}, "")
    return {name: found for name, found in value.items() if found is not None}


def _check_types(value: dict[str, Any], types: dict[str, type], within: str) -> None:
    """Raises `BadRequest`, naming the expected type, if a field has the wrong type."""
    for name, expected in types.items():
        found = value.get(name)
        if found is not None and (not isinstance(found, expected) or (expected is int and isinstance(found, bool))):
            detail = f"{within}{name} must be of type {_NAMES[expected]}, not {typed.type_name(found)}"
            raise errors.BadRequest(f"DeleteOptions: {detail}")


def _from_query(given: Query) -> dict[str, Any]:
    preconditions = {"uid": query.first_value(given, "uid"), "resourceVersion": query.first_value(given, "resourceVersion")}
    fields = {
        "gracePeriodSeconds": query.integer(given, "gracePeriodSeconds"),
        **{name: _query_value(given, name, type_) for name, type_ in propagation.FIELDS.items()},
        "preconditions": {name: text for name, text in preconditions.items() if text},
        "dryRun": list(given.get("dryRun", ())),
        UNSAFE: _query_value(given, UNSAFE, bool),
    }
    return {name: found for name, found in fields.items() if found not in (None, {}, [])}


def _query_value(given: Query, name: str, type_: type) -> object:
    if type_ is bool:
        return query.boolean(given, name)
    return query.first_value(given, name) if given.get(name) else None
