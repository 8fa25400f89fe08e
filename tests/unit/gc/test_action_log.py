"""What the log says about each action: what was done, to whom, and because of what."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from support.in_process_server import FakeClock, House, running

FOLDER = "/api/v1/namespaces/default/configmaps"


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: House, name: str, *references: Any, **more: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": references, **more}})


def told(caplog: pytest.LogCaptureFixture) -> list[Any]:
    records = [record for record in caplog.records if record.name == "probate.gc.collector"]
    return [(record.message, *(record.facts.get(fact) for fact in ("name", "policy", "because"))) for record in records]  # type: ignore[attr-defined]


async def test_every_action_is_told_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate")
    async with running(clock=FakeClock()) as house:
        owner, keeper = await make(house, "owner"), await make(house, "keeper")
        child = await make(house, "child", reference(owner, blockOwnerDeletion=True))
        grandchild = await make(house, "grandchild", reference(child, blockOwnerDeletion=True))
        await make(house, "shared", reference(owner), reference(keeper))
        await house.turns()
        await house.ask("DELETE", f"{FOLDER}/owner", {"propagationPolicy": "Foreground"})
        await house.turns()
        name = {
            one["metadata"]["name"]: f"ConfigMap {one['metadata']['name']} ({one['metadata']['uid']})" for one in (owner, child)
        }
        assert told(caplog) == [
            ("references dropped", "shared", None, f"owner {name['owner']} is waiting for its dependents to go"),
            ("deleted", "child", "Foreground", f"owner {name['owner']} is waiting for its dependents to go"),
            ("deleted", "grandchild", "Background", f"owner {name['child']} is waiting for its dependents to go"),
            ("released", "child", None, "no dependent blocks it"),
            ("released", "owner", None, "no dependent blocks it"),
        ]
        first = caplog.records[1].facts  # type: ignore[attr-defined]
        assert (first["what"], first["namespace"], first["uid"]) == ("configmaps", "default", child["metadata"]["uid"])
        assert grandchild["metadata"]["uid"] in {record.facts["uid"] for record in caplog.records}  # type: ignore[attr-defined]


async def test_owner_that_is_gone_is_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "probate")
    async with running(clock=FakeClock()) as house:
        owner = await make(house, "owner")
        await make(house, "child", reference(owner))
        await house.turns()
        await house.ask("DELETE", f"{FOLDER}/owner")
        await house.turns()
        assert told(caplog) == [("deleted", "child", "Background", f"owner ConfigMap owner ({owner['metadata']['uid']}) is gone")]


async def test_nothing_is_told_below_the_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "probate")
    async with running(clock=FakeClock()) as house:
        await make(house, "child", reference(await make(house, "owner")))
        await house.turns()
        await house.ask("DELETE", f"{FOLDER}/owner")
        await house.turns()
        assert (await house.ask("GET", f"{FOLDER}/child")).code == 404
        assert caplog.records == []
