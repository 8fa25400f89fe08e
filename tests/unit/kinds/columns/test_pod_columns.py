"""The cells of pods: a table of states, as kubectl shows them."""

from __future__ import annotations

from typing import Any

import pytest

from probate.kinds import tables

NOW = 1767312000.0  # 2026-01-02T00:00:00Z
TWO_CONTAINERS = [{"name": "web", "image": "nginx:1.27"}, {"name": "log", "image": "fluent-bit:3"}]


def pod(
    *,
    phase: str = "Running",
    containers: list[dict[str, Any]] | None = None,
    init: list[dict[str, Any]] | None = None,
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    **status: Any,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "creationTimestamp": "2026-01-01T23:55:00Z", **(metadata or {})},
        "spec": {"containers": TWO_CONTAINERS, **(spec or {})},
        "status": {"phase": phase, "containerStatuses": containers or [], "initContainerStatuses": init or [], **status},
    }


def container(state: dict[str, Any], *, name: str = "web", ready: bool = False, restarts: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "ready": ready, "restartCount": restarts, **more}


def running(**more: Any) -> dict[str, Any]:
    return container({"running": {"startedAt": "2026-01-01T23:55:02Z"}}, **{"ready": True, **more})


def waiting(reason: str, **more: Any) -> dict[str, Any]:
    return container({"waiting": {"reason": reason}}, **more)


def ended(code: int, reason: str = "", **more: Any) -> dict[str, Any]:
    signal = more.pop("signal", 0)
    return container({"terminated": {"exitCode": code, "reason": reason, "signal": signal}}, **more)


def conditions(**statuses: str) -> list[dict[str, Any]]:
    return [{"type": type_, "status": status} for type_, status in statuses.items()]


def last_ended(at: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": 1, "finishedAt": at}}


INIT = {"initContainers": [{"name": "one"}, {"name": "two"}]}
SIDECAR = {"initContainers": [{"name": "one"}, {"name": "proxy", "restartPolicy": "Always"}]}
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
DELETED = {"deletionTimestamp": "2026-01-01T23:59:00Z"}

STATES = {
    "just made": (pod(phase="Pending"), "0/2", "Pending", "0"),
    "held by a scheduling gate": (pod(phase="Pending", conditions=GATED), "0/2", "SchedulingGated", "0"),
    "starting": (
        pod(phase="Pending", containers=[waiting("ContainerCreating"), waiting("ContainerCreating")]),
        "0/2",
        "ContainerCreating",
        "0",
    ),
    "running": (pod(containers=[running(), running()]), "2/2", "Running", "0"),
    "one not ready": (pod(containers=[running(), running(ready=False)]), "1/2", "Running", "0"),
    "image missing": (pod(phase="Pending", containers=[waiting("ImagePullBackOff"), running()]), "1/2", "ImagePullBackOff", "0"),
    "the first that waits is told": (
        pod(containers=[waiting("CrashLoopBackOff"), waiting("ImagePullBackOff")]),
        "0/2",
        "CrashLoopBackOff",
        "0",
    ),
    "crashing": (
        pod(containers=[waiting("CrashLoopBackOff", restarts=7, lastState=last_ended("2026-01-01T23:57:00Z")), running()]),
        "1/2",
        "CrashLoopBackOff",
        "7 (3m ago)",
    ),
    "the latest restart counts": (
        pod(
            containers=[
                running(restarts=2, lastState=last_ended("2026-01-01T20:00:00Z")),
                running(restarts=1, lastState=last_ended("2026-01-01T23:59:55Z")),
            ]
        ),
        "2/2",
        "Running",
        "3 (5s ago)",
    ),
    "restarted at an unknown time": (pod(containers=[running(restarts=2), running()]), "2/2", "Running", "2"),
    "completed": (pod(phase="Succeeded", containers=[ended(0, "Completed"), ended(0, "Completed")]), "0/2", "Completed", "0"),
    "failed": (pod(phase="Failed", containers=[ended(1, "Error"), ended(0, "Completed")]), "0/2", "Error", "0"),
    "out of memory": (pod(containers=[ended(137, "OOMKilled"), running()]), "1/2", "OOMKilled", "0"),
    "ended by a signal": (pod(containers=[ended(0, signal=9), running()]), "1/2", "Signal:9", "0"),
    "ended without a word": (pod(containers=[ended(3), running()]), "1/2", "ExitCode:3", "0"),
    "evicted": (pod(phase="Failed", reason="Evicted"), "0/2", "Evicted", "0"),
    "one completed, one running, ready": (
        pod(containers=[ended(0, "Completed"), running()], conditions=conditions(Ready="True")),
        "1/2",
        "Running",
        "0",
    ),
    "one completed, one running, not ready": (
        pod(containers=[ended(0, "Completed"), running()], conditions=conditions(Ready="False")),
        "1/2",
        "NotReady",
        "0",
    ),
    "first init container runs": (
        pod(phase="Pending", spec=INIT, init=[running(name="one"), waiting("PodInitializing", name="two")]),
        "0/2",
        "Init:0/2",
        "0",
    ),
    "second init container waits its turn": (
        pod(phase="Pending", spec=INIT, init=[ended(0, "Completed", name="one"), waiting("PodInitializing", name="two")]),
        "0/2",
        "Init:1/2",
        "0",
    ),
    "init container crashes": (
        pod(phase="Pending", spec=INIT, init=[waiting("CrashLoopBackOff", name="one", restarts=4)]),
        "0/2",
        "Init:CrashLoopBackOff",
        "4",
    ),
    "init container failed": (pod(phase="Pending", spec=INIT, init=[ended(1, "Error", name="one")]), "0/2", "Init:Error", "0"),
    "init container failed silently": (pod(phase="Pending", spec=INIT, init=[ended(2, name="one")]), "0/2", "Init:ExitCode:2", "0"),
    "init container got a signal": (
        pod(phase="Pending", spec=INIT, init=[ended(137, name="one", signal=9)]),
        "0/2",
        "Init:Signal:9",
        "0",
    ),
    "restarts of init containers are forgotten": (
        pod(spec=INIT, init=[ended(0, name="one", restarts=5), ended(0, name="two")], containers=[running(), running()]),
        "2/2",
        "Running",
        "0",
    ),
    "an init container runs again after a reboot": (
        pod(
            spec=INIT,
            init=[running(name="one")],
            containers=[running(), running()],
            conditions=conditions(Initialized="True"),
        ),
        "2/2",
        "Init:0/2",
        "0",
    ),
    "a sidecar counts as a container": (
        pod(
            spec=SIDECAR,
            init=[ended(0, name="one", restarts=5), running(name="proxy", started=True, restarts=2)],
            containers=[running(), running(restarts=1)],
        ),
        "3/3",
        "Running",
        "3",
    ),
    "a sidecar that has not started yet": (
        pod(phase="Pending", spec=SIDECAR, init=[ended(0, name="one"), running(name="proxy", ready=False, started=False)]),
        "0/3",
        "Init:1/2",
        "0",
    ),
    "terminating": (pod(metadata=DELETED, containers=[running(), running()]), "2/2", "Terminating", "0"),
    "deleted after its end": (
        pod(phase="Succeeded", metadata=DELETED, containers=[ended(0, "Completed"), ended(0, "Completed")]),
        "0/2",
        "Completed",
        "0",
    ),
    "deleted on a lost node": (pod(metadata=DELETED, reason="NodeLost"), "0/2", "Unknown", "0"),
    "on a lost node": (pod(reason="NodeLost"), "0/2", "NodeLost", "0"),
}


@pytest.mark.parametrize("state", STATES)
def test_a_pods_state_shows_as_ready_status_and_restarts(state: str) -> None:
    object_, *expected = STATES[state]
    assert tables.cells("", "v1", "pods", object_=object_, now=NOW)[:5] == ["web", *expected, "5m"]


def test_wide_columns_of_a_placed_pod_tell_where_it_is() -> None:
    gates = {"nodeName": "node-1", "readinessGates": [{"conditionType": "example.com/lb"}, {"conditionType": "example.com/dns"}]}
    told = [{"type": "example.com/lb", "status": "True"}, {"type": "example.com/dns", "status": "False"}]
    object_ = pod(spec=gates, podIP="10.0.0.7", podIPs=[{"ip": "10.0.0.7"}, {"ip": "fd00::7"}], conditions=told)
    assert tables.cells("", "v1", "pods", object_=object_, now=NOW)[5:] == ["10.0.0.7", "node-1", "<none>", "1/2"]


def test_wide_columns_of_a_waiting_pod_are_none_but_for_its_nominated_node() -> None:
    object_ = pod(phase="Pending", nominatedNodeName="node-2")
    assert tables.cells("", "v1", "pods", object_=object_, now=NOW)[5:] == ["<none>", "<none>", "node-2", "<none>"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_row_of_an_ended_pod_says_that_it_is_completed(phase: str) -> None:
    (row,) = tables.rows(tables.printer("", "v1", "pods"), [pod(phase=phase)], now=NOW)
    (condition,) = row.conditions
    assert (condition["type"], condition["status"], condition["reason"]) == ("Completed", "True", phase)


def test_a_row_of_a_running_pod_has_no_conditions() -> None:
    (row,) = tables.rows(tables.printer("", "v1", "pods"), [pod()], now=NOW)
    assert row.conditions == []


def test_a_pod_template_shows_its_containers_and_labels() -> None:
    template = {
        "metadata": {"name": "base"},
        "template": {"metadata": {"labels": {"tier": "web", "app": "shop"}}, "spec": {"containers": TWO_CONTAINERS}},
    }
    expected = ["base", "web,log", "nginx:1.27,fluent-bit:3", "app=shop,tier=web"]
    assert tables.cells("", "v1", "podtemplates", object_=template, now=NOW) == expected
