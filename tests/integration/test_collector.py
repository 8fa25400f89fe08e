"""The collector in a whole server, where one of its failures once showed. Each test is named after the failure."""

from __future__ import annotations

import asyncio
from typing import Any

from support.virtual_time_server import MERGE_PATCH, Cluster, in_memory

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HELD = ["example.com/held"]
FOREGROUND = {"propagationPolicy": "Foreground"}


def reference(name: str, uid: str, kind: str = "ConfigMap", version: str = "v1", *, blocks: bool = True) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": blocks}


async def create(server: Cluster, name: str, *owners: dict[str, Any], finalizers: list[str] | None = None) -> str:
    """A ConfigMap; its uid."""
    meta = {"name": name, "ownerReferences": owners, "finalizers": finalizers or []}
    answer = await server.ask("POST", CONFIG_MAPS, {"metadata": meta})
    assert answer.code == 201, answer
    return str(answer.json["metadata"]["uid"])


async def patch(server: Cluster, name: str, **meta: Any) -> None:
    answer = await server.ask("PATCH", f"{CONFIG_MAPS}/{name}", {"metadata": meta}, media=MERGE_PATCH)
    assert answer.code == 200, answer


async def delete(server: Cluster, name: str, options: dict[str, Any] | None = None) -> None:
    answer = await server.ask("DELETE", f"{CONFIG_MAPS}/{name}", options)
    assert answer.code == 200, answer


async def left(server: Cluster) -> set[str]:
    """The names of the ConfigMaps that are there once the collector has come to rest."""
    await server.settle()
    return {one["metadata"]["name"] for one in (await server.ask("GET", CONFIG_MAPS)).json["items"]}


async def test_collector_called_itself_idle_in_the_middle_of_a_turn() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        for number in range(50):
            await create(server, f"dependent-{number}", reference("owner", owner))
        await server.settle()
        await delete(server, "owner")
        gone_at = await server.store.revision()
        while not (server.collector.is_idle and server.collector.seen >= gone_at):  # noqa: ASYNC110 - at every turn of the loop
            await asyncio.sleep(0)
        assert (await server.ask("GET", CONFIG_MAPS)).json["items"] == []


async def test_stopped_collector_left_a_task_behind() -> None:
    before = asyncio.all_tasks()
    async with in_memory() as server:
        await create(server, "one")
        await server.settle()
    assert asyncio.all_tasks() == before


async def test_reference_of_an_unknown_kind_was_taken_for_a_dead_owner_because_of_its_uid() -> None:
    async with in_memory() as server:
        dead = await create(server, "dead")
        await server.settle()
        await delete(server, "dead")
        await server.settle()
        await create(server, "dependent", reference("dead", dead, "Ghost", "ghost.example.com/v1"))
        assert await left(server) == {"dependent"}


async def test_owner_waited_for_ever_after_a_blocker_that_misnamed_it_had_gone() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        await create(server, "dependent", reference("nobody", owner), finalizers=HELD)
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await server.restart_collector()
        assert await left(server) == {"owner", "dependent"}
        await patch(server, "dependent", finalizers=None)
        assert await left(server) == set()


async def test_owner_waited_for_ever_because_another_had_already_said_something_wrong_about_it() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        from_elsewhere = {"metadata": {"name": "elsewhere", "ownerReferences": [reference("owner", owner)]}, "value": 1}
        priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
        assert (await server.ask("POST", priorities, from_elsewhere)).code == 201
        await create(server, "dependent", reference("owner", owner), finalizers=HELD)
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await asyncio.gather(server.ask("DELETE", f"{priorities}/elsewhere"), patch(server, "dependent", ownerReferences=None))
        assert await left(server) == {"dependent"}


async def test_circle_of_references_that_misname_their_owners_was_not_seen() -> None:
    async with in_memory() as server:
        one = await create(server, "one")
        two = await create(server, "two", reference("one", one))
        await patch(server, "one", ownerReferences=[reference("two", two, "Ghost", "ghost.example.com/v1")])
        await delete(server, "one", FOREGROUND)
        assert await left(server) == set()


async def test_object_that_misnamed_itself_as_its_owner_waited_for_itself() -> None:
    async with in_memory() as server:
        one = await create(server, "one")
        await patch(server, "one", ownerReferences=[reference("nobody", one, "Ghost", "ghost.example.com/v1")])
        await delete(server, "one", FOREGROUND)
        assert await left(server) == set()


async def test_owner_waited_for_ever_for_a_blocker_that_was_freed_of_an_owner_of_an_unknown_kind() -> None:
    async with in_memory() as server:
        owner = await create(server, "owner")
        ghost = reference("ghost", "0f0f", "Ghost", "ghost.example.com/v1", blocks=False)
        await create(server, "dependent", ghost, reference("owner", owner))
        await delete(server, "owner", FOREGROUND)
        assert await left(server) == {"owner", "dependent"}
        await patch(server, "dependent", ownerReferences=[reference("owner", owner)])
        assert await left(server) == set()
