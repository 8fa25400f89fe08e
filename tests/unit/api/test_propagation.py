"""Every dialect in which a delete can say what becomes of the dependents: docs/deletion.md, row by row and pair by pair."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from probate.api import propagation
from probate.api.deletion import Policy
from probate.core import errors
from support import doc_tables

Fields = dict[str, Any]

READ_AS: dict[str, Policy | None] = {"nothing said": None, **{one.value: one for one in Policy}}


def fields(cell: str) -> Fields:
    """`a: true`, `b: X` as options."""
    said = [part.strip(" `").split(": ") for part in cell.split(",")]
    return {name: json.loads(value) if value in {"true", "false", '""'} else value for name, value in said}


DOCUMENTED = doc_tables.table("deletion.md", "options")
ROWS = [(fields(options), read_as) for options, read_as in DOCUMENTED if ":" in options]
READ = [(given, READ_AS[read_as]) for given, read_as in ROWS if read_as in READ_AS]


def name_of(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def read(given: Fields) -> Policy | None:
    """What the options say."""
    problems = propagation.check(given)
    assert not problems, problems
    return propagation.policy(given)


def test_every_option_and_value_is_in_the_table() -> None:
    documented = {(name, value) for given, _ in ROWS for name, value in given.items()}
    policies = {("propagationPolicy", one.value) for one in Policy}
    old = {
        ("garbageCollectionPolicy", value)
        for value in ("", "Default", "Orphan", "AsynchronousGarbageCollection", "SynchronousGarbageCollection")
    }
    switches = {(name, value) for name, type_ in propagation.FIELDS.items() if type_ is bool for value in (True, False)}
    assert documented == policies | old | switches
    assert {name for name, _ in documented} == set(propagation.FIELDS)


@pytest.mark.parametrize(("given", "expected"), READ, ids=name_of)
def test_options_are_read_as_documented(given: Fields, expected: Policy | None) -> None:
    assert read(given) is expected


def test_nothing_said_is_nothing() -> None:
    assert read({}) is None


def both(one: Fields, other: Fields) -> Fields | None:
    """Two rows in one request; None if they give the same option twice, or mean something else together, which has its own row."""
    together = {**one, **other}
    if any(name in one and one[name] != other[name] for name in other):
        return None
    switches = {"deleteAfterDependentsDeleted", "synchronousGarbageCollection"}
    is_new = "orphanDependents" in together and switches & set(together)
    was_there = any("orphanDependents" in row and switches & set(row) for row in (one, other))
    return None if (is_new and not was_there) or any(together == given for given, _ in ROWS) else together


PAIRS = [
    (together, first, second)
    for (one, first), (other, second) in itertools.combinations(READ, 2)
    if (together := both(one, other)) is not None
]


@pytest.mark.parametrize(("together", "first", "second"), PAIRS, ids=name_of)
def test_two_that_are_read_differently_are_refused_by_name(together: Fields, first: Policy | None, second: Policy | None) -> None:
    if together.get("deleteAfterDependentsDeleted") and together.get("orphanDependents"):
        with pytest.raises(errors.BadRequest):
            propagation.check(together)
    elif {"propagationPolicy", "orphanDependents"} <= set(together):
        assert [problem.field for problem in propagation.check(together)][:1] == ["propagationPolicy"]
    elif first is None or second is None or first is second:
        assert read(together) is (first or second)
    else:
        (problem,) = propagation.check(together)
        said = dict(re.findall(r"(\w+) says (\w+)", problem.message))
        assert len(said) == 2
        assert set(said) <= set(together)
        assert set(said.values()) == {first.value, second.value}


def test_waiting_for_dependents_that_are_orphaned_is_a_bad_request() -> None:
    row = {"deleteAfterDependentsDeleted": True, "orphanDependents": True}
    assert (row, "400") in ROWS
    with pytest.raises(errors.BadRequest, match="deleteAfterDependentsDeleted and orphanDependents"):
        propagation.check(row)


def test_policy_and_the_older_switch_together_are_invalid_even_if_they_agree() -> None:
    assert ["`propagationPolicy`, `orphanDependents`", "422"] in DOCUMENTED
    for policy, orphan in itertools.product(Policy, (True, False)):
        (problem, *_) = propagation.check({"propagationPolicy": policy.value, "orphanDependents": orphan})
        assert problem.field == "propagationPolicy"
        assert "orphanDependents and propagationPolicy" in problem.message


@pytest.mark.parametrize("value", ["", "foreground", "Default", "SynchronousGarbageCollection"])
def test_unknown_policy_is_invalid(value: str) -> None:
    assert [problem.field for problem in propagation.check({"propagationPolicy": value})] == ["propagationPolicy"]


@pytest.mark.parametrize("value", ["orphan", "Foreground", "Background"])
def test_unknown_policy_of_old_is_invalid(value: str) -> None:
    assert [problem.field for problem in propagation.check({"garbageCollectionPolicy": value})] == ["garbageCollectionPolicy"]


def test_three_that_disagree_are_each_held_against_the_first() -> None:
    given = {
        "propagationPolicy": "Orphan",
        "garbageCollectionPolicy": "AsynchronousGarbageCollection",
        "deleteAfterDependentsDeleted": True,
    }
    assert [problem.field for problem in propagation.check(given)] == ["garbageCollectionPolicy", "deleteAfterDependentsDeleted"]
