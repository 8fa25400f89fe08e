"""Images that cannot be pulled: their pods wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.controllers.simulated_nodes import image_pulls
from probate.controllers.workloads.owner_kinds import PODS
from support.workload_cluster import Object, Stage, condition, staged

ABSENT = "example.com/web:404"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged("simulator", nodes=1, pod_start_delay=2.0, pod_stop_delay=3.0) as one:
        yield one


async def pod(stage: Stage, *names: str, **meta: Any) -> None:
    containers = [{"name": f"c{number}", "image": name} for number, name in enumerate(names)]
    await stage.make(PODS, "a", {"containers": containers, "nodeName": "node-1"}, **meta)


async def status(stage: Stage) -> Object:
    found: Object = (await stage.get(PODS, "a"))["status"]
    return found


def reasons(status: Object, field: str = "containerStatuses") -> list[str]:
    return [one["state"].get("waiting", {}).get("reason", "") for one in status[field]]


@pytest.mark.parametrize(
    ("image", "is_there"),
    [
        ("nginx", True),
        ("registry.k8s.io/e2e-test-images/httpd:2.4.38-4", True),
        ("example.com/invalid/web:1404", True),
        ("example.com/validator:404.1", True),
        ("webserver:404", False),
        ("foo:non-existent", False),
        ("nonexistent.example.com/web", False),
        ("invalid.registry.k8s.io/invalid/alpine:3.1", False),
        ("registry.invalid/web", False),
        ("registry.invalid:5000/web", False),
    ],
)
def test_images_say_of_themselves_that_they_are_not_there(image: str, is_there: bool) -> None:
    pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}]}}
    assert image_pulls.lacking(pod) == (frozenset() if is_there else {image})


async def test_pod_whose_image_cannot_be_pulled_waits(stage: Stage) -> None:
    await pod(stage, "one", ABSENT)
    await stage.pass_time(2)
    told = await status(stage)
    assert (told["phase"], reasons(told)) == ("Pending", ["ContainerCreating", "ErrImagePull"])
    assert condition({"status": told}, "Ready")["reason"] == "ContainersNotReady"
    assert condition({"status": told}, "Initialized")["status"] == "True"
    await stage.pass_time(2)
    told = await status(stage)
    assert (told["phase"], reasons(told)) == ("Pending", ["ContainerCreating", "ImagePullBackOff"])
    await stage.pass_time(3600)
    assert await status(stage) == told


async def test_pod_runs_once_it_has_another_image(stage: Stage) -> None:
    await pod(stage, ABSENT)
    await stage.pass_time(10)
    await stage.change(PODS, "a", {"spec": {"containers": [{"name": "c0", "image": "two"}]}}, lists=True)
    told = await status(stage)
    assert (told["phase"], condition({"status": told}, "Ready")["status"]) == ("Running", "True")
    assert told["containerStatuses"][0]["restartCount"] == 0


async def test_pod_says_for_how_long_its_images_cannot_be_pulled(stage: Stage) -> None:
    await pod(stage, "one", annotations={"probate.dev/pull": "false"})
    await stage.pass_time(10)
    assert (await status(stage))["phase"] == "Pending"
    await stage.change(PODS, "a", {"metadata": {"annotations": {"probate.dev/pull": None}}})
    assert (await status(stage))["phase"] == "Running"


async def test_image_of_an_init_container_holds_the_rest_back(stage: Stage) -> None:
    first, second = {"name": "i", "image": "one"}, {"name": "j", "image": ABSENT}
    third, own = {"name": "k", "image": "one"}, [{"name": "c", "image": "one"}]
    await stage.make(PODS, "a", {"initContainers": [first, second, third], "containers": own, "nodeName": "node-1"})
    await stage.pass_time(2)
    told = await status(stage)
    assert reasons(told, "initContainerStatuses") == ["", "ErrImagePull", "PodInitializing"]
    assert (told["phase"], reasons(told)) == ("Pending", ["PodInitializing"])
    assert condition({"status": told}, "Initialized")["reason"] == "ContainersNotInitialized"


async def test_pod_that_waits_for_its_image_goes_at_once_and_fails_at_its_deadline(stage: Stage) -> None:
    await pod(stage, ABSENT)
    await stage.pass_time(2)
    await stage.delete(PODS, "a")
    assert await stage.find(PODS, "a") is None
    spec = {"containers": [{"name": "c", "image": ABSENT}], "nodeName": "node-1", "activeDeadlineSeconds": 10}
    await stage.make(PODS, "a", spec)
    await stage.pass_time(10)
    told = await status(stage)
    assert (told["phase"], told["reason"]) == ("Failed", "DeadlineExceeded")


async def test_people_are_told(stage: Stage) -> None:
    await pod(stage, ABSENT)
    await stage.pass_time(4)
    assert {reason for reason, _ in await stage.told("a")} == {"Failed", "BackOff"}
