"""A generation in a create request: kinds that do not count generations keep it, all others start with 1."""

from __future__ import annotations

import pytest

from support.in_process_server import running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def test_generation_of_a_restored_object_was_lost() -> None:
    async with running() as server:
        made = await server.request("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": 7}, "data": {"a": "b"}})
        assert (made.code, made.json["metadata"]["generation"]) == (201, 7)
        [entry] = made.json["metadata"]["managedFields"]
        assert entry["fieldsV1"].keys() == {"f:data"}
        changed = await server.request("PUT", f"{CONFIG_MAPS}/c", {"metadata": {"name": "c", "generation": 9}})
        assert changed.json["metadata"]["generation"] == 7


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/networking.k8s.io/v1/ingressclasses", {"spec": {"controller": "example.com/c"}}),
        ("/api/v1/namespaces/default/pods", {"spec": {"containers": [{"name": "c", "image": "i"}]}}),
    ],
    ids=["ingressclasses", "pods"],
)
async def test_kinds_that_count_generations_start_with_one(path: str, body: dict[str, object]) -> None:
    async with running() as server:
        made = await server.request("POST", path, {"metadata": {"name": "c", "generation": 7}, **body})
        assert made.json["metadata"]["generation"] == 1


async def test_negative_generation_is_rejected_and_zero_is_dropped() -> None:
    async with running() as server:
        refused = await server.request("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": -1}})
        assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "metadata.generation")
        made = await server.request("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": 0}})
        assert "generation" not in made.json["metadata"]
