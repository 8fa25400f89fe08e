"""Jobs: their policies and indexes, and what may change while they are suspended."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from probate.kinds.batch import index_sets
from support.valid_objects import CONTAINER, JOB_TEMPLATE, sample

Causes = list[tuple[str, str]]
FAILURE = "spec.podFailurePolicy.rules"
SUCCESS = "spec.successPolicy.rules"
MANY = {"spec__completions": 100_001, "spec__backoffLimitPerIndex": 1}
SUSPENDED = {"spec__suspend": True}
BEGAN = {**SUSPENDED, "status__startTime": "2026-01-01T00:00:00Z"}
AT_REST = {**BEGAN, "status__conditions": [{"type": "Suspended", "status": "True"}]}


def causes(problems: Any) -> Causes:
    return sorted({(problem.field, problem.reason.removeprefix("FieldValue")) for problem in problems})


def failing(**rule: Any) -> dict[str, Any]:
    return {"spec__podFailurePolicy": {"rules": [{"action": "FailJob", **rule}]}}


def codes(*values: int, operator: str = "In", **more: Any) -> dict[str, Any]:
    return failing(onExitCodes={"operator": operator, "values": list(values), **more})


def succeeding(**rule: Any) -> dict[str, Any]:
    return {"spec__successPolicy": {"rules": [rule]}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"spec__maxFailedIndexes": 1}, [("spec.backoffLimitPerIndex", "Required")], id="limit-of-nothing"),
        pytest.param(
            {"spec__maxFailedIndexes": 4, "spec__backoffLimitPerIndex": 1},
            [("spec.maxFailedIndexes", "Invalid")],
            id="more-failures-than-indexes",
        ),
        pytest.param(MANY, [("spec.maxFailedIndexes", "Required")], id="many-indexes"),
        pytest.param(
            {**MANY, "spec__maxFailedIndexes": 10_001, "spec__parallelism": 10_001},
            [("spec.maxFailedIndexes", "Invalid"), ("spec.parallelism", "Invalid")],
            id="many-of-many",
        ),
        pytest.param({**MANY, "spec__maxFailedIndexes": 10_000, "spec__parallelism": 10_000}, [], id="enough-of-many"),
        pytest.param({"spec__managedBy": "example.com/" + "a" * 52}, [("spec.managedBy", "TooLong")], id="manager"),
        pytest.param(
            {"spec__podReplacementPolicy": "TerminatingOrFailed"}, [("spec.podReplacementPolicy", "NotSupported")], id="replacement"
        ),
        pytest.param(
            {"spec__podReplacementPolicy": "TerminatingOrFailed", "spec__podFailurePolicy": None}, [], id="replacement-by-itself"
        ),
        pytest.param(
            {"spec__manualSelector": True},
            [("spec.selector", "Required"), ("spec.template.metadata.labels", "Invalid")],
            id="selector-by-hand",
        ),
    ],
)
def test_limits(changes: dict[str, Any], expected: Causes) -> None:
    key, job = sample("Job", **changes)
    assert causes(validation.create(GroupVersionKind(*key), job)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(codes(1, 2, 255), [], id="codes"),
        pytest.param(codes(0, 1, operator="NotIn", containerName="init"), [], id="nought-is-not-in"),
        pytest.param(codes(0, 1), [(f"{FAILURE}[0].onExitCodes.values[0]", "Invalid")], id="nought"),
        pytest.param(codes(2, 1), [(f"{FAILURE}[0].onExitCodes.values", "Invalid")], id="unordered"),
        pytest.param(codes(1, 1), [(f"{FAILURE}[0].onExitCodes.values[1]", "Duplicate")], id="twice"),
        pytest.param(codes(*range(1, 257)), [(f"{FAILURE}[0].onExitCodes.values", "TooMany")], id="many-codes"),
        pytest.param(codes(1, containerName="x"), [(f"{FAILURE}[0].onExitCodes.containerName", "Invalid")], id="container"),
        pytest.param(
            failing(action="FailIndex", onPodConditions=[{"type": "A", "status": "True"}]),
            [(f"{FAILURE}[0].action", "Invalid")],
            id="index",
        ),
        pytest.param(
            failing(onPodConditions=[{"type": "a b", "status": "Perhaps"}]),
            [(f"{FAILURE}[0].onPodConditions[0].status", "NotSupported"), (f"{FAILURE}[0].onPodConditions[0].type", "Invalid")],
            id="condition",
        ),
        pytest.param(
            failing(onPodConditions=[{"type": "A", "status": "True"}] * 21),
            [(f"{FAILURE}[0].onPodConditions", "TooMany")],
            id="many-conditions",
        ),
        pytest.param(
            {"spec__podFailurePolicy": {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}] * 21}},
            [(FAILURE, "TooMany")],
            id="many-rules",
        ),
    ],
)
def test_policy_for_failures(changes: dict[str, Any], expected: Causes) -> None:
    key, job = sample("Job", **changes)
    assert causes(validation.create(GroupVersionKind(*key), job)) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(succeeding(succeededIndexes="0-1,2", succeededCount=3), [], id="good"),
        pytest.param(
            {**succeeding(succeededCount=1), "spec__completionMode": "NonIndexed"}, [("spec.successPolicy", "Invalid")], id="mode"
        ),
        pytest.param({"spec__successPolicy": {"rules": []}}, [(SUCCESS, "Required")], id="no-rules"),
        pytest.param({"spec__successPolicy": {"rules": [{"succeededCount": 1}] * 21}}, [(SUCCESS, "TooMany")], id="many-rules"),
        pytest.param(succeeding(), [(f"{SUCCESS}[0]", "Required")], id="empty"),
        pytest.param(succeeding(succeededIndexes="3"), [(f"{SUCCESS}[0].succeededIndexes", "Invalid")], id="too-large"),
        pytest.param(succeeding(succeededIndexes="1,0"), [(f"{SUCCESS}[0].succeededIndexes", "Invalid")], id="unordered"),
        pytest.param(succeeding(succeededCount=-1), [(f"{SUCCESS}[0].succeededCount", "Invalid")], id="negative"),
        pytest.param(succeeding(succeededCount=4), [(f"{SUCCESS}[0].succeededCount", "Invalid")], id="more-than-all"),
        pytest.param(
            succeeding(succeededIndexes="0,2", succeededCount=3),
            [(f"{SUCCESS}[0].succeededCount", "Invalid")],
            id="more-than-named",
        ),
    ],
)
def test_policy_for_success(changes: dict[str, Any], expected: Causes) -> None:
    key, job = sample("Job", **changes)
    assert causes(validation.create(GroupVersionKind(*key), job)) == expected


def test_all_of_it_holds_for_the_jobs_of_a_cron_job() -> None:
    policy = {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0]}}]}
    key, cron_job = sample("CronJob", spec__jobTemplate__spec__podFailurePolicy=policy)
    at = "spec.jobTemplate.spec.podFailurePolicy.rules[0]"
    assert causes(validation.create(GroupVersionKind(*key), cron_job)) == [
        (f"{at}.action", "Invalid"),
        (f"{at}.onExitCodes.values[0]", "Invalid"),
    ]


def with_resources(cpu: str) -> dict[str, Any]:
    container = {**CONTAINER, "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "4"}}}
    return {"spec__template": {**JOB_TEMPLATE, "spec": {**JOB_TEMPLATE["spec"], "containers": [container]}}}


def with_affinity(field: str) -> dict[str, Any]:
    affinity = {**JOB_TEMPLATE["spec"]["affinity"], field: {}}
    return {"spec__template": {**JOB_TEMPLATE, "spec": {**JOB_TEMPLATE["spec"], "affinity": affinity}}}


TEMPLATE = [("spec.template", "Invalid")]


@pytest.mark.parametrize(
    ("old", "changes", "expected"),
    [
        pytest.param({}, with_resources("2"), TEMPLATE, id="resources-of-a-running-one"),
        pytest.param(SUSPENDED, with_resources("2"), [], id="resources-of-one-that-never-began"),
        pytest.param(BEGAN, with_resources("2"), TEMPLATE, id="resources-of-one-that-is-not-suspended-yet"),
        pytest.param(AT_REST, with_resources("2"), [], id="resources-of-one-at-rest"),
        pytest.param({**AT_REST, "status__active": 1}, with_resources("2"), TEMPLATE, id="resources-while-pods-are-left"),
        pytest.param(AT_REST, {"spec__template__spec__nodeSelector": {"a": "b"}}, [], id="placement-of-one-at-rest"),
        pytest.param(BEGAN, {"spec__template__spec__nodeSelector": {"a": "b"}}, TEMPLATE, id="placement-of-one-that-began"),
        pytest.param(SUSPENDED, with_affinity("nodeAffinity"), [], id="affinity-to-nodes"),
        pytest.param(SUSPENDED, with_affinity("podAntiAffinity"), TEMPLATE, id="affinity-to-pods"),
        pytest.param(SUSPENDED, {"spec__template__spec__hostname": "h"}, TEMPLATE, id="anything-else"),
        pytest.param({}, {"spec__completions": 4, "spec__parallelism": 4}, [], id="all-at-once-from-now-on"),
        pytest.param({}, {"spec__completions": 4}, [("spec.completions", "Invalid")], id="some-at-a-time"),
    ],
)
def test_what_may_change(old: dict[str, Any], changes: dict[str, Any], expected: Causes) -> None:
    key, before = sample("Job", **old)
    _, after = sample("Job", **old, **changes)
    assert causes(validation.update(GroupVersionKind(*key), after, before)) == expected


@pytest.mark.parametrize(("text", "size"), [("", 0), ("0", 1), ("0-3,5,7-8", 7)])
def test_indexes_are_counted(text: str, size: int) -> None:
    assert index_sets.count_indexes(text, 9) == size


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1,1", "2-1", "1-1", "0-2-4", "9", "0-9", "3,1-2", " 1", "1,"])
def test_what_is_no_set_of_indexes(text: str) -> None:
    with pytest.raises(index_sets.InvalidIndexes):
        index_sets.count_indexes(text, 9)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("0-3", "4-5", None),
        ("0-3", "3-5", 3),
        ("1,5", "0,2-4,6", None),
        ("1,5", "0,2-5", 5),
        ("0-8", "7", 7),
        ("", "1", None),
        ("x,2", "2", 2),
    ],
)
def test_indexes_in_both(one: str, other: str, found: int | None) -> None:
    assert index_sets.first_common_index(one, other, 9) == index_sets.first_common_index(other, one, 9) == found
