"""Objects in a version that is not the one they are stored in."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import running

SCALERS = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
CPU: dict[str, Any] = {"type": "Utilization", "averageUtilization": 50}


@pytest.mark.parametrize("way", ["create", "update"])
async def test_object_was_not_converted_to_the_stored_version(way: str) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 5, "minReplicas": 1, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
    about = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    async with running(collects=False) as house:
        first = {**about, "spec": spec if way == "create" else {**spec, "targetCPUUtilizationPercentage": 10}}
        assert (await house.request("POST", SCALERS, first)).code == 201
        told = await house.request("GET" if way == "create" else "PUT", f"{SCALERS}/web", {**about, "spec": spec})
        assert told.json["spec"] == spec
        shown = (await house.request("GET", SCALERS.replace("v1", "v2") + "/web")).json
        assert shown["spec"]["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": CPU}}]
