"""The options of a delete, from the body if there is one, else from the query: never from both.

All dialects of how dependents are to be treated are read here and normalised in the issue on collection's table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from probate import errors
from probate.machinery import problems
from probate.machinery.problems import Path, Problem
from probate.server import query, reading, refusals
from probate.server.query import Query

POLICIES = ("Background", "Foreground", "Orphan")
_TYPES: dict[str, type | tuple[type, ...]] = {
    "gracePeriodSeconds": int,
    "orphanDependents": bool,
    "propagationPolicy": str,
    "preconditions": dict,
    "dryRun": list,
}


class DeleteOptions(NamedTuple):
    """How an object is to be deleted."""

    grace_seconds: int | None = None
    orphan_dependents: bool | None = None
    policy: str | None = None
    uid: str = ""
    resource_version: str = ""
    is_dry_run: bool = False


def read(body: bytes, media: str, given: Query) -> DeleteOptions:
    """The options of this request. `BadRequest` or `Invalid` if they make no sense."""
    fields = _from_body(body, media) if body.strip() else _from_query(given)
    found = _problems(fields)
    if found:
        raise refusals.invalid_options("DeleteOptions", found)
    preconditions = fields.get("preconditions") or {}
    return DeleteOptions(
        grace_seconds=fields.get("gracePeriodSeconds"),
        orphan_dependents=fields.get("orphanDependents"),
        policy=fields.get("propagationPolicy"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        is_dry_run=bool(fields.get("dryRun")),
    )


def _from_body(body: bytes, media: str) -> dict[str, Any]:
    value = reading.parse(body, media).value
    if not isinstance(value, dict):
        raise errors.BadRequest("the body of a delete must be DeleteOptions")
    if value.get("kind") not in {None, "", "DeleteOptions"}:
        raise errors.BadRequest(f"the body of a delete must be DeleteOptions, not {value.get('kind')}")
    for name, expected in _TYPES.items():
        found = value.get(name)
        if found is not None and (not isinstance(found, expected) or (expected is int and isinstance(found, bool))):
            raise errors.BadRequest(f"DeleteOptions: {name} has the wrong type")
    return {name: found for name, found in value.items() if found is not None}


def _from_query(given: Query) -> dict[str, Any]:
    preconditions = {"uid": query.first(given, "uid"), "resourceVersion": query.first(given, "resourceVersion")}
    fields = {
        "gracePeriodSeconds": query.number(given, "gracePeriodSeconds"),
        "orphanDependents": query.truth(given, "orphanDependents"),
        "propagationPolicy": query.first(given, "propagationPolicy") or None,
        "preconditions": {name: text for name, text in preconditions.items() if text},
        "dryRun": list(given.get("dryRun", ())),
    }
    return {name: found for name, found in fields.items() if found not in (None, {}, [])}


def _problems(fields: dict[str, Any]) -> list[Problem]:
    found = query.dry_run_problems(fields.get("dryRun", ()))
    path, policy = Path("propagationPolicy"), fields.get("propagationPolicy")
    if policy is not None and "orphanDependents" in fields:
        found.append(problems.invalid(path, policy, "orphanDependents and propagationPolicy cannot be both set"))
    elif policy is not None and policy not in POLICIES:
        found.append(problems.not_supported(path, policy, POLICIES))
    return found
