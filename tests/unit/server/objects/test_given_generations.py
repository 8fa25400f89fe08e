"""A generation that an object brings along: of kinds that do not count it stays, as all that nobody makes anything of."""

from __future__ import annotations

import pytest

from support.in_process_server import running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def test_generation_of_an_object_that_came_from_elsewhere_was_lost() -> None:
    async with running() as house:
        made = await house.ask("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": 7}, "data": {"a": "b"}})
        assert (made.code, made.json["metadata"]["generation"]) == (201, 7)
        [entry] = made.json["metadata"]["managedFields"]
        assert entry["fieldsV1"].keys() == {"f:data"}
        changed = await house.ask("PUT", f"{CONFIG_MAPS}/c", {"metadata": {"name": "c", "generation": 9}})
        assert changed.json["metadata"]["generation"] == 7


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/networking.k8s.io/v1/ingressclasses", {"spec": {"controller": "example.com/c"}}),
        ("/api/v1/namespaces/default/pods", {"spec": {"containers": [{"name": "c", "image": "i"}]}}),
    ],
    ids=["ingressclasses", "pods"],
)
async def test_kinds_that_count_begin_with_one(path: str, body: dict[str, object]) -> None:
    async with running() as house:
        made = await house.ask("POST", path, {"metadata": {"name": "c", "generation": 7}, **body})
        assert made.json["metadata"]["generation"] == 1


async def test_generation_below_zero_is_refused_and_zero_is_none() -> None:
    async with running() as house:
        refused = await house.ask("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": -1}})
        assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "metadata.generation")
        made = await house.ask("POST", CONFIG_MAPS, {"metadata": {"name": "c", "generation": 0}})
        assert "generation" not in made.json["metadata"]
