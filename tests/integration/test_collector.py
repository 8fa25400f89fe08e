"""Regressions of the collector in a whole server. Each test is named after the failure."""

from __future__ import annotations

import asyncio
from typing import Any

from support.virtual_time_server import MERGE_PATCH, VirtualTimeServer, in_memory

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HELD = ["example.com/held"]
FOREGROUND = {"propagationPolicy": "Foreground"}


def reference(name: str, uid: str, kind: str = "ConfigMap", version: str = "v1", *, blocks: bool = True) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": blocks}


async def create(server: VirtualTimeServer, name: str, *owners: dict[str, Any], finalizers: list[str] | None = None) -> str:
    """Creates a ConfigMap and returns its uid."""
    meta = {"name": name, "ownerReferences": owners, "finalizers": finalizers or []}
    answer = await server.request("POST", CONFIG_MAPS, {"metadata": meta})
    assert answer.code == 201, answer
    return str(answer.json["metadata"]["uid"])


async def patch(server: VirtualTimeServer, name: str, **meta: Any) -> None:
    answer = await server.request("PATCH", f"{CONFIG_MAPS}/{name}", {"metadata": meta}, media=MERGE_PATCH)
    assert answer.code == 200, answer


async def delete(server: VirtualTimeServer, name: str, options: dict[str, Any] | None = None) -> None:
    answer = await server.request("DELETE", f"{CONFIG_MAPS}/{name}", options)
    assert answer.code == 200, answer


async def left(server: VirtualTimeServer) -> set[str]:
    """Returns the names of the remaining ConfigMaps once the collector is idle."""
    await server.settle()
    return {one["metadata"]["name"] for one in (await server.request("GET", CONFIG_MAPS)).json["items"]}


async def test_collector_reported_idle_while_processing() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        for number in range(50):
            await create(server, f"dependent-{number}", reference("owner", owner))
        await server.settle()
        await delete(server, "owner")
        gone_at = await server.store.revision()
        while not (server.collector.is_idle and server.collector.revision >= gone_at):  # noqa: ASYNC110 - at every turn of the loop
            await asyncio.sleep(0)
        assert (await server.request("GET", CONFIG_MAPS)).json["items"] == []


async def test_stopped_collector_left_a_task_behind() -> None:
    before = asyncio.all_tasks()
    async with in_memory() as server:
        await create(server, "one")
        await server.settle()
    assert asyncio.all_tasks() == before


async def test_reference_of_an_unknown_kind_was_treated_as_dangling_because_of_its_uid() -> None:
    async with in_memory() as server:
        dead = await create(server, "dead")
        await server.settle()
        await delete(server, "dead")
        await server.settle()
        await create(server, "dependent", reference("dead", dead, "Ghost", "ghost.example.com/v1"))
        assert await left(server) == {"dependent"}


async def test_owner_waited_forever_after_a_blocker_with_a_wrong_owner_name_was_deleted() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        await create(server, "dependent", reference("nobody", owner), finalizers=HELD)
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await server.restart_collector()
        assert await left(server) == {"owner", "dependent"}
        await patch(server, "dependent", finalizers=None)
        assert await left(server) == set()


async def test_owner_waited_forever_because_another_reference_to_it_was_wrong() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        from_elsewhere = {"metadata": {"name": "elsewhere", "ownerReferences": [reference("owner", owner)]}, "value": 1}
        priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
        assert (await server.request("POST", priorities, from_elsewhere)).code == 201
        await create(server, "dependent", reference("owner", owner), finalizers=HELD)
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await asyncio.gather(server.request("DELETE", f"{priorities}/elsewhere"), patch(server, "dependent", ownerReferences=None))
        assert await left(server) == {"dependent"}


async def test_cycle_of_references_with_wrong_owner_names_was_not_detected() -> None:
    async with in_memory() as server:
        one = await create(server, "one")
        two = await create(server, "two", reference("one", one))
        await patch(server, "one", ownerReferences=[reference("two", two, "Ghost", "ghost.example.com/v1")])
        await delete(server, "one", FOREGROUND)
        assert await left(server) == set()


async def test_object_with_a_wrongly_named_reference_to_itself_waited_for_itself() -> None:
    async with in_memory() as server:
        one = await create(server, "one")
        await patch(server, "one", ownerReferences=[reference("nobody", one, "Ghost", "ghost.example.com/v1")])
        await delete(server, "one", FOREGROUND)
        assert await left(server) == set()


async def test_owner_waited_forever_for_a_blocker_that_lost_an_owner_of_an_unknown_kind() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        ghost = reference("ghost", "0f0f", "Ghost", "ghost.example.com/v1", blocks=False)
        await create(server, "dependent", ghost, reference("owner", owner))
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await patch(server, "dependent", ownerReferences=[reference("owner", owner)])
        assert await left(server) == set()
