"""Cached objects share the parts that they have in common, and stay equal to what the server sent."""

from __future__ import annotations

import copy
from typing import Any

from probate.client.equal_parts import MAX_PARTS, EqualParts

RULES = [{"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": ["get", "list", "watch"]}]


def role(name: str, **fields: Any) -> dict[str, Any]:
    entry = {
        "manager": name,
        "fieldsV1": {"f:rules": {}, "f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/bootstrapping": {}}}},
    }
    return copy.deepcopy({"metadata": {"name": name, "managedFields": [entry]}, "rules": RULES, **fields})


def sharing(*fields: str) -> EqualParts:
    parts = EqualParts()
    parts.fields.update(fields)
    return parts


def test_equal_parts_are_shared_and_the_objects_stay_as_they_are() -> None:
    roles = [role("a"), role("b"), role("c", rules=[])]
    before = copy.deepcopy(roles)
    sharing("rules").share(roles)
    assert roles == before
    one, other, third = roles
    assert one["rules"] is other["rules"] is not third["rules"]
    entries = [object_["metadata"]["managedFields"][0] for object_ in roles]
    assert entries[0]["fieldsV1"] is entries[1]["fieldsV1"]
    assert entries[0]["manager"] != entries[1]["manager"]


def test_without_fields_nothing_is_shared() -> None:
    roles = [role("a"), role("b")]
    EqualParts().share(roles)
    assert roles[0]["rules"] is not roles[1]["rules"]


def test_other_parts_in_between_do_not_fill_the_memory() -> None:
    """A part is remembered for as long as it recurs, however many others there are."""
    parts, first = sharing("rules"), role("first")
    parts.share([first])
    for number in range(3 * MAX_PARTS):
        parts.share([role(f"r{number}", rules=[{**RULES[0], "resourceNames": [f"n{number}"]}])])
        again = role("again")
        parts.share([again])
        assert again["rules"] is first["rules"]
    late = role("late", rules=[{**RULES[0], "resourceNames": ["n0"]}])
    parts.share([late])
    assert late["rules"] == [{**RULES[0], "resourceNames": ["n0"]}]
