"""Pods get what their runtime class has: overhead, a node selector, tolerations."""

from __future__ import annotations

from typing import Any

import pytest

from support.in_process_server import House, Told, running

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
PODS = "/api/v1/namespaces/default/pods"
AWAY = [f"node.kubernetes.io/{one}" for one in ("not-ready", "unreachable")]
DEAR = {"overhead": {"podFixed": {"cpu": "250m", "memory": "64Mi"}}}
PLACED = {
    "scheduling": {
        "nodeSelector": {"sandbox": "yes"},
        "tolerations": [{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}],
    }
}


async def make_class(house: House, name: str, **fields: Any) -> None:
    assert (await house.ask("POST", CLASSES, {"metadata": {"name": name}, "handler": "h", **fields})).code == 201


async def make_pod(house: House, name: str = "p", **spec: Any) -> Told:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return await house.ask("POST", PODS, {"metadata": {"name": name}, "spec": spec})


async def test_pod_did_not_get_what_its_runtime_class_has() -> None:
    async with running() as house:
        await make_class(house, "both", **DEAR, **PLACED)
        made = await make_pod(house, runtimeClassName="both", nodeSelector={"disk": "fast"})
        assert made.code == 201, made.body
        spec = made.json["spec"]
        assert spec["overhead"] == {"cpu": "250m", "memory": "64Mi"}
        assert spec["nodeSelector"] == {"disk": "fast", "sandbox": "yes"}
        assert [one["key"] for one in spec["tolerations"]] == [*AWAY, "sandbox"]
        [entry] = made.json["metadata"]["managedFields"]
        assert "f:overhead" not in entry["fieldsV1"]["f:spec"]


async def test_pod_that_says_the_same_as_its_class_is_taken() -> None:
    async with running() as house:
        await make_class(house, "both", **DEAR, **PLACED)
        same: dict[str, Any] = {"overhead": {"memory": "65536Ki", "cpu": "0.25"}, "nodeSelector": {"sandbox": "yes"}}
        assert (await make_pod(house, runtimeClassName="both", **same)).code == 201


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
    async with running() as house:
        for name, fields in (("plain", {}), ("dear", DEAR), ("placed", PLACED)):
            await make_class(house, name, **fields)
        refused = await make_pod(house, **spec)
        assert (refused.code, refused.json["reason"]) == (403, "Forbidden")
        assert why in refused.json["message"]


async def test_class_that_is_gone_is_given_to_nobody() -> None:
    async with running() as house:
        await make_class(house, "plain")
        assert (await make_pod(house, "a", runtimeClassName="plain")).code == 201
        await house.ask("DELETE", f"{CLASSES}/plain")
        assert (await make_pod(house, "b", runtimeClassName="plain")).code == 403
