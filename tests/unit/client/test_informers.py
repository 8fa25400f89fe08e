"""What an informer knows is never behind what was written through it, and is never wrong for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.client.informers import RETRY_SECONDS, Informer, Name, name_of
from probate.client.objects import Client, Kind, has_cause
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import Local
from support.in_process_server import House, running

PODS = Kind("", "v1", "pods")
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


class Slow(Local):
    """A transport that brings news of changes only while its gate is open, and answers only while its door is."""

    def __init__(self, house: House) -> None:
        super().__init__(house.api)
        self.gate = asyncio.Event()
        self.gate.set()
        self.door = asyncio.Event()
        self.door.set()
        self.is_broken = False

    async def send(self, method: str, path: str, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        reply = await super().send(method, path, query, body, media)
        await self.door.wait()
        return reply

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async with super().stream(path, query) as lines:
            yield self._gated(lines)

    async def _gated(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            await self.gate.wait()
            if self.is_broken:
                self.is_broken = False
                raise errors.Gone("the connection broke")
            yield line


class Followed(Informer):
    """An informer of pods whose news the test can hold back."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._slow = Slow(house)
        super().__init__(Client(self._slow), PODS, house.clock)

    def hold(self) -> None:
        self._slow.gate.clear()

    async def let_go(self) -> None:
        self._slow.gate.set()
        await self._house.turns()

    async def break_off(self) -> None:
        """News that was held back never comes; everything is listed again."""
        self._slow.is_broken = True
        await self.let_go()
        await self._clock.advance(RETRY_SECONDS)  # type: ignore[attr-defined]
        await self._house.turns()

    def names(self) -> list[str]:
        return sorted(name_of(pod).name for pod in self)


@asynccontextmanager
async def followed() -> AsyncGenerator[Followed, None]:
    async with running(clock=FakeClock(), collects=False) as house:
        informer = Followed(house)
        following = asyncio.ensure_future(informer.run())
        await informer.is_synced.wait()
        try:
            yield informer
        finally:
            await tasks.stop(following)


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": CONTAINERS}


async def test_pod_that_was_created_is_there_before_the_server_tells_of_it() -> None:
    async with followed() as informer:
        informer.hold()
        await informer.create("default", pod("a"))
        assert informer.names() == ["a"]
        await informer.let_go()
        assert informer.names() == ["a"]


async def test_pod_that_was_deleted_is_gone_before_the_server_tells_of_it_and_does_not_come_back() -> None:
    async with followed() as informer:
        informer.hold()
        made = await informer.create("default", pod("a"))
        await informer.patch(name_of(made), {"metadata": {"labels": {"seen": "yes"}}})
        await informer.delete(made)
        assert informer.names() == []
        heard: list[Any] = []
        informer.listen(lambda old, new: heard.append((old, new)))
        await informer.let_go()
        assert (informer.names(), heard) == ([], []), "old news made it come back"
        assert not informer._gone


async def test_pod_that_is_deleted_but_held_is_known_to_be_leaving() -> None:
    async with followed() as informer:
        made = await informer.create("default", pod("a", finalizers=["e.com/x"]))
        informer.hold()
        await informer.delete(made)
        [known] = list(informer)
        assert "deletionTimestamp" in known["metadata"]
        await informer.patch(name_of(made), {"metadata": {"finalizers": None}})
        assert informer.names() == [], "with its last finalizer it is gone"
        await informer.let_go()
        assert informer.names() == []


async def test_pod_of_the_same_name_that_comes_after_is_another() -> None:
    async with followed() as informer:
        informer.hold()
        made = await informer.create("default", pod("a"))
        await informer.delete(made)
        again = await informer.create("default", pod("a"))
        assert [one["metadata"]["uid"] for one in informer] == [again["metadata"]["uid"]]
        await informer.let_go()
        assert [one["metadata"]["uid"] for one in informer] == [again["metadata"]["uid"]]


async def test_pod_that_was_gone_before_its_creation_was_answered_does_not_come_back() -> None:
    async with followed() as informer:
        informer._slow.door.clear()
        creating = asyncio.ensure_future(informer.create("default", pod("a")))
        await informer._house.turns()
        assert informer.names() == ["a"], "the server told of it before it answered"
        await informer._house.ask("DELETE", "/api/v1/namespaces/default/pods/a")
        await informer._house.turns()
        informer._slow.door.set()
        await creating
        assert informer.names() == []


async def test_what_was_deleted_stays_gone_and_what_was_missed_is_learnt_when_everything_is_listed_again() -> None:
    async with followed() as informer:
        kept, lost = [await informer.create("default", pod(name)) for name in ("kept", "lost")]
        await informer.let_go()
        informer.hold()
        await informer.delete(kept)
        stranger = Client(Slow(informer._house))
        await stranger.delete(PODS, "default", "lost")
        await stranger.create(PODS, "default", pod("new"))
        heard: list[tuple[bool, bool, str]] = []
        informer.listen(lambda old, new: heard.append((old is not None, new is not None, name_of(old or new or {}).name)))
        heard.clear()
        await informer.break_off()
        assert informer.names() == ["new"]
        assert heard == [(True, False, name_of(lost).name), (False, True, "new")]
        assert not informer._gone


async def test_objects_are_found_by_namespace_and_by_who_controls_them() -> None:
    async with followed() as informer:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1", "controller": True}
        await informer.create("default", pod("owned", ownerReferences=[reference]))
        await informer.create("default", pod("loose", ownerReferences=[{**reference, "controller": False}]))
        await informer.create("kube-public", pod("far"))

        def names(pods: list[Any]) -> list[str]:
            return [name_of(one).name for one in pods]

        assert names(informer.controlled_by("u-1")) == ["owned"]
        assert names(informer.uncontrolled("default")) == ["loose"]
        assert names(informer.within("kube-public")) == ["far"]
        await informer.patch(Name("default", "owned"), {"metadata": {"ownerReferences": None}})
        assert (names(informer.controlled_by("u-1")), names(informer.uncontrolled("default"))) == ([], ["loose", "owned"])
        for one in list(informer):
            await informer.delete(one)
        assert not informer._inside._names
        assert not informer._controlled._names


async def test_refusal_says_why_also_through_the_client() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        client = Client(Local(house.api))
        await house.create("namespaces", "", {"metadata": {"name": "doomed"}})
        await house.ask("DELETE", "/api/v1/namespaces/doomed")
        with pytest.raises(errors.Forbidden) as refused:
            await client.create(PODS, "doomed", pod("a"))
        assert has_cause(refused.value, "NamespaceTerminating")
        assert not has_cause(refused.value, "Quota")
