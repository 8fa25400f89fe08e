"""What is said to who wants to change what somebody else owns, in the words that clients of Kubernetes know."""

from __future__ import annotations

from probate.api.apply import field_sets
from probate.api.apply.field_sets import FieldSet
from probate.api.apply.managed_fields import UPDATE, Entry
from probate.api.field_errors import MAX_PROBLEMS, Problem

REASON = "FieldManagerConflict"


def causes(found: list[tuple[Entry, FieldSet]]) -> list[Problem]:
    """One for each field that another manager owns."""
    told = [Problem(REASON, path, f"conflict with {_named(entry)}") for entry, fields in found for path in field_sets.paths(fields)]
    return sorted(told, key=lambda one: (one.message, one.field))[:MAX_PROBLEMS]


def message(told: list[Problem]) -> str:
    """All of them in one text."""
    if len(told) == 1:
        return f"Apply failed with 1 conflict: {told[0].message}: {told[0].field}"
    lines = []
    before = ""
    for one in told:
        if one.message != before:
            before = one.message
            lines.append(f"{before.replace('conflict', 'conflicts', 1)}:")
        lines.append(f"- {one.field}")
    return f"Apply failed with {len(told)} conflicts: " + "\n".join(lines)


def _named(entry: Entry) -> str:
    name = f'"{entry["manager"]}"'
    if entry.get("subresource"):
        name += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] != UPDATE:
        return name
    name += f" using {entry['apiVersion']}"
    return f"{name} at {entry['time']}" if entry.get("time") else name
