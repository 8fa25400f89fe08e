"""The options of a delete, from the body if there is one, else from the query: never from both.

How dependents are to be treated can be said in several dialects: `api.propagation` has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from probate.api import field_errors, propagation
from probate.api.deletion import Policy, Wish
from probate.api.field_errors import Path, Problem, shown
from probate.api.schema import typed
from probate.core import errors
from probate.server import api_errors, query
from probate.server.codec import request_body
from probate.server.query import Query

UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
"""Removes an object whose stored data is damaged, and nothing else."""
_TYPES: dict[str, type] = {**propagation.FIELDS, "gracePeriodSeconds": int, "preconditions": dict, "dryRun": list, UNSAFE: bool}
_PRECONDITIONS: dict[str, type] = {"uid": str, "resourceVersion": str}
_NAMES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
_NOT_WITH_UNSAFE = ("dryRun", "gracePeriodSeconds", "preconditions", *propagation.FIELDS)


class DeleteOptions(NamedTuple):
    """How an object is to be deleted."""

    grace_seconds: int | None = None
    orphan_dependents: bool | None = None
    policy: Policy | None = None
    uid: str = ""
    resource_version: str = ""
    is_dry_run: bool = False
    is_unsafe: bool = False  # only for an object whose stored data is damaged

    @property
    def wish(self) -> Wish:
        """What is wanted of the object itself."""
        return Wish(self.policy, self.grace_seconds)


def read(body: bytes, media: str, given: Query) -> DeleteOptions:
    """The options of this request. `BadRequest` or `Invalid` if they make no sense."""
    fields = _from_body(body, media) if body.strip() else _from_query(given)
    found = [*query.dry_run_problems(fields.get("dryRun", ())), *propagation.check(fields), *_unsafe_problems(fields)]
    if found:
        raise api_errors.invalid_options("DeleteOptions", found)
    preconditions = fields.get("preconditions") or {}
    return DeleteOptions(
        grace_seconds=fields.get("gracePeriodSeconds"),
        orphan_dependents=fields.get("orphanDependents"),
        policy=propagation.policy(fields),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        is_dry_run=bool(fields.get("dryRun")),
        is_unsafe=bool(fields.get(UNSAFE)),
    )


def check_suits_collections(options: DeleteOptions) -> None:
    """`Invalid` if only one object can be deleted so."""
    if options.is_unsafe:
        why = "is not allowed with DELETECOLLECTION, try again after removing the option"
        raise api_errors.invalid_options("DeleteOptions", [field_errors.invalid(Path(UNSAFE), True, why)])


def _unsafe_problems(fields: dict[str, Any]) -> Iterator[Problem]:
    """Whoever removes a damaged object cannot say anything else: there is nothing left to hold it against."""
    if fields.get(UNSAFE):
        for name in _NOT_WITH_UNSAFE:
            if fields.get(name) not in (None, [], {}, ""):
                yield field_errors.invalid(Path(UNSAFE), True, f"cannot be set together with .{name}")


def _from_body(body: bytes, media: str) -> dict[str, Any]:
    value = request_body.parse(body, media).value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body of a delete must be DeleteOptions")
    if value.get("kind") not in (None, "", "DeleteOptions"):
        raise errors.BadRequest(f"the body of a delete must be DeleteOptions, not {shown(value['kind'])}")
    _check_types(value, _TYPES, "")
    _check_types(value.get("preconditions") or {}, _PRECONDITIONS, "preconditions.")
    for place, one in enumerate(value.get("dryRun") or ()):
        _check_types({f"dryRun[{place}]": one}, {f"dryRun[{place}]": str}, "")
    return {name: found for name, found in value.items() if found is not None}


def _check_types(value: dict[str, Any], types: dict[str, type], within: str) -> None:
    """`BadRequest`, naming the right type, if a field has another."""
    for name, expected in types.items():
        found = value.get(name)
        if found is not None and (not isinstance(found, expected) or (expected is int and isinstance(found, bool))):
            told = f"{within}{name} must be of type {_NAMES[expected]}, not {typed.type_name(found)}"
            raise errors.BadRequest(f"DeleteOptions: {told}")


def _from_query(given: Query) -> dict[str, Any]:
    preconditions = {"uid": query.first(given, "uid"), "resourceVersion": query.first(given, "resourceVersion")}
    fields = {
        "gracePeriodSeconds": query.number(given, "gracePeriodSeconds"),
        **{name: _said(given, name, type_) for name, type_ in propagation.FIELDS.items()},
        "preconditions": {name: text for name, text in preconditions.items() if text},
        "dryRun": list(given.get("dryRun", ())),
        UNSAFE: _said(given, UNSAFE, bool),
    }
    return {name: found for name, found in fields.items() if found not in (None, {}, [])}


def _said(given: Query, name: str, type_: type) -> object:
    if type_ is bool:
        return query.truth(given, name)
    return query.first(given, name) if given.get(name) else None
