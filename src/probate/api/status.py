"""`Status`: how Kubernetes says that something failed, or that it was done."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.field_errors import MAX_PROBLEMS, Problem
from probate.core.errors import ApiError, Details, Gone


def failure(error: ApiError) -> dict[str, Any]:
    """The body of an answer that says no."""
    metadata = {"continue": error.continue_} if isinstance(error, Gone) and error.continue_ else {}
    about = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": str(error)}
    reason = {"reason": error.reason} if error.reason else {}
    return {**about, **reason, "details": _details(error.details), "code": error.code}


def success(resource: Resource, *, name: str, uid: str) -> dict[str, Any]:
    """The body of an answer that says that an object is gone."""
    details = Details(name=name, group=resource.group, kind=resource.plural, uid=uid)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": _details(details)}


def describe(kind: str, group: str, name: str | None, problems: list[Problem]) -> str:
    """The one sentence that a person reads: what is invalid, and each reason. What has no name at all has None for it."""
    qualified = f"{kind}.{group}" if group else kind
    listed = [f"{problem.field}: {problem.message}" for problem in problems]
    if len(problems) >= MAX_PROBLEMS:
        listed.append(f"and perhaps more: only the first {MAX_PROBLEMS} are told")
    reasons = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    subject = qualified if name is None else f'{qualified} "{name}"'
    return f"{subject} is invalid: {reasons}"


def _details(details: Details) -> dict[str, Any]:
    causes = [_without_empty({"reason": one.reason, "message": one.message, "field": one.field}) for one in details.causes]
    return _without_empty(
        {
            "name": details.name,
            "group": details.group,
            "kind": details.kind,
            "uid": details.uid,
            "causes": causes,
            "retryAfterSeconds": details.retry_after_seconds,
        }
    )


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
