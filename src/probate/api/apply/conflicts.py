"""The message of an apply conflict, in Kubernetes' words."""

from __future__ import annotations

from probate.api.apply import field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import UPDATE, Entry
from probate.api.field_errors import MAX_FIELD_ERRORS, FieldError

REASON = "FieldManagerConflict"


def conflict_causes(conflicts: list[tuple[Entry, FieldSet]]) -> list[FieldError]:
    """Returns one field error for each field that another manager owns."""
    errors = [
        FieldError(REASON, path, f"conflict with {_describe_manager(entry)}")
        for entry, fields in conflicts
        for path in field_sets.paths(fields)
    ]
    return sorted(errors, key=lambda error: (error.message, error.field))[:MAX_FIELD_ERRORS]


def conflict_message(errors: list[FieldError]) -> str:
    """Returns the message that lists all conflicts."""
    if len(errors) == 1:
        return f"Apply failed with 1 conflict: {errors[0].message}: {errors[0].field}"
    lines = []
    previous = ""
    for error in errors:
        if error.message != previous:
            previous = error.message
            lines.append(f"{previous.replace('conflict', 'conflicts', 1)}:")
        lines.append(f"- {error.field}")
    return f"Apply failed with {len(errors)} conflicts: " + "\n".join(lines)


def _describe_manager(entry: Entry) -> str:
    name = f'"{entry["manager"]}"'
    if entry.get("subresource"):
        name += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] != UPDATE:
        return name
    name += f" using {entry['apiVersion']}"
    return f"{name} at {entry['time']}" if entry.get("time") else name
