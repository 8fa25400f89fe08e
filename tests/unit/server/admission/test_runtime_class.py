"""Pods get the overhead, node selector and tolerations of their RuntimeClass."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import InProcessServer, Response, running

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
PODS = "/api/v1/namespaces/default/pods"
AWAY = [f"node.kubernetes.io/{item}" for item in ("not-ready", "unreachable")]
DEAR = {"overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}}}
PLACED = {
    "scheduling": {
        "nodeSelector": {"sandbox": "yes"},
        "tolerations": [{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}],
    }
}


async def make_class(server: InProcessServer, name: str, **fields: Any) -> None:
    assert (await server.request("POST", CLASSES, {"metadata": {"name": name}, "handler": "h", **fields})).code == 201


async def make_pod(server: InProcessServer, name: str = "p", **spec: Any) -> Response:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return await server.request("POST", PODS, {"metadata": {"name": name}, "spec": spec})


async def test_pod_did_not_get_what_its_runtime_class_has() -> None:
    async with running() as server:
        await make_class(server, "both", **DEAR, **PLACED)
        created = await make_pod(server, runtimeClassName="both", nodeSelector={"disk": "fast"})
        assert created.code == 201, created.body
        spec = created.json["spec"]
        assert spec["overhead"] == {"cpu": "250m", "memory": "64Mi"}
        assert spec["nodeSelector"] == {"disk": "fast", "sandbox": "yes"}
        assert [item["key"] for item in spec["tolerations"]] == [*AWAY, "sandbox"]
        [entry] = created.json["metadata"]["managedFields"]
        assert "f:overhead" not in entry["fieldsV1"]["f:spec"]


async def test_pod_that_agrees_with_its_class_is_accepted() -> None:
    async with running() as server:
        await make_class(server, "both", **DEAR, **PLACED)
        same: dict[str, Any] = {"overhead": {"memory": "65536Ki", "cpu": "0.25"}, "nodeSelector": {"sandbox": "yes"}}
        assert (await make_pod(server, runtimeClassName="both", **same)).code == 201


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"runtimeClassName": "nope"}, 'RuntimeClass "nope" not found', id="no such class"),
        pytest.param({"overhead": {"cpu": "1"}}, "without corresponding RuntimeClass", id="overhead and no class"),
        pytest.param(
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}}, "without corresponding", id="a class without overhead"
        ),
        pytest.param({"runtimeClassName": "dear", "overhead": {"cpu": "1"}}, "doesn't match", id="another overhead"),
        pytest.param(
            {"runtimeClassName": "placed", "nodeSelector": {"sandbox": "no"}},
            "runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
            id="another selector",
        ),
    ],
)
async def test_pod_that_contradicts_its_runtime_class_is_refused(spec: dict[str, Any], why: str) -> None:
    async with running() as server:
        for name, fields in (("plain", {}), ("dear", DEAR), ("placed", PLACED)):
            await make_class(server, name, **fields)
        refused = await make_pod(server, **spec)
        assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
        assert why in refused.json["message"]


async def test_deleted_class_no_longer_applies() -> None:
    async with running() as server:
        await make_class(server, "plain")
        assert (await make_pod(server, "a", runtimeClassName="plain")).code == 201
        await server.request("DELETE", f"{CLASSES}/plain")
        assert (await make_pod(server, "b", runtimeClassName="plain")).code == 403
