"""Every option of a delete that names a propagation policy: the table of docs/deletion.md, row by row and pair by pair."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from probate.api import propagation
from probate.api.deletion import PropagationPolicy
from probate.core import errors
from support import doc_tables

Fields = dict[str, Any]

READ_AS: dict[str, PropagationPolicy | None] = {"no policy": None, **{one.value: one for one in PropagationPolicy}}


def fields(cell: str) -> Fields:
    """`a: true`, `b: X` as options."""
    said = [part.strip(" `").split(": ") for part in cell.split(",")]
    return {name: json.loads(value) if value in {"true", "false", '""'} else value for name, value in said}


DOCUMENTED = doc_tables.read_table("deletion.md", "options")
ROWS = [(fields(options), read_as) for options, read_as in DOCUMENTED if ":" in options]
READ = [(given, READ_AS[read_as]) for given, read_as in ROWS if read_as in READ_AS]


def name_of(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def read(given: Fields) -> PropagationPolicy | None:
    """Returns the policy that valid options mean."""
    problems = propagation.validate(given)
    assert not problems, problems
    return propagation.policy_of(given)


def test_every_option_and_value_is_in_the_table() -> None:
    documented = {(name, value) for given, _ in ROWS for name, value in given.items()}
    policies = {("propagationPolicy", one.value) for one in PropagationPolicy}
    old = {
        ("garbageCollectionPolicy", value)
        for value in ("", "Default", "Orphan", "AsynchronousGarbageCollection", "SynchronousGarbageCollection")
    }
    switches = {(name, value) for name, type_ in propagation.FIELDS.items() if type_ is bool for value in (True, False)}
    assert documented == policies | old | switches
    assert {name for name, _ in documented} == set(propagation.FIELDS)


@pytest.mark.parametrize(("given", "expected"), READ, ids=name_of)
def test_options_are_read_as_documented(given: Fields, expected: PropagationPolicy | None) -> None:
    assert read(given) is expected


def test_no_options_mean_no_policy() -> None:
    assert read({}) is None


def merge(first: Fields, second: Fields) -> Fields | None:
    """Returns two rows as one request; None if they repeat an option, or mean something else together, which has its own row."""
    merged = {**first, **second}
    if any(name in first and first[name] != second[name] for name in second):
        return None
    switches = {"deleteAfterDependentsDeleted", "synchronousGarbageCollection"}
    is_new = "orphanDependents" in merged and switches & set(merged)
    was_there = any("orphanDependents" in row and switches & set(row) for row in (first, second))
    return None if (is_new and not was_there) or any(merged == options for options, _ in ROWS) else merged


PAIRS = [
    (merged, first_policy, second_policy)
    for (first, first_policy), (second, second_policy) in itertools.combinations(READ, 2)
    if (merged := merge(first, second)) is not None
]


@pytest.mark.parametrize(("together", "first", "second"), PAIRS, ids=name_of)
def test_contradicting_options_are_refused_by_name(
    together: Fields, first: PropagationPolicy | None, second: PropagationPolicy | None
) -> None:
    if together.get("deleteAfterDependentsDeleted") and together.get("orphanDependents"):
        with pytest.raises(errors.BadRequest):
            propagation.validate(together)
    elif {"propagationPolicy", "orphanDependents"} <= set(together):
        assert [problem.field for problem in propagation.validate(together)][:1] == ["propagationPolicy"]
    elif first is None or second is None or first is second:
        assert read(together) is (first or second)
    else:
        (problem,) = propagation.validate(together)
        said = dict(re.findall(r"(\w+) says (\w+)", problem.message))
        assert len(said) == 2
        assert set(said) <= set(together)
        assert set(said.values()) == {first.value, second.value}


def test_waiting_for_dependents_that_are_orphaned_is_a_bad_request() -> None:
    row = {"deleteAfterDependentsDeleted": True, "orphanDependents": True}
    assert (row, "400") in ROWS
    with pytest.raises(errors.BadRequest, match="deleteAfterDependentsDeleted and orphanDependents"):
        propagation.validate(row)


def test_policy_and_orphan_dependents_together_are_invalid_even_if_they_agree() -> None:
    assert ["`propagationPolicy`, `orphanDependents`", "422"] in DOCUMENTED
    for policy, orphan in itertools.product(PropagationPolicy, (True, False)):
        (problem, *_) = propagation.validate({"propagationPolicy": policy.value, "orphanDependents": orphan})
        assert problem.field == "propagationPolicy"
        assert "orphanDependents and propagationPolicy" in problem.message


@pytest.mark.parametrize("value", ["", "foreground", "Default", "SynchronousGarbageCollection"])
def test_unknown_policy_is_invalid(value: str) -> None:
    assert [problem.field for problem in propagation.validate({"propagationPolicy": value})] == ["propagationPolicy"]


@pytest.mark.parametrize("value", ["orphan", "Foreground", "Background"])
def test_unknown_garbage_collection_policy_is_invalid(value: str) -> None:
    assert [problem.field for problem in propagation.validate({"garbageCollectionPolicy": value})] == ["garbageCollectionPolicy"]


def test_three_contradicting_options_are_each_compared_with_the_first() -> None:
    given = {
        "propagationPolicy": "Orphan",
        "garbageCollectionPolicy": "AsynchronousGarbageCollection",
        "deleteAfterDependentsDeleted": True,
    }
    assert [problem.field for problem in propagation.validate(given)] == ["garbageCollectionPolicy", "deleteAfterDependentsDeleted"]
