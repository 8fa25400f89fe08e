"""The log line of each action: what was done, to which object, and why."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from support.in_process_server import FakeClock, InProcessServer, running

FOLDER = "/api/v1/namespaces/default/configmaps"


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: InProcessServer, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


def log_lines(caplog: pytest.LogCaptureFixture) -> list[Any]:
    records = [record for record in caplog.records if record.name == "probate.gc.collector"]
    return [(record.message, *(record.facts.get(fact) for fact in ("name", "policy", "because"))) for record in records]  # type: ignore[attr-defined]


async def test_every_action_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate")
    async with running(clock=FakeClock()) as house:
        owner, keeper = await make(house, "owner"), await make(house, "keeper")
        child = await make(house, "child", reference(owner, blockOwnerDeletion=True))
        grandchild = await make(house, "grandchild", reference(child, blockOwnerDeletion=True))
        await make(house, "shared", reference(owner), reference(keeper))
        await house.yield_to_loop()
        await house.request("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        await house.yield_to_loop()
        name = {
            one["metadata"]["name"]: f"ConfigMap {one['metadata']['name']} ({one['metadata']['uid']})" for one in (owner, child)
        }
        assert log_lines(caplog) == [
            ("removed owner references", "shared", None, f"owner {name['owner']} is waiting for its dependents to be removed"),
            ("deleted", "child", "Foreground", f"owner {name['owner']} is waiting for its dependents to be removed"),
            ("deleted", "grandchild", "Background", f"owner {name['child']} is waiting for its dependents to be removed"),
            ("released", "child", None, "no dependent blocks it"),
            ("released", "owner", None, "no dependent blocks it"),
        ]
        first = caplog.records[1].facts  # type: ignore[attr-defined]
        assert (first["what"], first["namespace"], first["uid"]) == ("configmaps", "default", child["metadata"]["uid"])
        assert grandchild["metadata"]["uid"] in {record.facts["uid"] for record in caplog.records}  # type: ignore[attr-defined]


async def test_reason_names_the_owner_that_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate")
    async with running(clock=FakeClock()) as house:
        owner = await make(house, "owner")
        await make(house, "child", reference(owner))
        await house.yield_to_loop()
        await house.request("DELETE", f"{FOLDER}/owner")
        await house.yield_to_loop()
        assert log_lines(caplog) == [
            ("deleted", "child", "Background", f"owner ConfigMap owner ({owner['metadata']['uid']}) is gone")
        ]


async def test_nothing_is_logged_below_the_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "probate")
    async with running(clock=FakeClock()) as house:
        await make(house, "child", reference(await make(house, "owner")))
        await house.yield_to_loop()
        await house.request("DELETE", f"{FOLDER}/owner")
        await house.yield_to_loop()
        assert (await house.request("GET", f"{FOLDER}/child")).code == 404
        assert caplog.records == []
