"""An informer never lags behind writes through it, and catches up with all other changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from probate.client.informers import RETRY_SECONDS, Informer, NamespacedName, name_of
from probate.client.objects import Client, GroupVersionResource, has_cause
from probate.core import errors
from probate.core.aio import tasks
from probate.core.clock import FakeClock
from probate.server.local_transport import LocalTransport
from support.in_process_server import InProcessServer, running

PODS = GroupVersionResource("", "v1", "pods")
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


class DelayedTransport(LocalTransport):
    """A transport that delivers events only while `may_send_events` is set, and responses only while `may_respond` is."""

    def __init__(self, house: InProcessServer) -> None:
        super().__init__(house.api)
        self.may_send_events = asyncio.Event()
        self.may_send_events.set()
        self.may_respond = asyncio.Event()
        self.may_respond.set()
        self.is_broken = False

    async def send(self, method: str, path: str, *, query: Mapping[str, str], body: bytes, media: str) -> tuple[int, bytes]:
        reply = await super().send(method, path, query=query, body=body, media=media)
        await self.may_respond.wait()
        return reply

    @asynccontextmanager
    async def stream(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[AsyncIterator[bytes], None]:
        async with super().stream(path, query) as lines:
            yield self._gated(lines)

    async def _gated(self, lines: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for line in lines:
            await self.may_send_events.wait()
            if self.is_broken:
                self.is_broken = False
                raise errors.Gone("the connection broke")
            yield line


class PodInformer(Informer):
    """An informer of pods whose events the test can delay."""

    def __init__(self, house: InProcessServer) -> None:
        self._house = house
        self._delayed = DelayedTransport(house)
        super().__init__(Client(self._delayed), PODS, house.clock)

    def hold_events(self) -> None:
        self._delayed.may_send_events.clear()

    async def release_events(self) -> None:
        self._delayed.may_send_events.set()
        await self._house.yield_to_loop()

    async def break_watch(self) -> None:
        """Drops the delayed events: the watch breaks, and the informer lists again."""
        self._delayed.is_broken = True
        await self.release_events()
        await self._clock.advance(RETRY_SECONDS)  # type: ignore[attr-defined]
        await self._house.yield_to_loop()

    def names(self) -> list[str]:
        return sorted(name_of(pod).name for pod in self)


@asynccontextmanager
async def running_informer() -> AsyncGenerator[PodInformer, None]:
    async with running(clock=FakeClock(), collects=False) as house:
        informer = PodInformer(house)
        following = asyncio.ensure_future(informer.run())
        await informer.is_synced.wait()
        try:
            yield informer
        finally:
            await tasks.stop(following)


def pod(name: str, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **meta}, "spec": CONTAINERS}


async def test_created_pod_is_cached_before_its_event_arrives() -> None:
    async with running_informer() as informer:
        informer.hold_events()
        await informer.create("default", pod("a"))
        assert informer.names() == ["a"]
        await informer.release_events()
        assert informer.names() == ["a"]


async def test_deleted_pod_is_removed_before_its_event_arrives_and_does_not_come_back() -> None:
    async with running_informer() as informer:
        informer.hold_events()
        created = await informer.create("default", pod("a"))
        await informer.patch(name_of(created), {"metadata": {"labels": {"seen": "yes"}}})
        await informer.delete(created)
        assert informer.names() == []
        events: list[Any] = []
        informer.add_event_handler(lambda old, new: events.append((old, new)))
        await informer.release_events()
        assert (informer.names(), events) == ([], []), "an old event added it again"
        assert not informer._deleted_uids


async def test_deleted_pod_with_a_finalizer_is_cached_as_deleting() -> None:
    async with running_informer() as informer:
        created = await informer.create("default", pod("a", finalizers=["e.com/x"]))
        informer.hold_events()
        await informer.delete(created)
        [cached] = list(informer)
        assert "deletionTimestamp" in cached["metadata"]
        await informer.patch(name_of(created), {"metadata": {"finalizers": None}})
        assert informer.names() == [], "it was not removed with its last finalizer"
        await informer.release_events()
        assert informer.names() == []


async def test_pod_recreated_with_the_same_name_is_another_object() -> None:
    async with running_informer() as informer:
        informer.hold_events()
        created = await informer.create("default", pod("a"))
        await informer.delete(created)
        again = await informer.create("default", pod("a"))
        assert [one["metadata"]["uid"] for one in informer] == [again["metadata"]["uid"]]
        await informer.release_events()
        assert [one["metadata"]["uid"] for one in informer] == [again["metadata"]["uid"]]


async def test_pod_deleted_before_its_create_response_does_not_come_back() -> None:
    async with running_informer() as informer:
        informer._delayed.may_respond.clear()
        creating = asyncio.ensure_future(informer.create("default", pod("a")))
        await informer._house.yield_to_loop()
        assert informer.names() == ["a"], "the event arrives before the response"
        await informer._house.request("DELETE", "/api/v1/namespaces/default/pods/a")
        await informer._house.yield_to_loop()
        informer._delayed.may_respond.set()
        await creating
        assert informer.names() == []


async def test_new_list_keeps_deleted_objects_away_and_adds_missed_changes() -> None:
    async with running_informer() as informer:
        kept, lost = [await informer.create("default", pod(name)) for name in ("kept", "lost")]
        await informer.release_events()
        informer.hold_events()
        await informer.delete(kept)
        other_client = Client(DelayedTransport(informer._house))
        await other_client.delete(PODS, "default", "lost")
        await other_client.create(PODS, "default", pod("new"))
        events: list[tuple[bool, bool, str]] = []
        informer.add_event_handler(
            lambda old, new: events.append((old is not None, new is not None, name_of(old or new or {}).name))
        )
        events.clear()
        await informer.break_watch()
        assert informer.names() == ["new"]
        assert events == [(True, False, name_of(lost).name), (False, True, "new")]
        assert not informer._deleted_uids


async def test_objects_are_indexed_by_namespace_and_controller() -> None:
    async with running_informer() as informer:
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1", "controller": True}
        await informer.create("default", pod("owned", ownerReferences=[reference]))
        await informer.create("default", pod("loose", ownerReferences=[{**reference, "controller": False}]))
        await informer.create("kube-public", pod("far"))

        def names(pods: list[Any]) -> list[str]:
            return [name_of(one).name for one in pods]

        assert names(informer.controlled_by("u-1")) == ["owned"]
        assert names(informer.without_controller("default")) == ["loose"]
        assert names(informer.in_namespace("kube-public")) == ["far"]
        await informer.patch(NamespacedName("default", "owned"), {"metadata": {"ownerReferences": None}})
        assert (names(informer.controlled_by("u-1")), names(informer.without_controller("default"))) == ([], ["loose", "owned"])
        for one in list(informer):
            await informer.delete(one)
        assert not informer._by_namespace._names
        assert not informer._by_controller._names


async def test_client_errors_have_the_causes_of_the_response() -> None:
    async with running(clock=FakeClock(), collects=False) as house:
        client = Client(LocalTransport(house.api))
        await house.create("namespaces", "", {"metadata": {"name": "doomed"}})
        await house.request("DELETE", "/api/v1/namespaces/doomed")
        with pytest.raises(errors.Forbidden) as error:
            await client.create(PODS, "doomed", pod("a"))
        assert has_cause(error.value, "NamespaceTerminating")
        assert not has_cause(error.value, "Quota")


async def test_handler_that_fails_misses_a_change_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with running_informer() as informer:
        seen: list[str] = []

        def fail(_old: Any, new: Any) -> None:
            if new is not None and name_of(new).name == "bad":
                raise KeyError("namespace")

        informer.add_event_handler(fail)
        informer.add_event_handler(lambda _, new: seen.append(name_of(new or {}).name))
        for name in ("bad", "good"):
            await informer.create("default", pod(name))
        await informer.release_events()
        assert (informer.names(), seen) == (["bad", "good"], ["bad", "good"])
        assert "event handler failed" in caplog.text
