"""The status of a Job: most rules are about what a write changes, and what is over stays so."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]
BEGAN, LATER, LATEST = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"


def causes(problems: Any) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def written(status: dict[str, Any], before: dict[str, Any] | None = None, **spec: Any) -> Causes:
    key, new = sample("Job", status=status, **spec)
    _, old = sample("Job", status=before or {}, **spec)
    return causes(validation.status(GroupVersionKind(*key), new, old))


def refused(*fields: str, reason: str = "Invalid") -> Causes:
    return sorted((f"status.{field}", reason) for field in fields)


JOBS: list[Any] = [
    pytest.param({"active": -1}, {}, {}, refused("active"), id="negative"),
    pytest.param({"active": 1, "ready": 2}, {}, {}, refused("ready"), id="more-ready-than-there-are"),
    pytest.param(
        {"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}},
        {},
        {},
        [("status.uncountedTerminatedPods.failed[0]", "Duplicate"), ("status.uncountedTerminatedPods.succeeded[1]", "Invalid")],
        id="uncounted",
    ),
    pytest.param({"failed": 1}, {"failed": 2}, {}, refused("failed"), id="fewer-failures"),
    pytest.param({"succeeded": 1}, {"succeeded": 2}, {}, refused("succeeded"), id="fewer-successes"),
    pytest.param({"succeeded": 1}, {"succeeded": 2}, {"spec__parallelism": 3}, [], id="fewer-successes-of-fewer-indexes"),
    pytest.param({"completedIndexes": "0,2"}, {}, {}, [], id="indexes"),
    pytest.param({"completedIndexes": "3"}, {}, {}, refused("completedIndexes"), id="index-too-large"),
    pytest.param({"completedIndexes": "3"}, {"completedIndexes": "3"}, {}, [], id="index-was-too-large-before"),
    pytest.param(
        {"completedIndexes": "0"}, {}, {"spec__completionMode": "NonIndexed"}, refused("completedIndexes"), id="indexes-of-none"
    ),
    pytest.param({"failedIndexes": "0"}, {}, {}, refused("failedIndexes"), id="failed-without-limits"),
    pytest.param({"failedIndexes": ""}, {}, {"spec__backoffLimitPerIndex": 1}, [], id="no-failed-indexes"),
    pytest.param({"failedIndexes": "9"}, {}, {"spec__backoffLimitPerIndex": 1}, refused("failedIndexes"), id="failed-too-large"),
    pytest.param(
        {"failedIndexes": "0-1", "completedIndexes": "1"},
        {},
        {"spec__backoffLimitPerIndex": 1},
        refused("failedIndexes"),
        id="failed-and-completed",
    ),
    pytest.param({"startTime": LATER}, {"startTime": BEGAN}, {}, refused("startTime", reason="Required"), id="begins-again"),
    pytest.param({}, {"startTime": BEGAN}, {}, refused("startTime", reason="Required"), id="never-began"),
    pytest.param({}, {"startTime": BEGAN}, {"spec__suspend": True}, [], id="suspended"),
    pytest.param({"startTime": BEGAN}, {}, {}, [], id="begins"),
    pytest.param({"startTime": BEGAN, "completionTime": LATER}, {}, {}, refused("completionTime"), id="completed-without-saying"),
]


@pytest.mark.parametrize(("status", "before", "spec", "expected"), JOBS)
def test_statuses_of_jobs(status: dict[str, Any], before: dict[str, Any], spec: dict[str, Any], expected: Causes) -> None:
    assert written(status, before, **spec) == expected


def over(*types: str, **more: Any) -> dict[str, Any]:
    return {"startTime": BEGAN, "conditions": [{"type": one, "status": "True"} for one in types], **more}


DONE = over("SuccessCriteriaMet", "Complete", completionTime=LATER)
LOST = over("FailureTarget", "Failed")
CONDITIONS = refused("conditions")


@pytest.mark.parametrize(
    ("status", "before", "expected"),
    [
        pytest.param(DONE, {}, [], id="done"),
        pytest.param(LOST, {}, [], id="lost"),
        pytest.param(over("Complete", completionTime=LATER), {}, CONDITIONS, id="done-undecided"),
        pytest.param(over("Failed"), {}, CONDITIONS, id="lost-undecided"),
        pytest.param({**DONE, "conditions": [*DONE["conditions"], *LOST["conditions"]]}, {}, CONDITIONS, id="both"),
        pytest.param(over("SuccessCriteriaMet", "FailureTarget"), {}, CONDITIONS, id="decided-both-ways"),
        pytest.param(over("SuccessCriteriaMet", "Complete"), {}, refused("completionTime", reason="Required"), id="done-when"),
        pytest.param({**LOST, "startTime": None}, {}, refused("startTime", reason="Required"), id="lost-before-it-began"),
        pytest.param({**DONE, "completionTime": "2025-01-01T00:00:00Z"}, {}, refused("completionTime"), id="done-before-it-began"),
        pytest.param({**DONE, "completionTime": LATEST}, DONE, refused("completionTime"), id="done-again"),
        pytest.param({**LOST, "active": 1}, {}, refused("active"), id="lost-and-active"),
        pytest.param({**LOST, "terminating": 1}, {}, refused("terminating"), id="lost-and-ending"),
        pytest.param({**LOST, "uncountedTerminatedPods": {"failed": ["a"]}}, {}, refused("uncountedTerminatedPods"), id="count"),
        pytest.param({**LOST, "active": 1, "failed": 2}, {**LOST, "active": 1}, [], id="was-wrong-before"),
        pytest.param(over("FailureTarget"), LOST, CONDITIONS, id="lost-no-more"),
        pytest.param(over("SuccessCriteriaMet"), over("Failed"), CONDITIONS, id="won-after-all"),
        pytest.param({"startTime": BEGAN}, over("SuccessCriteriaMet"), CONDITIONS, id="undecided-again"),
    ],
)
def test_jobs_that_are_over(status: dict[str, Any], before: dict[str, Any], expected: Causes) -> None:
    assert written(status, before) == expected


def test_a_suspended_job_without_completions_may_be_complete() -> None:
    status = {**DONE, "startTime": None}
    assert written(status, spec__suspend=True, spec__completions=0, spec__parallelism=0) == []
