"""RS-4: which pod goes first. Each step of the order, all later ones speaking against it."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.timestamps import timestamp
from probate.controllers.workloads.deletion_order import DELETION_COST, in_order

NOW = 1_700_000_000.0


def pod(uid: str, **facts: Any) -> dict[str, Any]:
    """A pod that would go last, but for the facts."""
    of = {"node": "n", "phase": "Running", "ready": 1_000_000.0, "cost": 0, "restarts": 0, "age": 2_000_000.0, **facts}
    conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(NOW - of["ready"])}] if of["ready"] else []
    return {
        "metadata": {"uid": uid, "creationTimestamp": timestamp(NOW - of["age"]), "annotations": {DELETION_COST: str(of["cost"])}},
        "spec": {"nodeName": of["node"]} if of["node"] else {},
        "status": {"phase": of["phase"], "conditions": conditions, "containerStatuses": [{"restartCount": of["restarts"]}]},
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
def test_rs_4_order_of_pods_that_are_too_many(first: dict[str, Any], second: dict[str, Any]) -> None:
    one, other = pod("b", **first), pod("a", **second)
    crowd = [pod(f"c{number}", node="crowded") for number in range(3)]
    related = [one, other, *crowd]
    assert in_order([other, one], related, NOW) == [one, other]


def test_rs_4_pods_of_about_the_same_age_are_equal() -> None:
    older, newer = pod("a", ready=1_100.0), pod("b", ready=1_050.0)
    assert in_order([newer, older], [], NOW) == [older, newer], "1,100 s and 1,050 s are the same age: the uid decides"


def test_rs_4_cost_that_is_no_number_counts_as_nought() -> None:
    odd, costly = pod("b", cost="many"), pod("a", cost=1)
    assert in_order([costly, odd], [], NOW) == [odd, costly]
