"""`Status` objects: the bodies of failures and of deletions."""

from __future__ import annotations

from typing import Any

from probate.api.catalog import Resource
from probate.api.field_errors import MAX_FIELD_ERRORS, FieldError
from probate.core.errors import ApiError, Details, Gone


def failure_status(error: ApiError) -> dict[str, Any]:
    """Returns the Status object for a failed request."""
    metadata = {"continue": error.continue_} if isinstance(error, Gone) and error.continue_ else {}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": str(error)}
    reason = {"reason": error.reason} if error.reason else {}
    return {**status, **reason, "details": _details(error.details), "code": error.code}


def success_status(resource: Resource, *, name: str, uid: str) -> dict[str, Any]:
    """Returns the Status object for a completed deletion."""
    details = Details(name=name, group=resource.group, kind=resource.plural, uid=uid)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": _details(details)}


def invalid_message(kind: str, group: str, name: str | None, *, field_errors: list[FieldError]) -> str:
    """Returns the message of an `Invalid` error: the object and each field error. `name` is None if the object cannot have one."""
    qualified = f"{kind}.{group}" if group else kind
    messages = [f"{field_error.field}: {field_error.message}" for field_error in field_errors]
    if len(field_errors) >= MAX_FIELD_ERRORS:
        messages.append(f"and perhaps more: only the first {MAX_FIELD_ERRORS} are reported")
    reasons = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    subject = qualified if name is None else f'{qualified} "{name}"'
    return f"{subject} is invalid: {reasons}"


def _details(details: Details) -> dict[str, Any]:
    causes = [_without_empty({"reason": cause.reason, "message": cause.message, "field": cause.field}) for cause in details.causes]
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
