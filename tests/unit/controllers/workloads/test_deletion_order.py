"""RS-4: which pods are deleted first. In each step of the order, all later criteria speak for the opposite."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.timestamps import format_time
from probate.controllers.workloads.deletion_order import DELETION_COST, sort_for_deletion

NOW = 1_700_000_000.0


def pod(uid: str, **properties: Any) -> dict[str, Any]:
    """Returns a pod that would be deleted last, except for these properties."""
    values = {"node": "n", "phase": "Running", "ready": 1_000_000.0, "cost": 0, "restarts": 0, "age": 2_000_000.0, **properties}
    conditions = (
        [{"type": "Ready", "status": "True", "lastTransitionTime": format_time(NOW - values["ready"])}] if values["ready"] else []
    )
    return {
        "metadata": {
            "uid": uid,
            "creationTimestamp": format_time(NOW - values["age"]),
            "annotations": {DELETION_COST: str(values["cost"])},
        },
        "spec": {"nodeName": values["node"]} if values["node"] else {},
        "status": {"phase": values["phase"], "conditions": conditions, "containerStatuses": [{"restartCount": values["restarts"]}]},
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"node": ""}, {"phase": "Pending", "ready": 0}),
        ({"phase": "Pending"}, {"phase": "Unknown", "ready": 0}),
        ({"phase": "Unknown"}, {"phase": "Running", "ready": 0}),
        ({"ready": 0, "cost": 5}, {"cost": -5}),
        ({"cost": -1}, {"cost": 1, "node": "crowded"}),
        ({"node": "crowded"}, {"ready": 10.0}),
        ({"ready": 10.0}, {"ready": 1_000.0, "restarts": 9}),
        ({"restarts": 9}, {"age": 10.0}),
        ({"age": 10.0}, {"age": 1_000.0}),
    ],
    ids=["unassigned", "pending", "unknown", "not ready", "cheaper", "co-located", "newer ready", "more restarts", "newer"],
)
def test_rs_4_order_of_surplus_pods(first: dict[str, Any], second: dict[str, Any]) -> None:
    expected_first, expected_second = pod("b", **first), pod("a", **second)
    crowded_pods = [pod(f"c{number}", node="crowded") for number in range(3)]
    related = [expected_first, expected_second, *crowded_pods]
    assert sort_for_deletion([expected_second, expected_first], related, NOW) == [expected_first, expected_second]


def test_rs_4_pods_of_similar_age_are_ordered_by_uid() -> None:
    older, newer = pod("a", ready=1_100.0), pod("b", ready=1_050.0)
    assert sort_for_deletion([newer, older], [], NOW) == [older, newer], "1,100 s and 1,050 s are the same age: the uid decides"


def test_rs_4_invalid_cost_counts_as_zero() -> None:
    invalid_cost, costly = pod("b", cost="many"), pod("a", cost=1)
    assert sort_for_deletion([costly, invalid_cost], [], NOW) == [invalid_cost, costly]
